#include "opmodel/train/training.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "base/cancellation.h"
#include "base/io/file.h"
#include "datasets/profiles/profile_io.h"
#include "datasets/profiles/statistics.h"
#include "hardware/sustained_rates.h"
#include "opmodel/model/intervals.h"
#include "opmodel/model/measured_times.h"
#include "opmodel/model/trained_model.h"
#include "opmodel/samples/drift.h"
#include "opmodel/samples/instance_effects.h"
#include "opmodel/samples/kept_devices.h"
#include "opmodel/samples/training_data.h"
#include "opmodel/samples/training_rows.h"
#include "opmodel/train/part_choice.h"
#include "opmodel/train/part_trainer.h"
#include "opmodel/trees/compact_trees.h"
#include "opmodel/trees/tree_file.h"
#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim::inline opmodel {

namespace {

namespace fs = std::filesystem;

// Trees fitted to fewer new shapes than this would forget more than they learn.
constexpr size_t kMinShapesToContinue = 200;
constexpr std::string_view kLookupFile = "lookup.bin";
constexpr std::string_view kRowsFile = "rows.csv.gz";
constexpr std::string_view kScalingFile = "scaling.bin";

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Processor time of this thread: other programs on the machine do not count.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Training {
 public:
  Training(const TrainOptions& options, const std::string& directory)
      : options_(options), directory_(directory) {}

  StatusOr<TrainReport> run(const Profile& profile,
                            const std::function<void(const PartProgress&)>& progress) {
    const auto start = std::chrono::steady_clock::now();
    profile_ = profile;
    DFSIM_RETURN_IF_ERROR(load_old());
    TrainingDataOptions data_options;
    data_options.device = options_.device;
    data_options.known_devices = options_.known_devices;
    if (old_ != nullptr && !old_->manifest().prior) {  // a prior has sustained rates
      const auto& old = old_->manifest().devices;
      data_options.known_devices.insert(data_options.known_devices.end(), old.begin(), old.end());
    }
    DFSIM_ASSIGN_OR_RETURN(data_, make_training_data(profile_, data_options));
    if (data_.samples.empty()) {
      return invalid_input(
          "no usable rows to train on; `dfsim profiles check` says why rows of a "
          "profile are left out");
    }
    if (options_.prior) {
      for (DeviceSpec& device : data_.devices) {
        data_.estimated.push_back(with_estimated_rates(device));
        device = with_sustained_rates(device);
      }
    }
    DFSIM_RETURN_IF_ERROR(check_overheads(options_.overheads, data_.devices));
    DFSIM_RETURN_IF_ERROR(check_bare_devices(options_.bare_devices, data_));
    DFSIM_RETURN_IF_ERROR(check_kept_devices(options_.lookup_devices, data_));
    if (!options_.prior) {  // whose rows are of single operators, not of networks
      report_.contradictions = mark_contradictions(profile_, &data_);
    }
    chosen_ = choose_parts(data_, parts_with_trees());
    for (ChosenPart& chosen : chosen_) {
      std::erase_if(chosen.samples, [this](uint32_t i) { return data_.samples[i].contradicts; });
    }
    take_over_old_parts();
    DFSIM_RETURN_IF_ERROR(remove_drifts());
    fit_all(progress);
    rows_used_ = static_cast<int64_t>(data_.samples.size());
    DFSIM_RETURN_IF_ERROR(write());
    report_.estimated_devices = data_.estimated_devices;
    report_.drops = data_.drops;
    report_.seconds = seconds_since(start);
    return std::move(report_);
  }

 private:
  Status load_old() {
    if (options_.extend.empty()) {
      return ok_status();
    }
    DFSIM_ASSIGN_OR_RETURN(old_, TrainedModel::load(options_.extend));
    old_data_ = old_->manifest().data;
    old_bare_devices_ = old_->manifest().bare_devices;
    if (old_->manifest().rows_file.empty()) {
      report_.continued = true;
      return ok_status();
    }
    const std::string path = fmt::format("{}/{}", options_.extend, old_->manifest().rows_file);
    DropReport drops;
    DFSIM_ASSIGN_OR_RETURN(Profile rows, read_profile(path, &drops));
    rows.append(profile_);
    profile_ = std::move(rows);
    old_.reset();  // everything is retrained
    return ok_status();
  }

  std::set<PartKey> parts_with_trees() const {
    std::set<PartKey> keys;
    if (old_ != nullptr) {
      for (const ModelPart& part : old_->manifest().parts) {
        if (!part.file.empty()) {
          keys.insert(part_key(part));
        }
      }
    }
    return keys;
  }

  void take_over_old_parts() {
    if (old_ == nullptr) {
      return;
    }
    const std::set<PartKey> known = parts_with_trees();
    std::erase_if(chosen_, [&](const ChosenPart& chosen) {
      return known.contains(part_key(chosen.part)) && chosen.shapes < kMinShapesToContinue;
    });
    for (ChosenPart& chosen : chosen_) {
      for (const ModelPart& part : old_->manifest().parts) {
        if (part_key(part) == part_key(chosen.part) && !part.file.empty() &&
            part.features == chosen.part.features) {
          auto bytes = read_file(fmt::format("{}/{}", options_.extend, part.file), 1 << 30);
          if (bytes.ok() && checksum64(*bytes) == part.checksum) {
            chosen.part = part;
            set_trees_to_go_on_from(std::move(bytes).value(), &chosen);
          } else {
            chosen.status = invalid_input(
                fmt::format("{}/{}: missing or damaged; restore it or retrain the model",
                            options_.extend, part.file));
          }
        }
      }
    }
  }

  // XGBoost knows its own layout only.
  static void set_trees_to_go_on_from(std::string bytes, ChosenPart* chosen) {
    auto trees = in_xgboost_layout(std::move(bytes), chosen->part.file);
    chosen->status = trees.status();
    chosen->continue_from = trees.ok() ? std::move(trees).value() : "";
  }

  // Only eager ops timed one after the other show a slowing host.
  Status remove_drifts() {
    for (ChosenPart& chosen : chosen_) {
      if (!options_.keep_drift && chosen.part.timing == TimingKind::kLaunchInclusive &&
          chosen.part.kind != kAnyKind) {
        DFSIM_ASSIGN_OR_RETURN(const auto drifts,
                               remove_drift(chosen.part, chosen.samples, options_.seed, &data_));
        for (const DriftReport& drift : drifts) {
          chosen.part.drifts.emplace_back(drift.device, drift.end_us);
        }
      }
    }
    return ok_status();
  }

  void fit_all(const std::function<void(const PartProgress&)>& progress) {
    // Long jobs first keeps both threads busy to the end.
    std::vector<size_t> order(chosen_.size());
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return chosen_[a].shapes > chosen_[b].shapes; });
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    size_t done = 0;
    const auto work = [&] {
      for (size_t i = next++; i < order.size(); i = next++) {
        ChosenPart& chosen = chosen_[order[i]];
        fit_one(&chosen);
        const std::lock_guard lock(mutex);
        ++done;
        if (progress) {
          progress({&chosen.fitted.part, done, chosen_.size(), chosen.seconds});
        }
      }
    };
    run_on_threads(static_cast<size_t>(std::max(options_.threads, 1)), work);
  }

  void fit_one(ChosenPart* chosen) const {
    if (!chosen->status.ok()) {
      return;
    }
    const double start = thread_seconds();
    FitOptions fit;
    fit.seed = options_.seed;
    fit.prior = options_.prior;
    fit.max_rounds = options_.max_rounds;
    fit.continue_from = chosen->continue_from;
    auto fitted = fit_part(chosen->part, data_, chosen->samples, fit);
    chosen->status = fitted.status();
    if (fitted.ok()) {
      chosen->fitted = std::move(fitted).value();
    }
    chosen->seconds = thread_seconds() - start;
  }

  Status write() {
    std::error_code error;
    fs::create_directories(directory_, error);
    if (error) {
      return failed(fmt::format("{}: cannot be created: {}", directory_, error.message()));
    }
    remove_stale_files();
    ModelManifest& manifest = report_.manifest;
    for (ChosenPart& chosen : chosen_) {
      if (!chosen.status.ok()) {
        return chosen.status.with_place(
            fmt::format("{} {}", op_class_name(chosen.part.op_class), chosen.part.kind));
      }
      ModelPart part = chosen.fitted.part;
      if (!chosen.fitted.trees.empty()) {
        part.file = part_file_name(part);
        if (options_.compact) {
          DFSIM_ASSIGN_OR_RETURN(const TreeFile trees, read_trees(chosen.fitted.trees, part.file));
          chosen.fitted.trees = compact_trees(trees);
        }
        part.checksum = checksum64(chosen.fitted.trees);
        DFSIM_RETURN_IF_ERROR(
            write_file(fmt::format("{}/{}", directory_, part.file), chosen.fitted.trees));
      }
      manifest.parts.push_back(std::move(part));
      report_.part_seconds.push_back(chosen.seconds);
    }
    DFSIM_RETURN_IF_ERROR(keep_other_old_parts());
    describe();
    find_unseen_forms();
    DFSIM_RETURN_IF_ERROR(write_tables());
    if (options_.keep_rows) {
      manifest.rows_file = kRowsFile;
      DFSIM_RETURN_IF_ERROR(write_profile(profile_, fmt::format("{}/{}", directory_, kRowsFile)));
    }
    return write_manifest(directory_, report_.manifest);
  }

  // One interval for the foreign forms of all parts: most parts have too few forms to tell.
  void find_unseen_forms() {
    std::vector<Residual> residuals;
    for (const ChosenPart& chosen : chosen_) {
      residuals.insert(residuals.end(), chosen.fitted.unseen_forms.begin(),
                       chosen.fitted.unseen_forms.end());
    }
    if (!residuals.empty()) {
      report_.manifest.unseen_forms = interval_table(std::move(residuals));
    } else if (old_ != nullptr) {
      report_.manifest.unseen_forms = old_->manifest().unseen_forms;
    }
  }

  // Files of an earlier model; an extended one is read by now.
  void remove_stale_files() const {
    const auto before = TrainedModel::load(directory_);
    if (!before.ok() || directory_ == options_.extend) {
      return;
    }
    for (const ModelPart& part : (*before)->manifest().parts) {
      std::error_code error;
      if (!part.file.empty()) {
        fs::remove(fs::path(directory_) / part.file, error);
      }
    }
  }

  Status keep_other_old_parts() {
    if (old_ == nullptr) {
      return ok_status();
    }
    std::set<PartKey> fitted;
    for (const ModelPart& part : report_.manifest.parts) {
      fitted.insert(part_key(part));
    }
    for (const ModelPart& part : old_->manifest().parts) {
      if (fitted.contains(part_key(part))) {
        continue;
      }
      if (!part.file.empty() && directory_ != options_.extend) {
        DFSIM_ASSIGN_OR_RETURN(
            const std::string bytes,
            read_file(fmt::format("{}/{}", options_.extend, part.file), 1 << 30));
        DFSIM_RETURN_IF_ERROR(write_file(fmt::format("{}/{}", directory_, part.file), bytes));
      }
      report_.manifest.parts.push_back(part);
      report_.part_seconds.push_back(0);
    }
    return ok_status();
  }

  // Measured times of throttled boards would answer for healthy ones.
  void forget_throttled() {
    std::set<std::tuple<std::string, std::string, OpClass, std::string>> throttled;
    for (const ModelPart& part : report_.manifest.parts) {
      for (const RecordingEffect& effect : part.recordings) {
        if (effect.throttled) {
          throttled.emplace(effect.device, effect.recording, part.op_class, part.kind);
        }
      }
    }
    std::erase_if(data_.samples, [&](const Sample& sample) {
      return throttled.contains({data_.devices[sample.device].model,
                                 data_.recordings[sample.recording], data_.ops[sample.op].op_class,
                                 data_.geometries[sample.op].kind});
    });
  }

  Status write_tables() {
    forget_throttled();
    keep_devices(options_.lookup_devices, &data_);
    std::map<uint64_t, std::vector<double>> repeats;
    std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> scaled;
    for (const Sample& sample : data_.samples) {
      const std::string& device = data_.devices[sample.device].model;
      repeats[lookup_key(data_.geometries[sample.op], device, sample.timing)].push_back(
          sample.time_us);
      if (sample.network != 0 && !sample.contradicts) {
        scaled[{sample.op, sample.device}].push_back(sample.time_us);
      }
    }
    if (const auto factors = repeat_factors(repeats)) {
      std::tie(report_.manifest.repeat_low, report_.manifest.repeat_high) = *factors;
    }
    ScalingTable scaling = old_ != nullptr ? old_->scaling() : ScalingTable();
    if (options_.keep_lookup) {
      DFSIM_RETURN_IF_ERROR(write_lookup(repeats));
      for (auto& [key, times] : scaled) {
        scaling.add(data_.ops[key.first], data_.devices[key.second].model, median(times),
                    times.size());
      }
      for (const auto& [instance, effect] : instance_effects(data_)) {
        scaling.add_effect(instance, effect);
      }
    }
    ModelManifest& manifest = report_.manifest;
    if (scaling.size() > 0) {
      manifest.scaling_file = kScalingFile;
      DFSIM_ASSIGN_OR_RETURN(manifest.scaling_checksum,
                             write_table(kScalingFile, scaling.serialize()));
    }
    return ok_status();
  }

  // The parts written by now contribute to it.
  Status write_lookup(const std::map<uint64_t, std::vector<double>>& measured) {
    ModelManifest& manifest = report_.manifest;
    DFSIM_RETURN_IF_ERROR(write_manifest(directory_, report_.manifest));
    DFSIM_ASSIGN_OR_RETURN(const auto trees, TrainedModel::load(directory_));
    DFSIM_ASSIGN_OR_RETURN(auto entries, measured_times(data_, *trees));
    if (old_ != nullptr) {
      for (const auto& [key, time] : old_->lookup().entries()) {
        if (!measured.contains(key)) {
          entries.emplace_back(key, time);
        }
      }
    }
    manifest.lookup_file = kLookupFile;
    DFSIM_ASSIGN_OR_RETURN(manifest.lookup_checksum,
                           write_table(kLookupFile, LookupTable(std::move(entries)).serialize()));
    return ok_status();
  }

  StatusOr<uint64_t> write_table(std::string_view file, const std::string& bytes) const {
    DFSIM_RETURN_IF_ERROR(write_file(fmt::format("{}/{}", directory_, file), bytes));
    return checksum64(bytes);
  }

  void describe() {
    ModelManifest& manifest = report_.manifest;
    manifest.name = !options_.name.empty()
                        ? options_.name
                        : fs::path(directory_).lexically_normal().filename().string();
    manifest.dfsim_version = options_.dfsim_version;
    manifest.xgboost_version = xgboost_version();
    manifest.seed = options_.seed;
    manifest.prior = options_.prior;
    manifest.rows_used = rows_used_;
    manifest.rows_dropped = data_.drops.total();
    manifest.devices = data_.devices;
    manifest.bare_devices = with_devices_of_before(options_.bare_devices, old_bare_devices_);
    manifest.overheads_us = options_.overheads;
    if (old_ != nullptr) {
      const ModelManifest& old = old_->manifest();
      manifest.rows_used += old.rows_used;
      manifest.rows_dropped += old.rows_dropped;
      for (const DeviceSpec& device : old.devices) {
        if (manifest.find_device(device.model) == nullptr) {
          manifest.devices.push_back(device);
          if (old.overhead_us(device.model) > 0) {
            manifest.overheads_us.emplace_back(device.model, old.overhead_us(device.model));
          }
        }
      }
    }
    manifest.data = old_data_;
    manifest.data.insert(manifest.data.end(), options_.sources.begin(), options_.sources.end());
  }

  const TrainOptions& options_;
  const std::string& directory_;
  Profile profile_;
  std::unique_ptr<TrainedModel> old_;  // only while its trees are to be kept
  std::vector<DataSource> old_data_;
  std::vector<DeviceSpec> old_bare_devices_;  // of the model to extend
  TrainingData data_;
  int64_t rows_used_ = 0;
  std::vector<ChosenPart> chosen_;
  TrainReport report_;
};

}  // namespace

StatusOr<TrainReport> train_model(const Profile& profile, const TrainOptions& options,
                                  const std::string& directory,
                                  const std::function<void(const PartProgress&)>& progress) {
  return Training(options, directory).run(profile, progress);
}

}  // namespace dfsim::inline opmodel
