// dfsim tune: the fastest settings of ONNX Runtime for one model on this machine, found with few
// measurements because predictions say where to look.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands.h"
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

Status run(const TuneOptions& options, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const TuneResult result, tune_on_host(options, quiet));
  const std::string model = model_name(options.model.path);
  return write_file(options.output,
                    options.json ? json_of(result, model) : fit_lines(text_of(result, model)));
}

}  // namespace

void register_tune(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "tune", "The fastest settings of ONNX Runtime for a model on this machine");
  auto options = std::make_shared<TuneOptions>();
  options->model.add_to(command);
  command->add_flag("--host", options->host, "Measure on this machine; leave it alone meanwhile");
  command
      ->add_option("--hw", options->hardware,
                   "The hardware file that predictions use to choose what to measure; default: "
                   "host.yaml in --dir, as dfsim calibrate writes it")
      ->option_text("FILE|NAME");
  command
      ->add_option("--dir", options->directory,
                   "Where measurements and the Python environment are kept; the same command goes "
                   "on where it was stopped")
      ->option_text("DIR")
      ->capture_default_str();
  command->add_option("--batches", options->batches, "Batch sizes to choose among, rising")
      ->option_text("A,B,...");
  command->add_option("--threads", options->threads, "Most threads to use; 0 = one per core")
      ->option_text("N")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--budget", options->budget, "Settings to measure at most")
      ->option_text("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "To measure each setting for")
      ->option_text("X")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  command
      ->add_option("--python", options->python,
                   "Python 3.10 or newer to make an environment with; used as it is with "
                   "--no-install")
      ->option_text("FILE")
      ->capture_default_str();
  command->add_flag("--no-install", options->no_install,
                    "Use --python as it is; it needs numpy, onnx and onnxruntime");
  command->add_flag("--json", options->json, "The result as JSON");
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
