// Drives the Python collectors as child processes, then trains and fits intervals in this
// process. Each step leaves its files in the output folder, so a stopped calibration resumes.
#include "study/measuring/calibrate.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <thread>

#include "base/io/data_dir.h"
#include "base/io/file.h"
#include "base/text.h"
#include "hardware/platform_loader.h"
#include "opmodel/train/training.h"
#include "study/measuring/bare_hardware.h"
#include "study/measuring/child_process.h"
#include "study/measuring/ort_environment.h"
#include "study/training/profile_inputs.h"
#include "study/validation/interval_fit.h"
#include "study/validation/validate.h"

namespace dfsim::inline study {
namespace {

namespace fs = std::filesystem;

constexpr double kCollectorSteps = 3;  // peaks, operators and networks, training
constexpr std::string_view kCollector = "datasets/collect/ort_cpu/collect.py";
constexpr std::string_view kModelFolder = "model";
constexpr std::string_view kOverheadsFile = "overheads.json";
constexpr std::string_view kRoofsFile = "roofs.json";
constexpr std::string_view kShareOfCover = "0.9";
constexpr int kRoundsWithAnother = 300;  // of trees that learn another CPU's operators, too
constexpr double kRoofSeconds = 0.3;     // of each kernel on each level
// Small enough for a few minutes, and of every kind.
constexpr std::array<std::string_view, 8> kNetworks = {
    "mobilenet_v2", "resnet18",    "t5_small_encoder", "efficientnet_b0",
    "resnet50",     "densenet121", "distilbert",       "lstm"};

class Calibrator {
 public:
  Calibrator(const CalibrateOptions& options, const Progress& progress)
      : options_(options), progress_(progress) {}

  StatusOr<Calibration> run() {
    DFSIM_RETURN_IF_ERROR(check_options());
    DFSIM_RETURN_IF_ERROR(check_cover());
    if (!options_.like.empty()) {
      DFSIM_ASSIGN_OR_RETURN(like_ops_, find_data_file(measured_file("ops.csv.xz")));
      DFSIM_ASSIGN_OR_RETURN(like_overheads_, find_data_file(measured_file(kOverheadsFile)));
    }
    DFSIM_ASSIGN_OR_RETURN(collector_, find_data_file(kCollector));
    std::error_code error;
    fs::create_directories(options_.directory, error);
    if (error) {
      return failed(fmt::format("{}: cannot make the folder: {}", printable(options_.directory),
                                error.message()));
    }
    if (options_.roofs == "only") {
      return from_roofs_alone();
    }
    DFSIM_ASSIGN_OR_RETURN(
        python_,
        ort_environment({options_.directory, options_.python, options_.no_install}, progress_));
    Calibration measured;
    if (options_.roofs == "measure") {
      const Status status = measure_all_roofs(&measured);
      if (!status.ok() && status.code() != StatusCode::kFailed) {
        return status;
      }
      measured.no_roofs = status.message();
    }
    DFSIM_RETURN_IF_ERROR(collect(measured.roofs_file));
    DFSIM_ASSIGN_OR_RETURN(Calibration calibration, train(std::move(measured)));
    DFSIM_RETURN_IF_ERROR(check_networks(&calibration));
    return calibration;
  }

 private:
  StatusOr<Calibration> from_roofs_alone() {
    Calibration calibration;
    DFSIM_RETURN_IF_ERROR(measure_all_roofs(&calibration));
    calibration.nearest = nearest_measured_cpu(this_cpu());
    for (const HostRoofs& roofs : calibration.roofs) {
      DFSIM_ASSIGN_OR_RETURN(const std::string file, write_bare(roofs));
      calibration.hardware.push_back(file);
    }
    return calibration;
  }

  // The path of the hardware file from these roofs alone.
  StatusOr<std::string> write_bare(const HostRoofs& roofs) const {
    const bool most = roofs.threads == thread_counts().back();
    const std::string name = most ? "bare" : fmt::format("bare-{}t", roofs.threads);
    const std::string path = in(name + ".yaml");
    DFSIM_RETURN_IF_ERROR(
        write_file(path, bare_hardware(name, roofs, this_cpu(), options_.dfsim_version)));
    return path;
  }

  // The host as its roofs show it, for the model: other machines' files of roofs compare with it.
  Status add_bare_device(const Calibration& calibration, int threads, const std::string& model,
                         TrainOptions* train) const {
    const auto roofs = std::ranges::find(calibration.roofs, threads, &HostRoofs::threads);
    if (roofs == calibration.roofs.end()) {
      return ok_status();
    }
    DFSIM_ASSIGN_OR_RETURN(const std::string file, write_bare(*roofs));
    DFSIM_ASSIGN_OR_RETURN(Platform bare, load_platform(file));
    bare.devices[0].model = model;
    train->bare_devices.push_back(std::move(bare.devices[0]));
    return ok_status();
  }

  std::string measured_file(std::string_view name) const {
    return fmt::format("datasets/measured/{}/{}", options_.like, name);
  }

  std::string in(std::string_view name) const {
    return (fs::path(options_.directory) / name).string();
  }

  Status begin(const std::string& step) {
    progress_.note(step);
    DFSIM_RETURN_IF_ERROR(progress_.stage(step));
    progress_.advance(begun_++, steps(), "steps");
    return ok_status();
  }

  double steps() const {
    if (options_.roofs == "only") {
      return 1;
    }
    return kCollectorSteps + (options_.roofs == "measure" ? 1 : 0) +
           (options_.like.empty() ? 0 : 1);
  }

  std::vector<int> thread_counts() const {
    const int most = options_.threads > 0
                         ? options_.threads
                         : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return most > 1 ? std::vector<int>{1, most} : std::vector<int>{1};
  }

  Status measure_all_roofs(Calibration* calibration) {
    DFSIM_RETURN_IF_ERROR(begin("measuring roofs"));
    std::vector<HostRoofs> all;
    for (const int count : thread_counts()) {
      DFSIM_ASSIGN_OR_RETURN(HostRoofs roofs,
                             measure_roofs({.threads = count, .seconds = kRoofSeconds}, progress_));
      all.push_back(std::move(roofs));
    }
    DFSIM_RETURN_IF_ERROR(write_file(in(kRoofsFile), roofs_json(all)));
    calibration->roofs = std::move(all);
    calibration->roofs_file = in(kRoofsFile);
    return ok_status();
  }

  // The user's networks have nearly all of the time until each was measured three times; of the
  // zoo's, samples matter as much.
  Status add_networks(std::vector<std::string>* campaign) const {
    for (const std::string& dim : options_.dims) {
      campaign->insert(campaign->end(), {"--dim", dim});
    }
    if (!options_.cover.empty()) {
      campaign->insert(campaign->end(), {"--network-share", std::string(kShareOfCover)});
    }
    campaign->push_back("--networks");
    campaign->insert(campaign->end(), options_.cover.begin(), options_.cover.end());
    for (size_t i = 0; options_.cover.empty() && i < kNetworks.size(); ++i) {
      DFSIM_ASSIGN_OR_RETURN(std::string path,
                             find_data_file(fmt::format("graphs/zoo/{}.onnx", kNetworks[i])));
      campaign->push_back(std::move(path));
    }
    return ok_status();
  }

  // Roofs alone train nothing: what would change a model must not be dropped without a word.
  Status check_options() const {
    if (options_.roofs != "only" || (options_.like.empty() && options_.cover.empty())) {
      return ok_status();
    }
    return invalid_input(fmt::format(
        "{} is of no use with --roofs only, which trains no model: leave one of them out",
        options_.like.empty() ? "--cover" : "--like"));
  }

  // A file that is missing is found before minutes are spent on roofs.
  Status check_cover() const {
    std::error_code error;
    for (const std::string& path : options_.cover) {
      if (!fs::is_regular_file(path, error)) {
        return not_found(
            fmt::format("--cover: {}: no such file, expected an ONNX model", printable(path)));
      }
    }
    return ok_status();
  }

  // `roofs` is a file, or "".
  Status collect(const std::string& roofs) {
    std::string threads;
    for (const int count : thread_counts()) {
      threads += fmt::format("{}{}", threads.empty() ? "" : ",", count);
    }
    DFSIM_RETURN_IF_ERROR(begin("measuring peaks"));
    std::vector<std::string> hardware = {
        python_, collector_,  "hardware", "-o",           options_.directory,       "--name",
        "host",  "--threads", threads,    "--cost-model", std::string(kModelFolder)};
    if (!roofs.empty()) {
      hardware.insert(hardware.end(), {"--roofs", roofs});
    }
    DFSIM_RETURN_IF_ERROR(run_program(hardware, "measuring peaks"));
    std::vector<std::string> campaign = {
        python_,
        collector_,
        "run",
        "-o",
        in("campaign"),
        "--minutes",
        fmt::format("{}", options_.minutes),
        "--threads",
        threads,
        "--batches",
        options_.batches.empty() ? "1" : join(options_.batches, ",")};
    DFSIM_RETURN_IF_ERROR(add_networks(&campaign));
    DFSIM_RETURN_IF_ERROR(begin(
        fmt::format("measuring operators and networks for {} minutes; leave the machine alone",
                    options_.minutes)));
    DFSIM_RETURN_IF_ERROR(
        run_program(campaign, "measuring (what was measured is kept: the same command goes on)"));
    DFSIM_ASSIGN_OR_RETURN(const Platform host, load_platform(in("host.yaml")));
    const std::string& model = host.devices[0].model;
    return run_program({python_, collector_, "export", in("campaign"), "--device",
                        model.substr(0, model.rfind(", ")), "-o", in("ops.csv.gz"), "--runs",
                        in("runs.csv"), "--overheads", in(kOverheadsFile)},
                       "writing the profile");
  }

  StatusOr<Calibration> train(Calibration calibration) {
    TrainOptions train;
    for (const int count : thread_counts()) {
      const bool most = count == thread_counts().back();
      calibration.hardware.push_back(in(most ? "host.yaml" : fmt::format("host-{}t.yaml", count)));
      DFSIM_ASSIGN_OR_RETURN(const Platform host, load_platform(calibration.hardware.back()));
      train.known_devices.push_back(host.devices[0]);
      DFSIM_RETURN_IF_ERROR(add_bare_device(calibration, count, host.devices[0].model, &train));
    }
    DFSIM_RETURN_IF_ERROR(begin("training"));
    ProfileInputs inputs;
    inputs.files = {in("ops.csv.gz")};
    DFSIM_ASSIGN_OR_RETURN(const LoadedProfiles loaded, load_profiles(inputs));
    DFSIM_ASSIGN_OR_RETURN(train.overheads, read_overheads(in(kOverheadsFile)));
    train.name = kModelFolder;
    train.dfsim_version = options_.dfsim_version;
    train.sources = loaded.sources;
    train.compact = true;
    calibration.model = in(kModelFolder);
    DFSIM_ASSIGN_OR_RETURN(const TrainReport report,
                           train_model(loaded.profile, train, calibration.model, {}));
    calibration.rows = report.manifest.rows_used;
    add_up(report.manifest, &calibration.held_out);
    DFSIM_RETURN_IF_ERROR(learn_another(inputs, std::move(train), &calibration));
    return calibration;
  }

  // Trains once more with the other CPU's operators: its kernels are the same, and it has shapes
  // that a short calibration lacks. The report has the errors of the first training, as those of
  // this one would be of both machines.
  Status learn_another(ProfileInputs inputs, TrainOptions train, Calibration* calibration) {
    if (options_.like.empty()) {
      return ok_status();
    }
    DFSIM_RETURN_IF_ERROR(begin(fmt::format("training with the operators of {}", options_.like)));
    inputs.files.push_back(like_ops_);
    DFSIM_ASSIGN_OR_RETURN(const LoadedProfiles loaded, load_profiles(inputs));
    DFSIM_ASSIGN_OR_RETURN(const Overheads known, read_overheads(like_overheads_));
    train.overheads.insert(train.overheads.end(), known.begin(), known.end());
    for (const DeviceSpec& own : train.known_devices) {
      train.lookup_devices.push_back(own.model);
    }
    train.sources = loaded.sources;
    train.max_rounds = kRoundsWithAnother;
    calibration->like = options_.like;
    return train_model(loaded.profile, train, calibration->model, {}).status();
  }

  // Predicts the networks that were measured, and fits the intervals to them. The model stands
  // without: the report names what hinders that.
  Status check_networks(Calibration* calibration) {
    ValidateOptions options;
    options.runs = in("runs.csv");
    for (const std::string& path : options_.cover) {
      options.networks.push_back(fs::path(path).parent_path().string());
    }
    // An earlier call in this folder may have measured those of the zoo.
    for (const std::string& data :
         options_.cover.empty() ? std::vector<std::string>() : data_dirs()) {
      options.networks.push_back(data + "/graphs/zoo");
    }
    options.hardware = calibration->hardware;
    const auto validation = validate_runs(options, progress_);
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

  const CalibrateOptions& options_;
  const Progress& progress_;
  std::string collector_;
  std::string like_ops_;  // of the other CPU, where one is wanted
  std::string like_overheads_;
  std::string python_;
  double begun_ = 0;  // steps
};

}  // namespace

StatusOr<Calibration> calibrate(const CalibrateOptions& options, const Progress& progress) {
  return Calibrator(options, progress).run();
}

}  // namespace dfsim::inline study
