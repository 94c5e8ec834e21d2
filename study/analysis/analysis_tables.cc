// Groups spans by operator, kernel, copy and wait, and sums them up. Host times are own times,
// without the operators inside, so that a column adds up to the time of the threads.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "study/analysis/analysis_parts.h"

namespace dfsim::inline study {
namespace {

constexpr double kUsPerSecond = 1e6;

// Durations and more of one group of spans.
struct Group {
  std::vector<double> durations_us;
  double host_us = 0;
};

using GroupKey = std::pair<NameId, NameId>;  // name and detail

std::vector<OpRow> rows_of(const Trace& trace, std::map<GroupKey, Group> groups) {
  std::vector<OpRow> rows;
  double total_us = 0;
  for (auto& entry : groups) {
    const GroupKey& key = entry.first;
    Group& group = entry.second;
    OpRow row;
    row.name = trace.text(key.first);
    row.detail = trace.text(key.second);
    row.calls = static_cast<int64_t>(group.durations_us.size());
    row.host_us = group.host_us;
    row.time = spread_of(std::move(group.durations_us));
    total_us += row.time.total_us;
    rows.push_back(std::move(row));
  }
  for (OpRow& row : rows) {
    row.share = total_us > 0 ? row.time.total_us / total_us : 0;
  }
  std::sort(rows.begin(), rows.end(), [](const OpRow& a, const OpRow& b) {
    if (a.time.total_us != b.time.total_us) {
      return a.time.total_us > b.time.total_us;
    }
    return a.name != b.name ? a.name < b.name : a.detail < b.detail;
  });
  return rows;
}

// Own host time of each operator: without the operators inside it.
std::vector<double> own_times(const Trace& trace) {
  std::vector<double> own(trace.spans.size(), 0);
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    if (span.kind != SpanKind::kOp) {
      continue;
    }
    own[i] += span.duration_us();
    if (span.op.valid()) {
      own[span.op.index()] -= span.duration_us();
    }
  }
  return own;
}

std::string_view size_class(Bytes bytes) {
  struct Class {
    Bytes below;
    std::string_view name;
  };
  constexpr std::array kClasses = {
      Class{Bytes{4} << 10, "under 4 KiB"}, Class{Bytes{64} << 10, "4 to 64 KiB"},
      Class{Bytes{1} << 20, "64 KiB to 1 MiB"}, Class{Bytes{16} << 20, "1 to 16 MiB"}};
  if (bytes < 0) {
    return "size not recorded";
  }
  for (const Class& candidate : kClasses) {
    if (bytes < candidate.below) {
      return candidate.name;
    }
  }
  return "16 MiB and more";
}

}  // namespace

namespace {

std::string_view wait_kind(std::string_view name, bool is_call) {
  const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
  if (is_call && has("Synchronize")) {
    return "device";
  }
  if (is_call && (has("Malloc") || has("Free"))) {
    return "memory";
  }
  if (has("DataLoader") || has("IteratorGetNext") || has("QueueDequeue") || has("Iterator::") ||
      has("GetNext") || has("enqueue_next")) {
    return "input";
  }
  if (name == "_Recv" || name == "_HostRecv" || has("RecvTensor") || has("endezvous")) {
    return "rendezvous";
  }
  if (has("grpc") || has("gRPC") || has("Grpc")) {
    return "rpc";
  }
  return "";
}

}  // namespace

std::string_view WaitKinds::of(const Trace& trace, const Span& span) {
  const bool is_call = span.kind == SpanKind::kRuntime;
  return (is_call ? calls_ : others_).of(trace, span.name, [is_call](std::string_view name) {
    return wait_kind(name, is_call);
  });
}

void add_op_rows(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis) {
  const std::vector<double> own = own_times(trace);
  std::vector<double> device_us(trace.spans.size(), 0);
  std::vector<bool> counts(trace.spans.size(), false);
  std::map<GroupKey, Group> by_name;
  std::map<GroupKey, Group> by_node;
  const auto add = [&](const Span& span, double us) {
    by_name[{span.name, NameId()}].durations_us.push_back(us);
    by_node[{span.name, span.detail}].durations_us.push_back(us);
  };
  for (const SpanId id : work) {
    const Span& span = trace.span(id);
    if (analysis->on_device && span.op.valid()) {
      device_us[span.op.index()] += span.duration_us();
      counts[span.op.index()] = true;
    } else if (analysis->on_device && !trace.links_work && span.kind == SpanKind::kKernel) {
      add(span, span.duration_us());  // the work itself is the operator
    }
  }
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    if (span.kind != SpanKind::kOp) {
      continue;
    }
    if (analysis->on_device ? counts[i] : own[i] > 0) {
      add(span, analysis->on_device ? device_us[i] : own[i]);
    }
    if (const auto it = by_name.find({span.name, NameId()}); it != by_name.end()) {
      it->second.host_us += own[i];
    }
    if (const auto it = by_node.find({span.name, span.detail}); it != by_node.end()) {
      it->second.host_us += own[i];
    }
  }
  analysis->ops = rows_of(trace, std::move(by_name));
  analysis->nodes = rows_of(trace, std::move(by_node));
}

void add_kernel_rows(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis) {
  // Communication counts as a kind of its own, behind the others.
  const auto kind_of = [](const Span& span) {
    return span.kind == SpanKind::kKernel && span.communication ? kSpanKindCount
                                                                : static_cast<int>(span.kind);
  };
  const auto kind_name = [](int kind) -> std::string {
    if (kind == kSpanKindCount) {
      return "communication";
    }
    return kind == static_cast<int>(SpanKind::kKernel)
               ? "compute"
               : std::string(span_kind_name(static_cast<SpanKind>(kind)));
  };
  std::map<std::pair<NameId, int>, std::vector<double>> groups;
  double total_us = 0;
  for (const SpanId id : work) {
    const Span& span = trace.span(id);
    groups[{span.name, kind_of(span)}].push_back(span.duration_us());
    total_us += span.duration_us();
  }
  for (auto& [key, durations] : groups) {
    KernelRow row;
    row.name = trace.text(key.first);
    row.kind = kind_name(key.second);
    row.time = spread_of(std::move(durations));
    row.share = total_us > 0 ? row.time.total_us / total_us : 0;
    analysis->kernels.push_back(std::move(row));
  }
  std::sort(analysis->kernels.begin(), analysis->kernels.end(),
            [](const KernelRow& a, const KernelRow& b) {
              return a.time.total_us != b.time.total_us ? a.time.total_us > b.time.total_us
                                                        : a.name < b.name;
            });
}

void add_copy_rows(const Trace& trace, const std::vector<SpanId>& work, TraceAnalysis* analysis) {
  struct Sum {
    std::vector<double> durations_us;
    double timed_us = 0;  // of those with a size
    Count bytes;
    Bytes order = 0;
  };
  std::map<std::pair<CopyDirection, std::string>, Sum> sums;
  for (const SpanId id : work) {
    const Span& span = trace.span(id);
    if (span.kind != SpanKind::kCopy) {
      continue;
    }
    const CopyDirection direction = copy_direction(trace.text(span.name));
    for (const std::string_view group : {std::string_view(), size_class(span.bytes)}) {
      Sum& sum = sums[{direction, std::string(group)}];
      sum.durations_us.push_back(span.duration_us());
      if (span.bytes >= 0) {
        sum.bytes += span.bytes;
        sum.timed_us += span.duration_us();
        sum.order = std::max(sum.order, span.bytes);
      }
    }
  }
  std::vector<std::pair<Bytes, CopyRow>> rows;
  for (auto& [key, sum] : sums) {
    CopyRow row;
    row.direction = key.first;
    row.size_class = key.second;
    row.bytes = sum.bytes.value();
    row.bytes_per_s =
        sum.timed_us > 0 ? static_cast<double>(row.bytes) / sum.timed_us * kUsPerSecond : 0;
    row.time = spread_of(std::move(sum.durations_us));
    // All sizes first, then by size.
    rows.emplace_back(row.size_class.empty() ? -1 : sum.order, std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.direction != b.second.direction ? a.second.direction < b.second.direction
                                                    : a.first < b.first;
  });
  for (auto& [order, row] : rows) {
    analysis->copies.push_back(std::move(row));
  }
}

void add_waits(const Trace& trace, TraceAnalysis* analysis) {
  std::map<std::pair<std::string_view, NameId>, std::vector<double>> groups;
  WaitKinds kinds;
  for (const Span& span : trace.spans) {
    const std::string_view kind = kinds.of(trace, span);
    // A wait that two layers record, such as a range and the operator in it, is one wait.
    const bool again = span.parent.valid() && trace.span(span.parent).name == span.name;
    if (!kind.empty() && !again && trace.track(span.track).kind == TrackKind::kHost) {
      groups[{kind, span.name}].push_back(span.duration_us());
    }
  }
  for (auto& [key, durations] : groups) {
    analysis->waits.push_back(
        {std::string(key.first), trace.text(key.second), spread_of(std::move(durations))});
  }
  std::sort(analysis->waits.begin(), analysis->waits.end(), [](const WaitRow& a, const WaitRow& b) {
    return a.time.total_us != b.time.total_us ? a.time.total_us > b.time.total_us : a.name < b.name;
  });
}

}  // namespace dfsim::inline study
