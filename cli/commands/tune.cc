// dfsim tune: the fastest settings of ONNX Runtime for one model on this machine, found with few
// measurements because predictions say where to look.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/shared_options.h"
#include "cli/tuner.h"

namespace dfsim::cli {
namespace {

using Json = nlohmann::ordered_json;
using Timing = TuneTiming;

std::string timing_text(const Timing& timing) {
  return fmt::format("{:.3g} ms (80 %: {:.3g} to {:.3g}, {} runs)", timing.median_ms, timing.low_ms,
                     timing.high_ms, timing.runs);
}

std::string text_of(const TuneResult& result, const std::string& model) {
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
  return result.lines.empty() ? text : text + "\n" + trajectories_text("threads", result.lines);
}

Json timing_json(const Timing& timing) {
  return {{"median_ms", timing.median_ms},
          {"p10_ms", timing.low_ms},
          {"p90_ms", timing.high_ms},
          {"runs", timing.runs}};
}

std::string json_of(const TuneResult& result, const std::string& model) {
  Json points = Json::array();
  for (const TuneCandidate& candidate : result.candidates) {
    points.push_back(
        {{"setting", tune_setting_json(candidate.setting)},
         {"predicted", candidate.predicted / result.candidates[0].predicted},
         {"measured", candidate.measured.has_value() ? Json(*candidate.measured) : Json(nullptr)}});
  }
  Json steps = Json::array();
  for (const Trajectory& line : result.lines) {
    for (const TrajectoryStep& step : line.steps) {
      steps.push_back({{"from", step.from},
                       {"to", step.to},
                       {"gain", std::exp2(step.dy)},
                       {"of_compute", step.of_compute},
                       {"of_memory", step.of_memory},
                       {"reading", step_reading_name(step.reading)},
                       {"advice", step_advice(step.reading)}});
    }
  }
  const Json json = {{"schema", "dfsim.tune/1"},
                     {"model", model},
                     {"onnxruntime", result.runtime_version},
                     {"measured", result.measured},
                     {"default", tune_setting_json(result.candidates[0].setting)},
                     {"best", tune_setting_json(result.candidates[result.best].setting)},
                     {"default_time", timing_json(result.default_time)},
                     {"best_time", timing_json(result.best_time)},
                     {"ratio", result.ratio},
                     {"settings", std::move(points)},
                     {"threads", std::move(steps)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status run_tune(const TuneOptions& options, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const TuneResult result, tune_on_host(options, quiet));
  const std::string model = model_name(options.model.path);
  return write_file(options.output,
                    options.json ? json_of(result, model) : fit_lines(text_of(result, model)));
}

OptionTable tune_options(TuneOptions& o) {
  return joined(
      {model_options(o.model),
       {
           {.names = "--host",
            .target = &o.host,
            .help = "Measure on this machine; leave it alone meanwhile"},
           {.names = "--hw",
            .target = &o.hardware,
            .help = "The hardware file that predictions use to choose what to measure; default: "
                    "host.yaml in --dir, as dfsim calibrate writes it",
            .value = "FILE|NAME",
            .suggest = hardware_names},
           {.names = "--dir",
            .target = &o.directory,
            .help = "Where measurements and the Python environment are kept; the same command goes "
                    "on where it was stopped",
            .value = "DIR",
            .show_default = true},
           {.names = "--batches",
            .target = &o.batches,
            .help = "Batch sizes to choose among, rising",
            .value = "A,B,..."},
           {.names = "--threads",
            .target = &o.threads,
            .help = "Most threads to use; 0 = one per core",
            .value = "N",
            .show_default = true,
            .range = {0, 1024}},
           {.names = "--budget",
            .target = &o.budget,
            .help = "Settings to measure at most",
            .value = "N",
            .show_default = true,
            .range = {1, 1000}},
           {.names = "--seconds",
            .target = &o.seconds,
            .help = "To measure each setting for",
            .value = "X",
            .show_default = true,
            .range = {0.1, 600.0}},
           {.names = "--python",
            .target = &o.python,
            .help = "Python 3.10 or newer to make an environment with; used as it is with "
                    "--no-install",
            .value = "FILE",
            .show_default = true},
           {.names = "--no-install",
            .target = &o.no_install,
            .help = "Use --python as it is; it needs numpy, onnx and onnxruntime"},
           {.names = "--json", .target = &o.json, .help = "The result as JSON"},
           output_option(&o.output),
       }});
}

}  // namespace

CommandSpec tune_command() {
  const auto options = std::make_shared<TuneOptions>();
  return {
      .name = "tune",
      .summary = "The fastest settings of ONNX Runtime for a model on this machine",
      .options = tune_options(*options),
      .run = [options](const GlobalOptions& global) { return run_tune(*options, global.quiet); }};
}

}  // namespace dfsim::cli
