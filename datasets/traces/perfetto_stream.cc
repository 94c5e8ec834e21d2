// Decodes Perfetto's packets straight from the wire format, message by message, because the
// generated classes of its schema would be larger than dfsim. State is kept per packet sequence:
// interned names, default clock and track, and incremental timestamps all refer to earlier
// packets of the same sequence, and a packet that clears the state makes them start again.
#include "datasets/traces/perfetto_stream.h"

#include <fmt/format.h>

#include <map>

#include "base/io/proto_wire.h"
#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

enum PacketField : uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kInterned = 12,
  kSequenceFlags = 13,
  kCleared = 41,
  kClock = 58,
  kDefaults = 59,
  kDescriptor = 60,
};
enum TrackEventField : uint32_t {
  kDeltaUs = 1,
  kCategoryIds = 3,
  kAnnotation = 4,
  kTrackEventType = 9,
  kNameId = 10,
  kTrack = 11,
  kAbsoluteUs = 16,
  kCategory = 22,
  kTrackEventName = 23,
  kCounter = 30,
  kOldFlow = 36,
  kOldEndFlow = 42,
  kRealCounter = 44,
  kFlow = 47,
  kEndFlow = 48,
};
constexpr uint64_t kFirstSequenceClock = 64;

using Texts = std::unordered_map<uint64_t, std::string>;

struct Sequence {
  Texts names;
  Texts categories;
  Texts annotation_names;
  Texts annotation_texts;
  uint64_t default_track = 0;
  uint64_t default_clock = 0;
  struct Clock {
    uint64_t now = 0;
    uint64_t unit_ns = 1;
    bool incremental = false;
  };
  std::map<uint64_t, Clock> clocks;
};

struct Packet {
  uint64_t timestamp = 0;
  bool has_timestamp = false;
  uint64_t clock = 0;
  uint64_t sequence = 0;
  uint64_t flags = 0;
  bool cleared = false;
  std::string_view event;
  std::string_view interned;
  std::string_view defaults;
  std::string_view descriptor;
  std::string_view clocks;
};

bool read_packet(std::string_view message, Packet* packet) {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(&field)) {
    switch (field.number) {
      case kTimestamp:
        packet->timestamp = field.value;
        packet->has_timestamp = true;
        break;
      case kClock:
        packet->clock = field.value;
        break;
      case kSequence:
        packet->sequence = field.value;
        break;
      case kSequenceFlags:
        packet->flags = field.value;
        break;
      case kCleared:
        packet->cleared = field.value != 0;
        break;
      case kTrackEvent:
        packet->event = field.bytes;
        break;
      case kInterned:
        packet->interned = field.bytes;
        break;
      case kDefaults:
        packet->defaults = field.bytes;
        break;
      case kDescriptor:
        packet->descriptor = field.bytes;
        break;
      case kClockSnapshot:
        packet->clocks = field.bytes;
        break;
      default:
        break;
    }
  }
  return reader.ok();
}

// {1: id, 2: text}
void read_interned_text(std::string_view message, Texts* texts) {
  ProtoReader reader(message);
  ProtoField field;
  uint64_t id = 0;
  std::string_view text;
  while (reader.next(&field)) {
    if (field.is(1, ProtoField::kVarint)) {
      id = field.value;
    } else if (field.is(2, ProtoField::kBytes)) {
      text = field.bytes;
    }
  }
  (*texts)[id] = text;
}

std::string find_text(const Texts& texts, uint64_t id) {
  const auto it = texts.find(id);
  return it == texts.end() ? "" : it->second;
}

void read_defaults(std::string_view message, Sequence* sequence) {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(&field)) {
    if (field.is(kClock, ProtoField::kVarint)) {
      sequence->default_clock = field.value;
    } else if (field.is(kTrackEvent, ProtoField::kBytes)) {
      ProtoReader inner(field.bytes);
      ProtoField part;
      while (inner.next(&part)) {
        if (part.is(kTrack, ProtoField::kVarint)) {
          sequence->default_track = part.value;
        }
      }
    }
  }
}

// {1: {1: clock, 2: timestamp, 3: incremental, 4: unit in ns}}
void read_clocks(std::string_view message, Sequence* sequence) {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(&field)) {
    if (!field.is(1, ProtoField::kBytes)) {
      continue;
    }
    ProtoReader inner(field.bytes);
    ProtoField part;
    uint64_t id = 0;
    Sequence::Clock clock;
    while (inner.next(&part)) {
      if (part.number == 1) {
        id = part.value;
      } else if (part.number == 2) {
        clock.now = part.value;
      } else if (part.number == 3) {
        clock.incremental = part.value != 0;
      } else if (part.number == 4 && part.value > 0) {
        clock.unit_ns = part.value;
      }
    }
    if (id >= kFirstSequenceClock) {
      sequence->clocks[id] = clock;
    }
  }
}

void read_interned(std::string_view message, Sequence* sequence) {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(&field)) {
    Texts* const texts = field.number == 1    ? &sequence->categories
                         : field.number == 2  ? &sequence->names
                         : field.number == 3  ? &sequence->annotation_names
                         : field.number == 29 ? &sequence->annotation_texts
                                              : nullptr;
    if (texts != nullptr && field.wire == ProtoField::kBytes) {
      read_interned_text(field.bytes, texts);
    }
  }
}

std::string inner_text(std::string_view message, uint32_t number) {
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(&field)) {
    if (field.is(number, ProtoField::kBytes)) {
      return printable(field.bytes);
    }
  }
  return "";
}

// TrackDescriptor {1: uuid, 2: name, 3: process {6: name}, 4: thread {5: name}, 5: parent}
void read_descriptor(std::string_view message,
                     std::unordered_map<uint64_t, PerfettoTrack>* tracks) {
  if (message.empty()) {
    return;
  }
  ProtoReader reader(message);
  ProtoField field;
  uint64_t uuid = 0;
  PerfettoTrack info;
  while (reader.next(&field)) {
    switch (field.number) {
      case 1:
        uuid = field.value;
        break;
      case 2:
        info.name = printable(field.bytes);
        break;
      case 3:
        info.process = inner_text(field.bytes, 6);
        break;
      case 4:
        info.thread = inner_text(field.bytes, 5);
        break;
      case 5:
        info.parent = field.value;
        break;
      default:
        break;
    }
  }
  (*tracks)[uuid] = std::move(info);
}

double time_of(const Packet& packet, Sequence* sequence) {
  const uint64_t id = packet.clock != 0 ? packet.clock : sequence->default_clock;
  const auto clock = sequence->clocks.find(id);
  if (clock == sequence->clocks.end()) {
    return static_cast<double>(packet.timestamp) / 1000;
  }
  uint64_t now = packet.timestamp;
  if (clock->second.incremental) {
    clock->second.now += packet.has_timestamp ? packet.timestamp : 0;
    now = clock->second.now;
  }
  return static_cast<double>(now) * static_cast<double>(clock->second.unit_ns) / 1000;
}

// DebugAnnotation {1: name's id, 10: name, 2..6 values, 17: text's id} as JSON text.
void read_annotation(std::string_view message, const Sequence& sequence, PerfettoEvent* event) {
  ProtoReader reader(message);
  ProtoField field;
  std::string name;
  std::string value;
  while (reader.next(&field)) {
    switch (field.number) {
      case 1:
        name = find_text(sequence.annotation_names, field.value);
        break;
      case 2:
        value = field.value != 0 ? "true" : "false";
        break;
      case 3:
        value = fmt::format("{}", field.value);
        break;
      case 4:
        value = fmt::format("{}", field.integer());
        break;
      case 5:
        value = fmt::format("{}", field.number64());
        break;
      case 6:
        value = fmt::format("\"{}\"", printable(field.bytes, 1000));
        break;
      case 10:
        name = field.bytes;
        break;
      case 17:
        value = fmt::format("\"{}\"",
                            printable(find_text(sequence.annotation_texts, field.value), 1000));
        break;
      default:
        break;
    }
  }
  event->annotations.emplace_back(std::move(name), std::move(value));
}

void read_numbers(const ProtoField& field, std::vector<uint64_t>* numbers) {
  if (field.wire != ProtoField::kBytes) {
    numbers->push_back(field.value);
    return;
  }
  for (size_t at = 0; at + 8 <= field.bytes.size(); at += 8) {
    uint64_t value = 0;
    for (size_t i = 0; i < 8; ++i) {
      value |= uint64_t{static_cast<unsigned char>(field.bytes[at + i])} << (8 * i);
    }
    numbers->push_back(value);
  }
}

// False when the event has no time.
bool read_event(std::string_view message, const Sequence& sequence, double time_us, bool timed,
                PerfettoEvent* result) {
  ProtoReader reader(message);
  ProtoField field;
  PerfettoEvent& event = *result;
  event = PerfettoEvent();
  event.track = sequence.default_track;
  event.time_us = time_us;
  while (reader.next(&field)) {
    switch (field.number) {
      case kTrackEventType:
        event.type = field.value;
        break;
      case kTrack:
        event.track = field.value;
        break;
      case kNameId:
        event.name = find_text(sequence.names, field.value);
        break;
      case kTrackEventName:
        event.name = field.bytes;
        break;
      case kCategoryIds:
        event.category = find_text(sequence.categories, field.value);
        break;
      case kCategory:
        event.category = field.bytes;
        break;
      case kAnnotation:
        read_annotation(field.bytes, sequence, &event);
        break;
      case kCounter:
        event.counter = static_cast<double>(field.integer());
        break;
      case kRealCounter:
        event.counter = field.number64();
        break;
      case kFlow:
      case kOldFlow:
        read_numbers(field, &event.flows);
        break;
      case kEndFlow:
      case kOldEndFlow:
        read_numbers(field, &event.end_flows);
        break;
      case kAbsoluteUs:
        event.time_us = static_cast<double>(field.integer());
        timed = true;
        break;
      default:
        break;
    }
  }
  return reader.ok() && timed;
}

}  // namespace

struct PerfettoStream::State {
  ProtoReader reader;
  std::unordered_map<uint64_t, Sequence> sequences;
  std::unordered_map<uint64_t, PerfettoTrack> tracks;
};

PerfettoStream::PerfettoStream(std::string_view content)
    : state_(std::make_unique<State>(State{ProtoReader(content), {}, {}})) {}
PerfettoStream::~PerfettoStream() = default;

PerfettoStream::Next PerfettoStream::next(PerfettoEvent* event) {
  ProtoField field;
  while (state_->reader.next(&field)) {
    Packet packet;
    if (!field.is(1, ProtoField::kBytes)) {
      continue;
    }
    if (!read_packet(field.bytes, &packet)) {
      return Next::kBadPacket;
    }
    Sequence& sequence = state_->sequences[packet.sequence];
    if (packet.cleared || (packet.flags & 1) != 0) {
      sequence.names.clear();
      sequence.categories.clear();
      sequence.annotation_names.clear();
      sequence.annotation_texts.clear();
    }
    read_defaults(packet.defaults, &sequence);
    read_clocks(packet.clocks, &sequence);
    read_interned(packet.interned, &sequence);
    read_descriptor(packet.descriptor, &state_->tracks);
    const double time_us = time_of(packet, &sequence);
    if (!packet.event.empty()) {
      return read_event(packet.event, sequence, time_us, packet.has_timestamp, event)
                 ? Next::kEvent
                 : Next::kTimeless;
    }
  }
  return Next::kEnd;
}

bool PerfettoStream::cut_off() const { return !state_->reader.ok(); }

const std::unordered_map<uint64_t, PerfettoTrack>& PerfettoStream::tracks() const {
  return state_->tracks;
}

bool is_perfetto_trace(std::string_view content) {
  ProtoReader reader(content);
  ProtoField field;
  // A few packets: the first may be of any kind.
  for (int i = 0; i < 64 && reader.next(&field); ++i) {
    Packet packet;
    if (!field.is(1, ProtoField::kBytes) || !read_packet(field.bytes, &packet)) {
      return false;
    }
    if (packet.sequence != 0 && (!packet.event.empty() || !packet.descriptor.empty())) {
      return true;
    }
  }
  return false;
}

}  // namespace dfsim::inline datasets
