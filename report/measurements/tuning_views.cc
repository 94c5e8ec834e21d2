// Text and JSON of tuning ONNX Runtime.
#include "report/measurements/tuning_views.h"

#include <fmt/format.h>
#include <algorithm>
#include <vector>

#include "base/counted.h"
#include "base/json/json_tree.h"
#include "base/text_table.h"
#include "report/rooflines/trajectory_views.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string timing_text(const TuneTiming& timing) {
  return fmt::format("{:.3g} ms (80 %: {:.3g} to {:.3g}, {})", timing.median_ms, timing.low_ms,
                     timing.high_ms, counted(timing.runs, "run"));
}

Json setting_json(const TuneSetting& setting) {
  return {{"intra", setting.intra},
          {"inter", setting.inter},
          {"pinned", setting.pinned},
          {"level", setting.level},
          {"batch", setting.batch}};
}

Json timing_json(const TuneTiming& timing) {
  return {{"median_ms", timing.median_ms},
          {"p10_ms", timing.low_ms},
          {"p90_ms", timing.high_ms},
          {"runs", timing.runs}};
}

}  // namespace

std::string tuning_text(const TuneResult& result, const std::string& model) {
  std::string text =
      fmt::format("{} with ONNX Runtime {} on this machine: {} of {} settings measured\n", model,
                  result.runtime_version, result.measured, result.candidates.size());
  const TuneSetting& usual = result.candidates[0].setting;
  const TuneSetting& best = result.candidates[result.best].setting;
  text += fmt::format("  default   {}\n            {}\n", tune_setting_text(usual),
                      timing_text(result.default_time));
  text += fmt::format("  best      {}\n            {}\n", tune_setting_text(best),
                      timing_text(result.best_time));
  text +=
      fmt::format("  ratio     {:.2f}x the throughput, in one interleaved run\n\n", result.ratio);
  TextTable table({{"Measured"}, {"predicted", Align::kRight}, {"measured", Align::kRight}});
  std::vector<const TuneCandidate*> order;
  for (const TuneCandidate& candidate : result.candidates) {
    if (candidate.measured.has_value()) {
      order.push_back(&candidate);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const TuneCandidate* a, const TuneCandidate* b) {
    return *a->measured < *b->measured;
  });
  for (const TuneCandidate* candidate : order) {
    table.add_row({tune_setting_text(candidate->setting),
                   fmt::format("{:.2f}", candidate->predicted / result.candidates[0].predicted),
                   fmt::format("{:.2f}", *candidate->measured)});
  }
  text += table.render(80, 2) + "  (time per sample over the default's)\n";
  for (const TuneLine& line : result.lines) {
    text += fmt::format("\n  At {}, as measured:\n{}", line.at,
                        line.lines.empty() ? "" : trajectories_text(line.swept, line.lines));
    for (const std::string& setting : line.left_out) {
      text += fmt::format("  left out: {}\n", setting);
    }
  }
  return text;
}

std::string tuning_json(const TuneResult& result, const std::string& model) {
  Json points = Json::array();
  for (const TuneCandidate& candidate : result.candidates) {
    points.push_back(
        {{"setting", setting_json(candidate.setting)},
         {"predicted", candidate.predicted / result.candidates[0].predicted},
         {"measured", candidate.measured.has_value() ? Json(*candidate.measured) : Json(nullptr)}});
  }
  Json threads = Json::array();
  Json lines = Json::array();
  Json left_out = Json::array();
  for (const TuneLine& line : result.lines) {
    for (const Trajectory& trajectory : line.lines) {
      Json steps = trajectory_steps_json(trajectory);
      if (line.swept == "threads") {
        threads = steps;
      }
      lines.push_back({{"swept", line.swept},
                       {"at", line.at},
                       {"points", points_json(trajectory.points)},
                       {"steps", std::move(steps)}});
    }
    for (const std::string& setting : line.left_out) {
      left_out.push_back({{"swept", line.swept}, {"at", line.at}, {"setting", setting}});
    }
  }
  const Json json = {{"schema", "dfsim.tune/1"},
                     {"model", model},
                     {"onnxruntime", result.runtime_version},
                     {"measured", result.measured},
                     {"default", setting_json(result.candidates[0].setting)},
                     {"best", setting_json(result.candidates[result.best].setting)},
                     {"default_time", timing_json(result.default_time)},
                     {"best_time", timing_json(result.best_time)},
                     {"ratio", result.ratio},
                     {"settings", std::move(points)},
                     {"threads", std::move(threads)},
                     {"trajectories", std::move(lines)},
                     {"left_out", std::move(left_out)}};
  return json.text();
}

}  // namespace dfsim::inline report
