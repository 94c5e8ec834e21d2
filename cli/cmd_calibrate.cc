// dfsim calibrate: a hardware file and a cost model of the machine it runs on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/io/data_dir.h"
#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/ort_environment.h"
#include "cli/profile_inputs.h"
#include "cli/validator.h"
#include "hardware/platform_loader.h"
#include "opmodel/train/error_stats.h"
#include "opmodel/train/training.h"
#include "report/interval_fit.h"

namespace dfsim::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kCollector = "datasets/collect/ort_cpu/collect.py";
constexpr std::string_view kModelFolder = "model";
constexpr std::string_view kOverheadsFile = "overheads.json";
// Small enough for a few minutes, and of every kind.
constexpr std::array<std::string_view, 8> kNetworks = {
    "mobilenet_v2", "resnet18",    "t5_small_encoder", "efficientnet_b0",
    "resnet50",     "densenet121", "distilbert",       "lstm"};

struct Options {
  double minutes = 10;
  std::string directory;
  std::string python = "python3";
  int threads = 0;
  bool no_install = false;
  bool json = false;
};

struct Calibration {
  std::vector<std::string> hardware;  // files; the last one has most threads
  std::string model;
  int64_t rows = 0;
  ErrorStats held_out;  // over all parts, each weighed by its rows
  ValidationSummary networks;
  std::string not_fitted;  // why the intervals of networks were not fitted to them; "" = they were
};

class Calibrator {
 public:
  Calibrator(const Options& options, bool quiet) : options_(options), quiet_(quiet) {}

  StatusOr<Calibration> run() {
    DFSIM_ASSIGN_OR_RETURN(collector_, find_data_file(kCollector));
    std::error_code error;
    fs::create_directories(options_.directory, error);
    if (error) {
      return failed(fmt::format("{}: cannot make the folder: {}", printable(options_.directory),
                                error.message()));
    }
    DFSIM_ASSIGN_OR_RETURN(python_, ort_environment({options_.directory, options_.python,
                                                     options_.no_install, quiet_}));
    DFSIM_RETURN_IF_ERROR(collect());
    DFSIM_ASSIGN_OR_RETURN(Calibration calibration, train());
    DFSIM_RETURN_IF_ERROR(judge(&calibration));
    return calibration;
  }

 private:
  std::string in(std::string_view name) const {
    return (fs::path(options_.directory) / name).string();
  }

  void say(std::string_view text) const {
    if (!quiet_) {
      fmt::print(stderr, "{}\n", text);
    }
  }

  std::vector<int> thread_counts() const {
    const int most = options_.threads > 0
                         ? options_.threads
                         : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return most > 1 ? std::vector<int>{1, most} : std::vector<int>{1};
  }

  Status collect() {
    std::string threads;
    for (const int count : thread_counts()) {
      threads += fmt::format("{}{}", threads.empty() ? "" : ",", count);
    }
    say("measuring peaks");
    DFSIM_RETURN_IF_ERROR(
        run_program({python_, collector_, "hardware", "-o", options_.directory, "--name", "host",
                     "--threads", threads, "--cost-model", std::string(kModelFolder)},
                    "measuring peaks"));
    std::vector<std::string> campaign = {python_,
                                         collector_,
                                         "run",
                                         "-o",
                                         in("campaign"),
                                         "--minutes",
                                         fmt::format("{}", options_.minutes),
                                         "--threads",
                                         threads,
                                         "--batches",
                                         "1",
                                         "--networks"};
    for (const std::string_view name : kNetworks) {
      DFSIM_ASSIGN_OR_RETURN(std::string path,
                             find_data_file(fmt::format("graphs/zoo/{}.onnx", name)));
      campaign.push_back(std::move(path));
    }
    say(fmt::format("measuring operators and networks for {} minutes; leave the machine alone",
                    options_.minutes));
    DFSIM_RETURN_IF_ERROR(
        run_program(campaign, "measuring (what was measured is kept: the same command goes on)"));
    DFSIM_ASSIGN_OR_RETURN(const Platform host, load_platform(in("host.yaml")));
    const std::string& model = host.devices[0].model;
    return run_program({python_, collector_, "export", in("campaign"), "--device",
                        model.substr(0, model.rfind(", ")), "-o", in("ops.csv.gz"), "--runs",
                        in("runs.csv"), "--overheads", in(kOverheadsFile)},
                       "writing the profile");
  }

  StatusOr<Calibration> train() {
    Calibration calibration;
    TrainOptions train;
    for (const int count : thread_counts()) {
      const bool most = count == thread_counts().back();
      calibration.hardware.push_back(in(most ? "host.yaml" : fmt::format("host-{}t.yaml", count)));
      DFSIM_ASSIGN_OR_RETURN(const Platform host, load_platform(calibration.hardware.back()));
      train.known_devices.push_back(host.devices[0]);
    }
    say("training");
    ProfileInputs inputs;
    inputs.files = {in("ops.csv.gz")};
    DFSIM_ASSIGN_OR_RETURN(const LoadedProfiles loaded, load_profiles(inputs));
    DFSIM_ASSIGN_OR_RETURN(train.overheads, read_overheads(in(kOverheadsFile)));
    train.name = kModelFolder;
    train.dfsim_version = DFSIM_VERSION;
    train.sources = loaded.sources;
    train.compact = true;
    calibration.model = in(kModelFolder);
    DFSIM_ASSIGN_OR_RETURN(const TrainReport report,
                           train_model(loaded.profile, train, calibration.model, {}));
    calibration.rows = report.manifest.rows_used;
    add_up(report.manifest, &calibration.held_out);
    return calibration;
  }

  // Predicts the networks that were measured, and fits the intervals to them. The model stands
  // without: what hinders that is told in the report.
  Status judge(Calibration* calibration) {
    ValidateOptions options;
    options.runs = in("runs.csv");
    options.hardware = calibration->hardware;
    Progress progress(quiet_);
    const auto validation = validate_runs(options, progress);
    if (!validation.ok()) {
      calibration->not_fitted = validation.status().message();
      return ok_status();
    }
    calibration->networks = summarize(validation->runs);
    const auto fits = fit_intervals(validation->runs);
    if (!fits.ok()) {
      calibration->not_fitted = fits.status().message();
      return ok_status();
    }
    return write_interval_scales(calibration->model, *fits);
  }

  static void add_up(const ModelManifest& manifest, ErrorStats* total) {
    for (const ModelPart& part : manifest.parts) {
      if (part.kind == kAnyKind && part.held_out.n > 0) {
        continue;  // its rows are in the parts of their kinds, too
      }
      const auto n = static_cast<double>(part.held_out.n);
      total->n += part.held_out.n;
      total->mape += n * part.held_out.mape;
      total->median += n * part.held_out.median;
    }
    if (total->n > 0) {
      total->mape /= static_cast<double>(total->n);
      total->median /= static_cast<double>(total->n);
    }
  }

  const Options& options_;
  bool quiet_;
  std::string collector_;
  std::string python_;
};

std::string expectation(const ErrorStats& held_out) {
  if (held_out.n == 0) {
    return "not known: too few operators were measured to hold some out; measure longer";
  }
  return fmt::format(
      "operators of shapes not measured: {:.1f} % off on average, half of them less than {:.1f} %\n"
      "               (held out: {} shapes)",
      held_out.mape * 100, held_out.median * 100, held_out.n);
}

std::string networks_text(const Calibration& calibration) {
  const ValidationSummary& networks = calibration.networks;
  const std::string errors =
      networks.runs == 0
          ? "networks: not known"
          : fmt::format(
                "networks: {:.1f} % off on average, at most {:.1f} % ({} runs of {} "
                "networks whose operators were trained on)",
                networks.mean * 100, networks.worst * 100, networks.runs, networks.networks);
  return fmt::format("{}\n               80 % intervals of networks {}", errors,
                     calibration.not_fitted.empty()
                         ? "are fitted to these runs"
                         : "are a first guess: " + calibration.not_fitted);
}

std::string text_of(const Calibration& calibration) {
  const std::string& host = calibration.hardware.back();
  return fmt::format(
      "hardware       {}\nmodel          {}, trained on {} rows\nto expect      {}\n               "
      "{}\n\nNext: dfsim "
      "predict MODEL.onnx --hw {}\n      dfsim validate --runs {} --hw {}\n",
      fmt::join(calibration.hardware, ", "), calibration.model, calibration.rows,
      expectation(calibration.held_out), networks_text(calibration), host,
      (fs::path(host).parent_path() / "runs.csv").string(),
      fmt::join(calibration.hardware, " --hw "));
}

std::string json_of(const Calibration& calibration) {
  const Json json = {{"schema", "dfsim.calibrate/1"},
                     {"hardware", calibration.hardware},
                     {"model", calibration.model},
                     {"rows", calibration.rows},
                     {"held_out",
                      {{"n", calibration.held_out.n},
                       {"mape", calibration.held_out.mape},
                       {"median", calibration.held_out.median}}},
                     {"networks",
                      {{"runs", calibration.networks.runs},
                       {"networks", calibration.networks.networks},
                       {"mean_error", calibration.networks.mean},
                       {"worst_error", calibration.networks.worst},
                       {"intervals_fitted", calibration.not_fitted.empty()}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status run(const Options& options, bool quiet) {
  Calibrator calibrator(options, quiet);
  DFSIM_ASSIGN_OR_RETURN(const Calibration calibration, calibrator.run());
  return write_file("-", options.json ? json_of(calibration) : fit_lines(text_of(calibration)));
}

}  // namespace

void register_calibrate(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "calibrate", "Measure this machine's CPU: a hardware file and a cost model for it");
  auto options = std::make_shared<Options>();
  command
      ->add_option("--minutes", options->minutes,
                   "Measure for about so long; setting up and "
                   "training come on top")
      ->option_text("N")
      ->check(CLI::Range(0.1, 1440.0))
      ->capture_default_str();
  command
      ->add_option("-o,--output", options->directory,
                   "Folder of the results; a calibration that was stopped goes on there")
      ->required()
      ->option_text("DIR");
  command
      ->add_option("--python", options->python, "Python 3.10 or newer to make an environment with")
      ->option_text("PROGRAM")
      ->capture_default_str();
  command->add_flag("--no-install", options->no_install,
                    "Use that Python as it is; it has the collector's packages");
  command
      ->add_option("--threads", options->threads,
                   "Most threads of ONNX Runtime to measure with; 0 = one per core")
      ->option_text("N")
      ->check(CLI::Range(0, 1024));
  command->add_flag("--json", options->json, "The report as JSON");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
