// dfsim train: profiles in, a trained cost model out.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/io/file.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/profile_inputs.h"
#include "hardware/platform_loader.h"
#include "opmodel/train/training.h"

namespace dfsim::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ProfileInputs inputs;
  std::string directory;
  std::string name;
  std::string extend;
  std::vector<std::string> hardware;
  std::string overheads;
  uint64_t seed = 1;
  int threads = 0;
  int rounds = 0;
  bool no_lookup = false;
  bool no_rows = false;
  bool compact = false;
  bool keep_drift = false;
  bool json = false;
};

std::string percent(double fraction) { return fmt::format("{:.2f}", fraction * 100); }

std::string part_name(const ModelPart& part) {
  return fmt::format("{} {}", op_class_name(part.op_class), part.kind);
}

std::string short_timing(TimingKind timing) {
  const std::string_view name = timing_kind_name(timing);
  return std::string(name.substr(0, name.find('-')));
}

void print_progress(const PartProgress& progress) {
  const ModelPart& part = *progress.part;
  fmt::print(stderr, "[{}/{}] {} {}: {} rows, {} rounds, {:.1f} s", progress.done, progress.total,
             part_name(part), timing_kind_name(part.timing), part.rows, part.rounds,
             progress.seconds);
  if (part.held_out.n > 0) {
    fmt::print(stderr, ", held-out error {} % (median {} %)", percent(part.held_out.mape),
               percent(part.held_out.median));
  }
  fmt::print(stderr, "\n");
}

std::string top_features(const ModelPart& part, size_t count) {
  std::string text;
  for (size_t i = 0; i < std::min(count, part.importance.size()); ++i) {
    text += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", part.importance[i].first,
                        part.importance[i].second * 100);
  }
  return text.empty() ? "-" : text;
}

std::string report_text(const TrainReport& report, const LoadedProfiles& loaded,
                        const std::string& directory) {
  const ModelManifest& manifest = report.manifest;
  std::string text =
      fmt::format("Model '{}' in {}: {} parts from {} rows in {:.1f} s\n", manifest.name, directory,
                  manifest.parts.size(), manifest.rows_used, report.seconds);
  text += fmt::format(
      "Left out: reading {}; faster than half of their bound {}; of other devices or ops "
      "{}\n",
      loaded.drops.summary(), report.drops.total(), loaded.other_devices);
  text += first_drops(report.drops);
  for (const std::string& device : report.estimated_devices) {
    text += fmt::format(
        "Device '{}' has no hardware file: its peaks were estimated from its rows\n", device);
  }
  if (report.continued) {
    text += "The model to extend keeps no rows: its trees were added to, not trained anew\n";
  }
  TextTable errors({{"part"},
                    {"timing"},
                    {"rows", Align::kRight},
                    {"trees", Align::kRight},
                    {"test", Align::kRight},
                    {"MAPE %", Align::kRight},
                    {"median", Align::kRight},
                    {"p90", Align::kRight},
                    {"bias", Align::kRight},
                    {"in80%", Align::kRight},
                    {"bound", Align::kRight},
                    {"s", Align::kRight}});
  for (size_t i = 0; i < manifest.parts.size(); ++i) {
    const ModelPart& part = manifest.parts[i];
    const ErrorStats& e = part.held_out;
    const bool judged = e.n > 0;
    const auto cell = [&](double value) { return judged ? percent(value) : std::string("-"); };
    errors.add_row(
        {part_name(part), short_timing(part.timing), std::to_string(part.rows),
         std::to_string(part.rounds), std::to_string(e.n), cell(e.mape), cell(e.median),
         cell(e.p90), cell(e.bias), judged ? fmt::format("{:.0f}", e.interval * 100) : "-",
         cell(part.held_out_baseline.mape), fmt::format("{:.1f}", report.part_seconds[i])});
  }
  text +=
      "\nErrors on held-out shapes (15 % of the shapes, none of them trained on); bound: MAPE "
      "of\nbound x constant; in80%: inside their 80 % interval:\n";
  text += errors.render(100);
  for (const ModelPart& part : manifest.parts) {
    for (const auto& [device, end_us] : part.drifts) {
      text += fmt::format(
          "{} on {}: times grew by {} in the order of measurement; that was taken "
          "off before training and judging\n",
          part_name(part), device, format_time(ns_from_seconds(end_us * 1e-6)));
    }
  }
  TextTable features({{"part"}, {"strongest features, share of the gain"}});
  for (const ModelPart& part : manifest.parts) {
    features.add_row({part_name(part), top_features(part, 4)});
  }
  return text + "\n" + features.render(100);
}

Json stats_json(const ErrorStats& stats) {
  return {{"n", stats.n},     {"mape", stats.mape}, {"median", stats.median},
          {"p90", stats.p90}, {"bias", stats.bias}, {"interval", stats.interval}};
}

std::string report_json(const TrainReport& report, const LoadedProfiles& loaded,
                        const std::string& directory) {
  const ModelManifest& manifest = report.manifest;
  Json parts = Json::array();
  for (size_t i = 0; i < manifest.parts.size(); ++i) {
    const ModelPart& part = manifest.parts[i];
    Json importance = Json::array();
    for (const auto& [feature, share] : part.importance) {
      importance.push_back({{"feature", feature}, {"share", share}});
    }
    parts.push_back({{"class", op_class_name(part.op_class)},
                     {"kind", part.kind},
                     {"timing", timing_kind_name(part.timing)},
                     {"rows", part.rows},
                     {"rounds", part.rounds},
                     {"held_out", stats_json(part.held_out)},
                     {"baseline", stats_json(part.held_out_baseline)},
                     {"importance", importance},
                     {"seconds", report.part_seconds[i]}});
  }
  const Json json = {{"schema", "dfsim.train/1"},
                     {"name", manifest.name},
                     {"directory", directory},
                     {"rows_used", manifest.rows_used},
                     {"rows_dropped_reading", loaded.drops.total()},
                     {"rows_impossible", report.drops.total()},
                     {"rows_other_devices", loaded.other_devices},
                     {"estimated_devices", report.estimated_devices},
                     {"seed", manifest.seed},
                     {"xgboost", manifest.xgboost_version},
                     {"seconds", report.seconds},
                     {"parts", parts}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<std::vector<DeviceSpec>> devices_of(const std::vector<std::string>& files) {
  std::vector<DeviceSpec> devices;
  for (const std::string& file : files) {
    DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(file));
    devices.insert(devices.end(), platform.devices.begin(), platform.devices.end());
  }
  return devices;
}

Status run(const Options& options, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(LoadedProfiles loaded, load_profiles(options.inputs));
  TrainOptions train;
  train.name = options.name;
  train.dfsim_version = DFSIM_VERSION;
  train.device = options.inputs.device;
  train.extend = options.extend;
  if (!options.overheads.empty()) {
    DFSIM_ASSIGN_OR_RETURN(train.overheads, read_overheads(options.overheads));
  }
  DFSIM_ASSIGN_OR_RETURN(train.known_devices, devices_of(options.hardware));
  train.seed = options.seed;
  train.threads = options.threads > 0
                      ? options.threads
                      : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  train.max_rounds = options.rounds;
  train.keep_lookup = !options.no_lookup;
  train.keep_rows = !options.no_rows;
  train.compact = options.compact;
  train.keep_drift = options.keep_drift;
  train.sources = loaded.sources;
  const std::string directory = options.directory.empty() ? options.extend : options.directory;
  if (directory.empty()) {
    return invalid_input("no place for the model: give -o DIR, or --extend DIR to add to a model");
  }
  std::function<void(const PartProgress&)> progress;
  if (!quiet) {
    progress = print_progress;
  }
  DFSIM_ASSIGN_OR_RETURN(const TrainReport report,
                         train_model(loaded.profile, train, directory, progress));
  return write_file("-", options.json ? report_json(report, loaded, directory)
                                      : fit_lines(report_text(report, loaded, directory)));
}

}  // namespace

void register_train(Registrar& registrar) {
  CLI::App* command =
      registrar.app().add_subcommand("train", "Train a cost model on measured operator times");
  auto options = std::make_shared<Options>();
  options->inputs.add_to(command, /*positional=*/true);
  command
      ->add_option("-o,--output", options->directory,
                   "Folder of the model; made when it is not there")
      ->option_text("DIR");
  command
      ->add_option("--overheads", options->overheads,
                   "What measuring added to each time: a JSON object of the profiles' device names "
                   "and microseconds; comes off predictions")
      ->option_text("FILE.json");
  command
      ->add_option("--extend", options->extend,
                   "Add the profiles to the model in this folder, in place unless -o says where")
      ->option_text("DIR");
  command
      ->add_option("--hw", options->hardware,
                   "Hardware file whose devices the profiles name, beside the built-in ones; "
                   "repeatable")
      ->option_text("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--name", options->name, "Name of the model; default: that of its folder")
      ->option_text("NAME");
  command->add_option("--seed", options->seed, "Of the split and of the trees")
      ->option_text("N")
      ->capture_default_str();
  command
      ->add_option("--threads", options->threads,
                   "Parts trained at the same time; 0 = one per core. Does not change the result")
      ->option_text("N")
      ->check(CLI::Range(0, 256));
  command
      ->add_option("--rounds", options->rounds,
                   "At most so many trees per part; 0 = as suits each class")
      ->option_text("N")
      ->check(CLI::Range(0, 100000));
  command->add_flag("--no-lookup", options->no_lookup,
                    "Do not keep the times of the measured shapes");
  command->add_flag("--no-rows", options->no_rows,
                    "Do not keep the rows beside the model; adding to it later is then less exact");
  command->add_flag("--keep-drift", options->keep_drift,
                    "Train on times that grow with the order of measurement as they are");
  command->add_flag("--compact", options->compact,
                    "Write trees without what only XGBoost itself needs: a seventh of the size");
  command->add_flag("--json", options->json, "The report as JSON");
  registrar.on_run(command,
                   [options, &registrar] { return run(*options, registrar.global().quiet); });
}

}  // namespace dfsim::cli
