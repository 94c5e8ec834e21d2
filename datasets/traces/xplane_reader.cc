// XPlane, the profile of TensorFlow 2 and JAX (XSpace in xplane.proto): planes of devices and of
// the host, on them lines (streams, threads), on them events.
//
// Names of events and of their statistics are in tables of the plane. An event's time is its line's
// timestamp_ns + offset_ps / 1000.
#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "base/io/proto_wire.h"
#include "base/text.h"
#include "datasets/tables/numbers.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

enum PlaneField : uint32_t {
  kPlaneName = 2,
  kLines = 3,
  kEventNames = 4,
  kStatNames = 5,
  kStats = 6
};
enum LineField : uint32_t { kLineId = 1, kLineName = 2, kTimestampNs = 3, kEvents = 4 };
enum EventField : uint32_t { kEventName = 1, kOffsetPs = 2, kDurationPs = 3, kEventStats = 4 };
enum StatField : uint32_t { kStatName = 1, kUnsigned = 3, kSigned = 4, kText = 5, kReference = 7 };

constexpr double kMaxPlaneUs = 1e17;

using Names = std::unordered_map<uint64_t, std::string_view>;

struct Event {
  uint64_t name = 0;
  double start_us = 0;
  double duration_us = 0;
  std::string_view op;       // node of the graph, or HLO instruction
  std::string_view details;  // of a copy or memset
  bool copy = false;
  bool memset = false;
  int64_t correlation = -1;
  int64_t produces = -1;  // contexts of arrows
  int64_t consumes = -1;
};

struct Stat {
  std::string_view name;
  int64_t number = 0;
  std::string_view text;
};

Stat read_stat(std::string_view message, const Names& names) {
  Stat stat;
  ProtoReader reader(message);
  ProtoField field;
  const auto named = [&names](uint64_t id) {
    const auto it = names.find(id);
    return it == names.end() ? std::string_view() : it->second;
  };
  while (reader.next(&field)) {
    switch (field.number) {
      case kStatName:
        stat.name = named(field.value);
        break;
      case kUnsigned:
      case kSigned:
        stat.number = field.integer();
        break;
      case kText:
        stat.text = field.bytes;
        break;
      case kReference:
        stat.text = named(field.value);
        break;
      default:
        break;
    }
  }
  return stat;
}

// One entry of a map from a number to a message with its name in `name_field`, else `other_field`.
void read_name(std::string_view entry, uint32_t other_field, Names* names) {
  ProtoReader reader(entry);
  ProtoField field;
  uint64_t key = 0;
  std::string_view name;
  while (reader.next(&field)) {
    if (field.is(1, ProtoField::kVarint)) {
      key = field.value;
    } else if (field.is(2, ProtoField::kBytes)) {
      ProtoReader inner(field.bytes);
      ProtoField part;
      while (inner.next(&part)) {
        if (part.is(2, ProtoField::kBytes) ||
            (part.is(other_field, ProtoField::kBytes) && name.empty())) {
          name = part.bytes;
        }
      }
    }
  }
  (*names)[key] = name;
}

// "size:4096" among other words; -1 when it is not there.
Bytes size_in(std::string_view details) {
  const size_t at = details.find("size:");
  if (at == std::string_view::npos) {
    return -1;
  }
  const size_t end = details.find_first_not_of("0123456789", at + 5);
  return parse_number<Bytes>(details.substr(at + 5, end - at - 5)).value_or(-1);
}

bool is_call(std::string_view name) {
  return name.starts_with("hip") || name.starts_with("cuda") || name.starts_with("cuLaunch") ||
         name.starts_with("cuMem") || name.starts_with("cuStream") || name.starts_with("cuEvent") ||
         name.starts_with("cuCtx");
}

// "node:Type" of TensorFlow's executor; the position of the colon, or npos.
size_t type_colon(std::string_view name) {
  const size_t colon = name.find(':');
  const bool one = colon != std::string_view::npos && colon > 0 && colon + 1 < name.size() &&
                   name.find(':', colon + 1) == std::string_view::npos &&
                   name.find(' ') == std::string_view::npos && !name.starts_with('$');
  return one ? colon : std::string_view::npos;
}

// A plane taken apart; lines are read once all names are known.
struct Plane {
  std::string_view name;
  std::vector<std::string_view> lines;
  Names event_names;
  Names stat_names;
  bool complete = true;
};

Plane read_plane(std::string_view message) {
  Plane plane;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(&field)) {
    if (field.wire != ProtoField::kBytes) {
      continue;
    }
    switch (field.number) {
      case kPlaneName:
        plane.name = field.bytes;
        break;
      case kLines:
        plane.lines.push_back(field.bytes);
        break;
      case kEventNames:
        read_name(field.bytes, 4, &plane.event_names);
        break;
      case kStatNames:
        read_name(field.bytes, 3, &plane.stat_names);
        break;
      default:
        break;
    }
  }
  plane.complete = reader.ok();
  return plane;
}

class XplaneReader {
 public:
  explicit XplaneReader(const std::string& path) {
    trace_.path = path;
    trace_.format = "xplane";
  }

  StatusOr<Trace> read(std::string_view content) {
    ProtoReader reader(content);
    ProtoField field;
    while (reader.next(&field)) {
      if (field.is(1, ProtoField::kBytes)) {
        add_plane(read_plane(field.bytes));
      }
    }
    if (!reader.ok()) {
      trace_.warn_of_file("the file is cut off: it ends inside a plane");
      add_plane(read_plane(reader.rest()));
    }
    promote_host_ops();
    if (trace_.spans.empty()) {
      return nothing_usable(trace_, "events");
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

 private:
  void add_plane(const Plane& plane) {
    const bool device =
        plane.name.starts_with("/device:") && !plane.name.starts_with("/device:CUSTOM");
    // Where streams are, other lines (modules, steps, operators) say again what is on them.
    bool streams = false;
    bool ops = false;
    for (const std::string_view line : plane.lines) {
      const std::string_view name = name_of_line(line);
      streams |= name.starts_with("Stream");
      ops |= name == "XLA Ops";
    }
    for (const std::string_view line : plane.lines) {
      const std::string_view name = name_of_line(line);
      if (!device || (streams ? name.starts_with("Stream") : !ops || name == "XLA Ops")) {
        add_line(plane, line, name, device);
      }
    }
  }

  static std::string_view name_of_line(std::string_view message) {
    ProtoReader reader(message);
    ProtoField field;
    while (reader.next(&field)) {
      if (field.is(kLineName, ProtoField::kBytes)) {
        return field.bytes;
      }
    }
    return "";
  }

  void add_line(const Plane& plane, std::string_view message, std::string_view name, bool device) {
    ProtoReader reader(message);
    ProtoField field;
    int64_t timestamp_ns = 0;
    std::vector<std::string_view> events;
    while (reader.next(&field)) {
      if (field.is(kTimestampNs, ProtoField::kVarint)) {
        timestamp_ns = field.integer();
      } else if (field.is(kEvents, ProtoField::kBytes)) {
        events.push_back(field.bytes);
      }
    }
    if (events.empty()) {
      return;
    }
    const TrackId track = trace_.track_of(printable(plane.name), printable(name));
    if (device) {
      trace_.tracks[track.index()].kind = TrackKind::kDevice;
      const size_t colon = plane.name.rfind(':');
      trace_.tracks[track.index()].device =
          parse_number<int64_t>(plane.name.substr(colon + 1)).value_or(0);
      if (trace_.device_name.empty()) {
        trace_.device_name = printable(plane.name);
      }
    }
    for (const std::string_view event : events) {
      ++trace_.events;
      add_event(plane, event, timestamp_ns, track, device);
    }
  }

  static bool read_event(const Plane& plane, std::string_view message, int64_t timestamp_ns,
                         Event* event) {
    ProtoReader reader(message);
    ProtoField field;
    while (reader.next(&field)) {
      switch (field.number) {
        case kEventName:
          event->name = field.value;
          break;
        case kOffsetPs:
          event->start_us = static_cast<double>(field.integer()) / 1e6;
          break;
        case kDurationPs:
          event->duration_us = static_cast<double>(field.integer()) / 1e6;
          break;
        case kEventStats:
          take_stat(read_stat(field.bytes, plane.stat_names), event);
          break;
        default:
          break;
      }
    }
    event->start_us += static_cast<double>(timestamp_ns) / 1e3;
    return reader.ok();
  }

  static void take_stat(const Stat& stat, Event* event) {
    if (stat.name == "correlation_id") {
      event->correlation = stat.number;
    } else if (stat.name == "hlo_op" || (stat.name == "tf_op" && event->op.empty())) {
      event->op = stat.text;
    } else if (stat.name == "memcpy_details" || stat.name == "memset_details") {
      event->copy = stat.name == "memcpy_details";
      event->memset = !event->copy;
      event->details = stat.text;
    } else if (stat.name == "_p" || stat.name == "producer_id") {
      event->produces = stat.number;
    } else if (stat.name == "_c" || stat.name == "consumer_id") {
      event->consumes = stat.number;
    }
  }

  void add_event(const Plane& plane, std::string_view message, int64_t timestamp_ns, TrackId track,
                 bool device) {
    Event event;
    if (!read_event(plane, message, timestamp_ns, &event) ||
        !(std::abs(event.start_us) < kMaxPlaneUs) || event.duration_us > kMaxPlaneUs) {
      trace_.warn("events that cannot be read, left out", trace_.events);
      return;
    }
    if (event.duration_us < 0) {
      trace_.warn("spans with a negative duration, left out", trace_.events);
      return;
    }
    if (device && event.start_us == 0) {
      trace_.warn("device work without a start (ts 0), left out", trace_.events);
      return;
    }
    const auto named = plane.event_names.find(event.name);
    const std::string_view name = named == plane.event_names.end() ? "?" : named->second;
    Span span;
    span.start_us = event.start_us;
    span.end_us = event.start_us + event.duration_us;
    span.track = track;
    span.name = trace_.intern(name);
    span.correlation = event.correlation;
    if (!event.op.empty()) {
      span.detail = trace_.intern(event.op);
    }
    describe(event, name, device, &span);
    add_arrow(event, track);
    trace_.spans.push_back(span);
  }

  void describe(const Event& event, std::string_view name, bool device, Span* span) {
    if (device) {
      span->kind = event.copy || to_lower(name).starts_with("memcpy")     ? SpanKind::kCopy
                   : event.memset || to_lower(name).starts_with("memset") ? SpanKind::kMemset
                                                                          : SpanKind::kKernel;
      span->bytes = size_in(event.details);
    } else if (is_call(name)) {
      span->kind = SpanKind::kRuntime;
    } else if (name.starts_with('$')) {
      span->kind = SpanKind::kPython;
    } else if (type_colon(name) != std::string_view::npos) {
      span->kind = SpanKind::kOp;
      span->detail = trace_.intern(name.substr(0, type_colon(name)));
      span->name = trace_.intern(name.substr(type_colon(name) + 1));
    } else if (!event.op.empty()) {
      span->kind = SpanKind::kOp;  // XLA's thunks on the host
    }
  }

  void add_arrow(const Event& event, TrackId track) {
    for (const int64_t id : {event.produces, event.consumes}) {
      if (id >= 0) {
        trace_.flows.push_back({event.start_us, trace_.intern(fmt::format("context {}", id)), track,
                                id == event.produces});
      }
    }
  }

  // A host without operators and without device work: its annotated regions are what there is.
  void promote_host_ops() {
    for (const Span& span : trace_.spans) {
      if (span.kind == SpanKind::kOp || is_device_work(span.kind)) {
        return;
      }
    }
    for (Span& span : trace_.spans) {
      if (span.kind == SpanKind::kOther) {
        span.kind = SpanKind::kOp;
      }
    }
  }

  Trace trace_;
};

bool is_xplane(std::string_view content) {
  ProtoReader reader(content);
  ProtoField field;
  std::string_view first = reader.rest();
  if (reader.next(&field)) {
    first = field.is(1, ProtoField::kBytes) ? field.bytes : "";
  } else {
    first = content.starts_with('\n') ? reader.rest() : "";
  }
  ProtoReader plane(first);
  bool named = false;
  while (plane.next(&field)) {
    const bool number = field.number == 1;
    if (field.number > kStats ||
        field.wire != (number ? ProtoField::kVarint : ProtoField::kBytes)) {
      return false;
    }
    if (field.number == kPlaneName) {
      named |= field.bytes.starts_with('/') || field.bytes == "Task Environment";
    }
  }
  return named;
}

Sniff sniff_xplane(const TraceInput& input) {
  const bool found = input.kind() == TraceInput::Kind::kBinary && is_xplane(input.content());
  return found ? Sniff::kYes : Sniff::kNo;
}

StatusOr<Trace> read_xplane(TraceInput input) {
  return XplaneReader(input.path()).read(input.content());
}

}  // namespace

TraceReader xplane_trace_reader() {
  return {.name = "xplane",
          .description = "TensorFlow 2 and JAX profiler (*.xplane.pb)",
          .sniff = sniff_xplane,
          .read = read_xplane};
}

}  // namespace dfsim::inline datasets
