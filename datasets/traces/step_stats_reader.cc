// TensorFlow's RunMetadata (step_stats = 1) or StepStats (dev_stats = 1), as session.run(...,
// run_metadata=...) fills them: per device the nodes that ran, with times and memory.
//
// Devices ".../stream:N" are queues, what they hold belongs to the node of the same name on the
// device that launched it; the rest as in TensorFlow's timeline.py.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/io/proto_wire.h"
#include "base/text.h"
#include "datasets/tables/numbers.h"
#include "datasets/traces/chrome/tensorflow_tracks.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

// Of step_stats.proto.
enum NodeStatsField : uint32_t {
  kNodeName = 1,
  kAllStart = 2,
  kOpStartRel = 3,
  kOpEndRel = 4,
  kAllEndRel = 5,
  kMemory = 6,
  kLabel = 8,
  kScheduled = 9,
  kThread = 10,
  kAllStartNs = 13,
  kOpStartRelNs = 14,
  kOpEndRelNs = 15,
  kAllEndRelNs = 16
};
constexpr double kMaxStepUs = 1e17;

struct NodeStats {
  std::string_view name;
  std::string_view label;
  int64_t start_us = 0;
  int64_t end_rel_us = -1;
  int64_t start_ns = 0;
  int64_t end_rel_ns = -1;
  uint64_t thread = 0;
  std::vector<std::string_view> memory;
};

NodeStats read_node(std::string_view message, bool* ok) {
  NodeStats node;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(&field)) {
    switch (field.number) {
      case kNodeName:
        node.name = field.bytes;
        break;
      case kLabel:
        node.label = field.bytes;
        break;
      case kAllStart:
        node.start_us = field.integer();
        break;
      case kAllEndRel:
        node.end_rel_us = field.integer();
        break;
      case kAllStartNs:
        node.start_ns = field.integer();
        break;
      case kAllEndRelNs:
        node.end_rel_ns = field.integer();
        break;
      case kThread:
        node.thread = field.value;
        break;
      case kMemory:
        node.memory.push_back(field.bytes);
        break;
      default:
        break;
    }
  }
  *ok = reader.ok();
  return node;
}

// "node = Type(inputs)", as the executor labels what it ran; "" when it is no such label.
std::string_view type_of_label(std::string_view label) {
  const size_t equals = label.find(" = ");
  const size_t open = equals == std::string_view::npos ? equals : label.find('(', equals);
  return open == std::string_view::npos ? "" : label.substr(equals + 3, open - equals - 3);
}

class StepStatsReader {
 public:
  explicit StepStatsReader(const std::string& path) {
    trace_.path = path;
    trace_.format = "stepstats";
  }

  StatusOr<Trace> read(std::string_view content) {
    ProtoReader reader(content);
    ProtoField field;
    while (reader.next(&field)) {
      if (!field.is(1, ProtoField::kBytes)) {
        continue;  // graphs of a RunMetadata
      }
      if (is_device(field.bytes)) {
        read_device(field.bytes);
      } else {
        read_step_stats(field.bytes);
      }
    }
    if (!reader.ok()) {
      trace_.warn_of_file("the file is cut off: it ends inside a device's nodes");
      salvage(reader.rest());
    }
    finish_tensorflow_tracks(&trace_);
    if (trace_.spans.empty()) {
      return nothing_usable(trace_, "nodes");
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

  // {1: device, 2: nodes}: a name of a device, which begins with a slash.
  static bool is_device(std::string_view message) {
    ProtoReader reader(message);
    ProtoField field;
    return reader.next(&field) && field.is(1, ProtoField::kBytes) && field.bytes.starts_with('/') &&
           field.bytes.find('\0') == std::string_view::npos;
  }

 private:
  void read_step_stats(std::string_view message) {
    ProtoReader reader(message);
    ProtoField field;
    while (reader.next(&field)) {
      if (field.is(1, ProtoField::kBytes)) {
        read_device(field.bytes);
      }
    }
  }

  // What is whole of a message whose length runs over the file's end.
  void salvage(std::string_view rest) {
    // Once for the list of devices, once for the device.
    for (int level = 0; level < 2 && !rest.empty(); ++level) {
      if (is_device(rest)) {
        read_device(rest);
        return;
      }
      ProtoReader inner(rest);
      ProtoField field;
      while (inner.next(&field)) {
        if (field.is(1, ProtoField::kBytes)) {
          read_device(field.bytes);
        }
      }
      rest = inner.ok() ? std::string_view() : inner.rest();
    }
  }

  void read_device(std::string_view message) {
    ProtoReader reader(message);
    ProtoField field;
    std::string device;
    while (reader.next(&field)) {
      if (field.is(1, ProtoField::kBytes)) {
        device = field.bytes;
      } else if (field.is(2, ProtoField::kBytes)) {
        ++trace_.events;
        add_node(device, field.bytes);
      }
    }
  }

  void add_node(const std::string& device, std::string_view message) {
    bool ok = false;
    const NodeStats node = read_node(message, &ok);
    const bool fine = node.start_ns > 0 && node.end_rel_ns >= 0;
    Span span;
    span.start_us =
        fine ? static_cast<double>(node.start_ns) / 1000 : static_cast<double>(node.start_us);
    span.end_us = span.start_us + (fine ? static_cast<double>(node.end_rel_ns) / 1000
                                        : static_cast<double>(node.end_rel_us));
    if (!ok || span.start_us <= 0 || span.start_us > kMaxStepUs) {
      trace_.warn("nodes without a start, left out", trace_.events);
      return;
    }
    if (span.end_us < span.start_us || span.end_us > kMaxStepUs) {
      trace_.warn("nodes without a duration or with a negative one, left out", trace_.events);
      return;
    }
    span.kind = SpanKind::kOp;
    span.track = trace_.track_of(device, fmt::format("{}", node.thread));
    name_span(node, device, &span);
    for (const std::string_view memory : node.memory) {
      read_memory(memory, span);
    }
    trace_.spans.push_back(span);
  }

  // Work of a queue is named "node:Type"; of the host, the label says both.
  void name_span(const NodeStats& node, const std::string& device, Span* span) {
    std::string_view name = node.name;
    std::string_view type = type_of_label(node.label);
    const bool queue = is_tensorflow_queue(device);
    const size_t colon = name.rfind(':');
    if (queue && colon != std::string_view::npos) {
      type = name.substr(colon + 1);
      name = name.substr(0, colon);
    }
    span->detail = trace_.intern(name);
    span->name = type.empty() ? span->detail : trace_.intern(type);
  }

  // AllocatorMemoryUsed: 1 the allocator's name, 6 its records {1: time, 2: bytes}.
  void read_memory(std::string_view message, const Span& span) {
    ProtoReader reader(message);
    ProtoField field;
    std::string_view allocator;
    const size_t first = trace_.memory.size();
    while (reader.next(&field)) {
      if (field.is(1, ProtoField::kBytes)) {
        allocator = field.bytes;
      } else if (field.is(6, ProtoField::kBytes)) {
        add_record(field.bytes, span, first);
      }
    }
    const int64_t device = device_of(allocator);
    for (size_t i = first; i < trace_.memory.size(); ++i) {
      trace_.memory[i].device = device;
    }
  }

  // The records have no addresses: a free is that of the node's first block of its size.
  void add_record(std::string_view message, const Span& span, size_t first) {
    ProtoReader reader(message);
    ProtoField field;
    MemoryRecord record;
    record.time_us = span.start_us;
    record.track = span.track;
    record.tensor = span.detail;
    while (reader.next(&field)) {
      if (field.is(1, ProtoField::kVarint) && static_cast<double>(field.integer()) <= kMaxStepUs) {
        record.time_us = static_cast<double>(field.integer());
      } else if (field.is(2, ProtoField::kVarint)) {
        record.bytes = std::clamp(field.integer(), -kMaxBlock, kMaxBlock);
      }
    }
    record.address = ++blocks_;
    for (size_t i = first; record.bytes < 0 && i < trace_.memory.size(); ++i) {
      if (trace_.memory[i].bytes == -record.bytes &&
          freed_.insert(trace_.memory[i].address).second) {
        record.address = trace_.memory[i].address;
        break;
      }
    }
    trace_.memory.push_back(record);
  }

  // "GPU_0_bfc", "gpu_bfc", "cpu".
  static int64_t device_of(std::string_view allocator) {
    const std::string lower = to_lower(allocator);
    if (!lower.starts_with("gpu")) {
      return -1;
    }
    const size_t end = lower.find('_', 4);
    return lower.size() > 4
               ? parse_number<int64_t>(std::string_view(lower).substr(4, end - 4)).value_or(0)
               : 0;
  }

  static constexpr int64_t kMaxBlock = int64_t{1} << 60;

  Trace trace_;
  uint64_t blocks_ = 0;
  std::unordered_set<uint64_t> freed_;
};

bool is_step_stats(std::string_view content) {
  ProtoReader reader(content);
  ProtoField field;
  // A file that ends inside its first device is looked into all the same.
  std::string_view first;
  if (reader.next(&field)) {
    first = field.is(1, ProtoField::kBytes) ? field.bytes : "";
  } else if (content.starts_with('\n')) {
    first = reader.rest();
  }
  if (StepStatsReader::is_device(first)) {
    return true;
  }
  ProtoReader inner(first);
  if (inner.next(&field)) {
    return field.is(1, ProtoField::kBytes) && StepStatsReader::is_device(field.bytes);
  }
  return false;
}

Sniff sniff_step_stats(const TraceInput& input) {
  const bool found = input.kind() == TraceInput::Kind::kBinary && is_step_stats(input.content());
  return found ? Sniff::kYes : Sniff::kNo;
}

StatusOr<Trace> read_step_stats(TraceInput input) {
  return StepStatsReader(input.path()).read(input.content());
}

}  // namespace

TraceReader stepstats_trace_reader() {
  return {.name = "stepstats",
          .description = "TensorFlow RunMetadata or StepStats, protobuf",
          .sniff = sniff_step_stats,
          .read = read_step_stats};
}

}  // namespace dfsim::inline datasets
