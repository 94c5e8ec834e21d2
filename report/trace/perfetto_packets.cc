// Writes Perfetto's packets: texts are interned and times count from the packet before, which is
// most of the format's saving. Events that end later wait in a heap, because our clock cannot go
// back.
#include "report/trace/perfetto_packets.h"

#include <algorithm>

namespace dfsim::inline report {
namespace {

constexpr size_t kWindow = 256;  // events that may wait for earlier ones, of each sequence
// Of ClockSnapshot: the clock that times are given in at the end, and one of our own on which times
// count from the packet before.
constexpr uint64_t kBootTime = 6;
constexpr uint64_t kOwnClock = 64;
constexpr uint64_t kStateCleared = 1;
constexpr uint64_t kUnitCount = 2;
constexpr uint64_t kUnitBytes = 3;
constexpr size_t kFlushBytes = size_t{1} << 18;

// Fields of TracePacket and TrackEvent.
enum PacketField : uint32_t {
  kPacketClocks = 6,
  kPacketTimestamp = 8,
  kPacketSequence = 10,
  kPacketEvent = 11,
  kPacketInterned = 12,
  kPacketFlags = 13,
  kPacketClock = 58,
  kPacketDefaults = 59,
  kPacketDescriptor = 60
};
enum EventField : uint32_t {
  kEventCategory = 3,
  kEventAnnotation = 4,
  kEventType = 9,
  kEventName = 10,
  kEventTrack = 11,
  kEventCounter = 30,
  // Older than 47 and 48, which say the same in ten bytes each; readers take both.
  kEventFlow = 36,
  kEventEndFlow = 42
};
enum EventType : uint64_t { kBegin = 1, kEnd = 2, kCount = 4 };

// `main` is the track of events that name none.
void put_track(uint64_t track, uint64_t main, ProtoWriter* event) {
  if (track != main) {
    event->varint(kEventTrack, track);
  }
}

}  // namespace

PerfettoPackets::PerfettoPackets(std::function<void(std::string_view)> sink)
    : sink_(std::move(sink)) {
  add_start(slices_, kMainTrack);
  add_start(counts_, kMainCounter);
}

void PerfettoPackets::add_start(const Sequence& sequence, TrackUuid main_track) {
  ProtoWriter boot;
  boot.varint(1, kBootTime).varint(2, 0);
  ProtoWriter own;
  own.varint(1, kOwnClock).varint(2, 0).varint(3, 1).varint(4, 1);
  ProtoWriter clocks;
  clocks.message(1, boot).message(1, own).varint(2, kBootTime);
  ProtoWriter defaults;
  defaults.varint(kPacketClock, kOwnClock)
      .message(kPacketEvent, ProtoWriter().varint(kEventTrack, main_track));
  ProtoWriter packet;
  packet.message(kPacketClocks, clocks)
      .varint(kPacketSequence, sequence.id)
      .varint(kPacketFlags, kStateCleared)
      .message(kPacketDefaults, defaults);
  add_packet(packet);
}

uint64_t PerfettoPackets::intern(Table* table, std::string_view text) {
  const auto [it, is_new] = table->ids.try_emplace(std::string(text), table->ids.size() + 1);
  if (is_new) {
    ProtoWriter entry;
    entry.varint(1, it->second).bytes(2, text);
    interned_.message(table->field, entry);
  }
  return it->second;
}

void PerfettoPackets::add_packet(const ProtoWriter& packet) {
  buffer_.message(1, packet);
  if (buffer_.text().size() >= kFlushBytes) {
    write_buffer();
  }
}

void PerfettoPackets::flush() {
  for (Sequence* const sequence : {&slices_, &counts_}) {
    while (!sequence->waiting.empty()) {
      write_event(sequence);
    }
  }
  write_buffer();
}

void PerfettoPackets::write_buffer() {
  sink_(buffer_.text());
  buffer_.clear();
}

void PerfettoPackets::add_descriptor(const ProtoWriter& descriptor) {
  ProtoWriter packet;
  packet.varint(kPacketSequence, slices_.id).message(kPacketDescriptor, descriptor);
  add_packet(packet);
}

PerfettoPackets::TrackUuid PerfettoPackets::add_process(std::string_view name) {
  ProtoWriter process;
  process.integer(1, ++last_process_).bytes(6, name);
  ProtoWriter descriptor;
  descriptor.varint(1, ++last_track_).message(3, process);
  add_descriptor(descriptor);
  return last_track_;
}

PerfettoPackets::TrackUuid PerfettoPackets::add_track(TrackUuid parent, std::string_view name,
                                                      bool main) {
  const TrackUuid track = main ? kMainTrack : ++last_track_;
  ProtoWriter descriptor;
  descriptor.varint(1, track).bytes(2, name).varint(5, parent);
  add_descriptor(descriptor);
  return track;
}

PerfettoPackets::TrackUuid PerfettoPackets::add_bytes_counter(TrackUuid parent,
                                                              std::string_view name) {
  return add_counter_of(parent, name, kUnitBytes);
}

PerfettoPackets::TrackUuid PerfettoPackets::add_counter(TrackUuid parent, std::string_view name) {
  return add_counter_of(parent, name, kUnitCount);
}

PerfettoPackets::TrackUuid PerfettoPackets::add_counter_of(TrackUuid parent, std::string_view name,
                                                           uint64_t unit) {
  ProtoWriter counter;
  counter.varint(3, unit);
  const TrackUuid track = has_counter_ ? ++last_track_ : kMainCounter;
  has_counter_ = true;
  ProtoWriter descriptor;
  descriptor.varint(1, track).bytes(2, name).varint(5, parent).message(8, counter);
  add_descriptor(descriptor);
  return track;
}

void PerfettoPackets::begin(const Slice& slice) {
  ProtoWriter event;
  event.varint(kEventType, kBegin);
  put_track(slice.track, kMainTrack, &event);
  event.varint(kEventCategory, intern(&categories_, slice.category))
      .varint(kEventName, intern(&names_, slice.name));
  if (slice.args != nullptr) {
    event.append(slice.args->fields());
  }
  if (slice.leaving != nullptr) {
    for (const uint64_t id : *slice.leaving) {
      event.varint(kEventFlow, id);
    }
  }
  if (slice.arriving != nullptr) {
    for (const uint64_t id : *slice.arriving) {
      event.varint(kEventEndFlow, id);
    }
  }
  add_event(&slices_, slice.time_ns, std::move(event));
}

void PerfettoPackets::end(TrackUuid track, TimeNs time_ns) {
  ProtoWriter event;
  event.varint(kEventType, kEnd);
  put_track(track, kMainTrack, &event);
  add_event(&slices_, time_ns, std::move(event));
}

void PerfettoPackets::count(TrackUuid track, TimeNs time_ns, int64_t value) {
  ProtoWriter event;
  event.varint(kEventType, kCount);
  put_track(track, kMainCounter, &event);
  event.integer(kEventCounter, value);
  add_event(&counts_, time_ns, std::move(event));
}

void PerfettoPackets::add_event(Sequence* sequence, TimeNs time_ns, ProtoWriter event) {
  // Texts that are new with this event go out with the next packet, whichever it is.
  sequence->waiting.push_back({time_ns, ++last_number_, std::move(event)});
  std::push_heap(sequence->waiting.begin(), sequence->waiting.end(), later);
  if (sequence->waiting.size() > kWindow) {
    write_event(sequence);
  }
}

void PerfettoPackets::write_event(Sequence* sequence) {
  std::pop_heap(sequence->waiting.begin(), sequence->waiting.end(), later);
  const Waiting next = std::move(sequence->waiting.back());
  sequence->waiting.pop_back();
  ProtoWriter packet;
  if (next.time_ns >= sequence->now_ns) {
    packet.varint(kPacketTimestamp, static_cast<uint64_t>(next.time_ns - sequence->now_ns));
    sequence->now_ns = next.time_ns;
  } else {
    // Our own clock cannot go back.
    packet.varint(kPacketTimestamp, static_cast<uint64_t>(next.time_ns))
        .varint(kPacketClock, kBootTime);
  }
  // That names are needed is not said on each packet: it is for readers that may lose some.
  packet.varint(kPacketSequence, sequence->id);
  if (!interned_.empty() && sequence == &slices_) {
    packet.message(kPacketInterned, interned_);
    interned_.clear();
  }
  packet.message(kPacketEvent, next.event);
  add_packet(packet);
}

bool PerfettoPackets::later(const Waiting& a, const Waiting& b) {
  return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.number > b.number;
}

SliceArgs& SliceArgs::text(std::string_view name, std::string_view value) {
  ProtoWriter annotation;
  annotation.varint(1, packets_->intern(&packets_->arg_names_, name))
      .varint(17, packets_->intern(&packets_->arg_texts_, value));
  fields_.message(kEventAnnotation, annotation);
  return *this;
}

SliceArgs& SliceArgs::number(std::string_view name, int64_t value) {
  ProtoWriter annotation;
  annotation.varint(1, packets_->intern(&packets_->arg_names_, name)).integer(4, value);
  fields_.message(kEventAnnotation, annotation);
  return *this;
}

SliceArgs& SliceArgs::real(std::string_view name, double value) {
  ProtoWriter annotation;
  annotation.varint(1, packets_->intern(&packets_->arg_names_, name)).number64(5, value);
  fields_.message(kEventAnnotation, annotation);
  return *this;
}

}  // namespace dfsim::inline report
