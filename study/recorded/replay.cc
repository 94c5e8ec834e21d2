// The use case behind `dfsim replay`: reads the trace, builds its graph, applies one change
// (scale, hardware or policy), simulates before and after, and reports both.
#include "study/recorded/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "datasets/traces/trace_reader.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "schedulers/registry.h"
#include "study/analysis/trace_analysis.h"

namespace dfsim::inline study {
namespace {

// The built-in platform whose first device is what the trace names, or nothing.
std::optional<Platform> recorded_on(const std::string& device_name) {
  const std::string wanted = to_lower(device_name);
  for (const std::string& name :
       wanted.empty() ? std::vector<std::string>{} : builtin_platforms()) {
    auto platform = load_platform(name);
    if (platform.ok() && platform->devices.size() == 1 &&
        to_lower(platform->devices.front().model) == wanted) {
      return std::move(platform).value();
    }
  }
  return std::nullopt;
}

// The device work that was not moved.
KeptWork kept_work(const ReplayGraph& graph, const std::vector<PieceSource>& sources,
                   const Trace& trace, bool knows_device) {
  const auto is_work = [](PieceKind kind) {
    return kind == PieceKind::kKernel || kind == PieceKind::kCopy || kind == PieceKind::kMemset;
  };
  const bool on_device = std::any_of(graph.pieces.begin(), graph.pieces.end(),
                                     [&](const Piece& piece) { return is_work(piece.kind); });
  KeptWork kept;
  for (size_t p = 0; p < graph.pieces.size(); ++p) {
    const Piece& piece = graph.pieces[p];
    if ((on_device ? is_work(piece.kind) : piece.kind == PieceKind::kOp) &&
        sources[p] == PieceSource::kMeasured) {
      ++kept.pieces;
      kept.measured_ns += piece.time_ns;
    }
  }
  if (kept.pieces == 0) {
    return kept;
  }
  kept.reason =
      knows_device
          ? "their operators have no recorded shapes, or the hardware files no rates for them"
      : trace.device_name.empty()
          ? "the trace does not name the device that it was recorded on; name it with --from"
          : fmt::format(
                "no built-in machine has the recorded device '{}'; name its hardware file "
                "with --from",
                printable(trace.device_name, 60));
  return kept;
}

Status move_over(const ReplayOptions& options, const Trace& trace, ReplayGraph* graph,
                 std::vector<PieceSource>* sources, ReplayReport* report) {
  if (options.hardware.empty()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(options.hardware));
  std::optional<Platform> from;
  if (options.from.empty()) {
    from = recorded_on(trace.device_name);
  } else {
    DFSIM_ASSIGN_OR_RETURN(from, load_platform(options.from));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> costs,
                         load_cost_model_for(platform, options.cost_model));
  OtherHardware other{platform, *costs};
  other.from = from.has_value() ? &*from : nullptr;
  DFSIM_ASSIGN_OR_RETURN(*sources, move_to_hardware(trace, other, graph));
  report->hardware = platform.name;
  report->from = from.has_value() ? from->name : "";
  int64_t moved = 0;
  for (const PieceSource source : *sources) {
    moved += source != PieceSource::kMeasured ? 1 : 0;
  }
  report->moved = moved;
  report->kept = kept_work(*graph, *sources, trace, from.has_value());
  report->changes.push_back({fmt::format("on {}{}", platform.name,
                                         report->from.empty() ? "" : " instead of " + report->from),
                             moved});
  return ok_status();
}

Status apply_scales(const ReplayOptions& options, const Trace& trace, ReplayGraph* graph,
                    std::vector<PieceSource>* sources, ReplayReport* report) {
  for (const std::string& text : options.scale) {
    DFSIM_ASSIGN_OR_RETURN(const ScaleRule rule, parse_scale_rule(text));
    std::vector<bool> scaled(graph->pieces.size(), false);
    const int64_t count = apply_scale(trace, rule, graph, &scaled);
    if (count == 0) {
      return invalid_input(fmt::format(
          "--scale: '{}' fits nothing in {}; expected host, device, compute, op, call, gap, "
          "kernel, communication, copy, memset, queue-gap, or a pattern of names such as "
          "'aten::*mm'",
          printable(rule.what), trace.path));
    }
    for (size_t p = 0; p < scaled.size(); ++p) {
      (*sources)[p] = scaled[p] ? PieceSource::kScaled : (*sources)[p];
    }
    report->changes.push_back({fmt::format("{} x {:g}", rule.what, rule.factor), count});
  }
  return ok_status();
}

StatusOr<ReplayRun> run_graph(const ReplayOptions& options, const ReplayGraph& graph,
                              ReplayReport* report) {
  if (options.policy.empty()) {
    return run_replay(graph);
  }
  const PolicyRegistry registry;
  DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* policy, registry.find(options.policy));
  report->policy = policy->name;
  report->changes.push_back({"policy " + policy->name, graph.launched + graph.unlaunched});
  return run_replay_with(graph, *policy);
}

// The report of the trace as it is, before any change.
ReplayReport report_of(const Trace& trace, const ReplayGraph& recorded) {
  ReplayReport report;
  report.path = trace.path;
  report.format = trace.format;
  report.device_name = trace.device_name;
  report.pieces = recorded.pieces.size();
  report.dependencies = recorded.edges.size();
  report.launched = recorded.launched;
  report.unlaunched = recorded.unlaunched;
  report.too_early = recorded.too_early;
  report.measured_ns = recorded.span_ns;
  return report;
}

}  // namespace

StatusOr<Replay> replay(const ReplayOptions& options, const Progress& progress) {
  DFSIM_RETURN_IF_ERROR(progress.stage("reading " + options.trace));
  Replay result;
  DFSIM_ASSIGN_OR_RETURN(result.measured, read_trace(options.trace));
  const Trace& trace = result.measured;
  DFSIM_RETURN_IF_ERROR(progress.stage(fmt::format("replaying {} spans", trace.spans.size())));
  DFSIM_ASSIGN_OR_RETURN(const ReplayGraph recorded, make_replay_graph(trace));
  ReplayReport& report = result.report = report_of(trace, recorded);
  progress.decide("trace", {{"file", trace.path},
                            {"format", trace.format},
                            {"spans", std::to_string(trace.spans.size())},
                            {"pieces", std::to_string(report.pieces)},
                            {"launched", std::to_string(report.launched)},
                            {"unlaunched", std::to_string(report.unlaunched)}});
  DFSIM_ASSIGN_OR_RETURN(report.same, run_replay(recorded));
  ReplayGraph graph = recorded;
  std::vector<PieceSource> sources(graph.pieces.size(), PieceSource::kMeasured);
  DFSIM_RETURN_IF_ERROR(move_over(options, trace, &graph, &sources, &report));
  DFSIM_RETURN_IF_ERROR(apply_scales(options, trace, &graph, &sources, &report));
  for (const ReplayChange& change : report.changes) {
    progress.decide("change", {{"what", change.text}, {"pieces", std::to_string(change.pieces)}});
  }
  DFSIM_ASSIGN_OR_RETURN(report.run, run_graph(options, graph, &report));
  DFSIM_RETURN_IF_ERROR(progress.stage("drawing times for the interval"));
  DFSIM_ASSIGN_OR_RETURN(report.interval, replay_interval(graph, options.seed));
  add_replay_rows(trace, recorded, graph, sources, &report);
  result.replayed = replayed_trace(trace, graph, report.run);
  report.measured = analyze_trace(trace).breakdown;
  report.replayed = analyze_trace(result.replayed).breakdown;
  return result;
}

}  // namespace dfsim::inline study
