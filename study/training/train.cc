#include "study/training/train.h"

#include <fmt/format.h>
#include <algorithm>
#include <thread>
#include <utility>

#include "base/io/output_file.h"
#include "hardware/platform_loader.h"
#include "opmodel/samples/overheads.h"

namespace dfsim::inline study {
namespace {

std::string hundredths(double fraction) { return fmt::format("{:.2f}", fraction * 100); }

std::string progress_line(const PartProgress& progress) {
  const ModelPart& part = *progress.part;
  std::string line =
      fmt::format("[{}/{}] {} {}: {} rows, {} rounds, {:.1f} s", progress.done, progress.total,
                  fmt::format("{} {}", op_class_name(part.op_class), part.kind),
                  timing_kind_name(part.timing), part.rows, part.rounds, progress.seconds);
  if (part.held_out.n > 0) {
    line += fmt::format(", held-out error {} % (median {} %)", hundredths(part.held_out.mape),
                        hundredths(part.held_out.median));
  }
  return line;
}

StatusOr<std::vector<DeviceSpec>> devices_of(const std::vector<std::string>& files) {
  std::vector<DeviceSpec> devices;
  for (const std::string& file : files) {
    DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(file));
    devices.insert(devices.end(), platform.devices.begin(), platform.devices.end());
  }
  return devices;
}

}  // namespace

StatusOr<TrainResult> train(const TrainRequest& request, const Progress& progress) {
  DFSIM_RETURN_IF_ERROR(progress.stage("reading profiles"));
  TrainResult result;
  DFSIM_ASSIGN_OR_RETURN(result.loaded, load_profiles(request.inputs));
  progress.decide("profiles", {{"rows", std::to_string(result.loaded.profile.size())},
                               {"dropped", result.loaded.drops.summary()},
                               {"other_devices", std::to_string(result.loaded.other_devices)}});
  TrainOptions options;
  options.name = request.name;
  options.dfsim_version = request.dfsim_version;
  options.device = request.inputs.device;
  options.extend = request.extend;
  if (!request.overheads.empty()) {
    DFSIM_ASSIGN_OR_RETURN(options.overheads, read_overheads(request.overheads));
  }
  DFSIM_ASSIGN_OR_RETURN(options.known_devices, devices_of(request.hardware));
  DFSIM_ASSIGN_OR_RETURN(options.bare_devices, devices_of(request.bare));
  options.seed = request.seed;
  options.threads = request.threads > 0
                        ? request.threads
                        : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  options.max_rounds = request.rounds;
  options.keep_lookup = request.keep_lookup;
  options.lookup_devices = request.lookup_devices;
  options.keep_rows = request.keep_rows;
  options.compact = request.compact;
  options.keep_drift = request.keep_drift;
  options.prior = request.prior;
  options.sources = result.loaded.sources;
  result.directory = request.directory.empty() ? request.extend : request.directory;
  if (result.directory.empty()) {
    return invalid_input("no place for the model: give -o DIR, or --extend DIR to add to a model");
  }
  DFSIM_RETURN_IF_ERROR(check_writable_directory(result.directory));
  DFSIM_RETURN_IF_ERROR(progress.stage("training"));
  DFSIM_ASSIGN_OR_RETURN(
      result.report,
      train_model(result.loaded.profile, options, result.directory, [&](const PartProgress& part) {
        progress.advance(static_cast<double>(part.done), static_cast<double>(part.total), "parts");
        progress.note(progress_line(part));
      }));
  return result;
}

}  // namespace dfsim::inline study
