// Groups calls of equal operators of a trace, counts their work from the recorded shapes, and
// sets it against their measured device time.
#include "study/roofline/trace_roofline.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/text.h"
#include "datasets/importers/torch/torch_ops.h"
#include "study/replay/replay_hardware.h"

namespace dfsim::inline study {
namespace {

// Groups calls of one operator with the same operands.
struct Calls {
  SpanId first;
  int64_t count = 0;
  double time_s = 0;
};

// Device time of each operator's own work; without any device work, its own time on the host.
std::vector<double> op_times(const Trace& trace) {
  std::vector<double> time_s(trace.spans.size(), 0);
  bool on_device = false;
  for (const Span& span : trace.spans) {
    on_device = on_device || is_device_work(span.kind);
  }
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    const double seconds = span.duration_us() / 1e6;
    if (on_device && is_device_work(span.kind) && span.op.valid()) {
      time_s[span.op.index()] += seconds;
    } else if (!on_device && span.kind == SpanKind::kOp) {
      time_s[i] += seconds;
      if (span.op.valid() && !is_torch_bookkeeping(trace.text(span.name))) {
        time_s[span.op.index()] -= seconds;
      }
    }
  }
  return time_s;
}

}  // namespace

StatusOr<RooflineReport> make_trace_roofline(const Trace& trace, const Platform& platform,
                                             const DeviceRoofs& roofs) {
  RooflineReport roofline;
  roofline.model = std::filesystem::path(trace.path).filename().string();
  roofline.hardware = platform.name;
  roofline.measured = true;
  const std::vector<double> time_s = op_times(trace);
  std::map<std::pair<NameId, NameId>, Calls> groups;
  double total_s = 0;
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    if (span.kind != SpanKind::kOp || time_s[i] <= 0) {
      continue;
    }
    Calls& calls = groups[{span.name, span.operands}];
    calls.first = calls.count == 0 ? SpanId(i) : calls.first;
    ++calls.count;
    calls.time_s += time_s[i];
    total_s += time_s[i];
  }
  double known_s = 0;
  for (const auto& [key, calls] : groups) {
    const auto op = describe_for_costs(trace, calls.first);
    if (!op.has_value() || op->output_extents.empty() || op->work.bytes() <= 0) {
      continue;
    }
    const auto count = static_cast<double>(calls.count);
    RoofPoint point = roof_point(roofs, *op, calls.time_s);
    // All calls together, as sums are.
    for (double* sum : {&point.flops, &point.bytes, &point.bound_s, &point.compute_s,
                        &point.memory_s, &point.launch_s}) {
      *sum *= count;
    }
    point.name = trace.text(key.first);
    const std::string& detail = trace.text(trace.span(calls.first).detail);
    if (!detail.empty()) {
      point.name += ' ';
      point.name += printable(detail, 60);
    }
    point.ops = calls.count;
    point.source = CostSource::kMeasured;
    known_s += calls.time_s;
    roofline.ops.push_back(std::move(point));
  }
  if (roofline.ops.empty()) {
    return invalid_input(fmt::format(
        "{}: no operator's shapes are recorded, so their work is not known; record with "
        "record_shapes=True, or an ONNX Runtime profile",
        trace.path));
  }
  roofline.without_work = total_s > 0 ? 1 - known_s / total_s : 0;
  finish_roofline(roofs, &roofline);
  return roofline;
}

}  // namespace dfsim::inline study
