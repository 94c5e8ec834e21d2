// ModelManifest: what a directory with a trained cost model holds (manifest.json).
//
// A model is parts: one ensemble of trees per (class, kind, family, kind of timing) with enough
// rows, and one per class for everything else ("*"). The manifest says what each part was trained
// on, so that a prediction knows when it leaves that ground. Format: docs/reference/cost-models.md.
// Errors (kInvalidInput): not JSON, a missing or ill-typed field (named), a newer version.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "datasets/profiles/profile.h"
#include "hardware/platform.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

inline constexpr int kModelFormatVersion = 1;
inline constexpr std::string_view kManifestFile = "manifest.json";
// Fewer distinct shapes of a form than this do not teach it.
inline constexpr int64_t kLeastShapesOfForm = 5;
// The kind of a part that serves every kind of its class.
inline constexpr std::string_view kAnyKind = "*";

// Errors of predictions against measurements, as fractions.
struct ErrorStats {
  int64_t n = 0;
  double mape = 0;
  double median = 0;
  double p90 = 0;
  double bias = 0;      // (sum of predictions - sum of times) / sum of times
  double interval = 0;  // share of rows inside their 80 % interval
};

// Low and high factor on a prediction, by predicted time: entry i serves times below edges_us[i],
// the last one all longer ones.
struct IntervalTable {
  std::vector<double> edges_us;
  std::vector<double> low;
  std::vector<double> high;
};

// Statistics of a device in the training rows of one part.
struct PartDevice {
  std::string model;
  double floor_us = 0;  // least time of this kind of op, launch included where it was measured
  int64_t rows = 0;
  // A factor on the logarithms of the part's interval: how much wider errors on this device spread
  // than those that the interval was made of.
  double interval_scale = 1;
  // Only of a prior's devices, to guess the floor of another one: DeviceSpec::clock_hz, and the
  // rate of one compute unit in 16-bit products. 0: not known.
  double clock_hz = 0;
  double unit_flops_per_s = 0;
};

// How the times of one recording (a file of measurements) on a device differ from what the part
// predicts for that device (train/recording_effects.h).
struct RecordingEffect {
  std::string device;
  std::string recording;
  int64_t rows = 0;
  double log_effect = 0;   // median of ln(time / prediction) against the reference recording
  bool throttled = false;  // too slow for a healthy board: not what the part predicts
};

struct ModelPart {
  OpClass op_class = OpClass::kOpaque;
  std::string kind;
  Family family = Family::kGeneric;
  TimingKind timing = TimingKind::kUnknown;
  std::string file;  // UBJ next to the manifest; "" = too few rows for trees, median only
  uint64_t checksum = 0;
  int64_t rows = 0;
  int rounds = 0;
  std::vector<std::string> features;
  // Columns that a prior leaves 0: they tell devices apart, and the next one is another.
  std::vector<size_t> hidden;
  std::vector<PartDevice> devices;
  std::vector<DType> dtypes;
  std::vector<std::pair<double, double>> ranges;  // of ln(1 + dims), by dims index
  double median_log_ratio = 0;                    // of time over base
  // For parts of any kind: mean of ln(time / base) of each kind over that of all.
  std::vector<std::pair<std::string, double>> kind_effects;
  // Devices whose times grew with the order of measurement, and by how many us in the end
  // (drift.h).
  std::vector<std::pair<std::string, double>> drifts;
  // Devices that were recorded more than once.
  std::vector<RecordingEffect> recordings;
  // The trees have a column that says which recording a row is of; predictions leave it 0, the
  // healthy one.
  bool recording_column = false;
  // The base has the arm of the slowest compute unit (features/attention_waves.h) and knows which
  // repeated operators stay in the cache (repeated_memory_us()): a prior's does, but for those that
  // were trained before.
  bool slowest_unit = false;
  // Rows of products that are not aligned (unaligned_products.h). Without any, a law answers.
  int64_t unaligned_rows = 0;
  // Only a prior has these: errors on each device by trees that were fitted to the others.
  std::vector<std::pair<std::string, ErrorStats>> left_out;
  IntervalTable intervals;
  // Forms of the rows (features/op_form.h) and the number of distinct shapes of each, by name.
  // Sorted. Empty: not known, as in models of earlier versions, and then no form is foreign.
  std::vector<std::pair<std::string, int64_t>> forms;
  ErrorStats held_out;
  ErrorStats held_out_baseline;                            // bound times the median ratio
  std::vector<std::pair<std::string, double>> importance;  // the strongest features

  const PartDevice* find_device(std::string_view model) const;
  // PartDevice::interval_scale, 1 for other devices.
  double interval_scale(std::string_view model) const;
  // Fills `hidden`.
  void hide_devices();
  bool trained_on(DType dtype) const;
  // Enough rows have this form, or forms are not known.
  bool knows_form(std::string_view form) const;
  double kind_effect(std::string_view kind) const;
};

struct DataSource {
  std::string file;  // name without folders
  std::string checksum;
  int64_t rows = 0;
};

struct ModelManifest {
  std::string name;
  std::string dfsim_version;
  std::string xgboost_version;
  uint64_t seed = 0;
  std::vector<DataSource> data;
  int64_t rows_used = 0;
  int64_t rows_dropped = 0;
  std::vector<DeviceSpec> devices;  // model and rates only
  // The same CPUs as `dfsim calibrate --roofs only` sees them; may be empty. A hardware file from
  // roofs alone compares with these rates, not with those of `devices`.
  std::vector<DeviceSpec> bare_devices;
  // The time that measuring added, by device: all learned times contain it, and predictions
  // subtract it.
  std::vector<std::pair<std::string, double>> overheads_us;
  // Learned over many devices to answer for others (prior_model.h): all rates are sustained ones.
  bool prior = false;
  // CostModel::interval_scale(), by device.
  std::vector<std::pair<std::string, double>> interval_scales;
  // 80 % interval of an operator in a form that its part was not trained on, by leaving the rows of
  // whole forms out (train/form_residuals.h). No factors: not known.
  IntervalTable unseen_forms;
  // 80 % of single measurements lie between these factors of their shape's median.
  double repeat_low = 0.97;
  double repeat_high = 1.03;
  std::string rows_file;  // the rows it was trained on; "" = not kept
  std::string lookup_file;
  uint64_t lookup_checksum = 0;
  std::string scaling_file;  // "" = none
  uint64_t scaling_checksum = 0;
  std::vector<ModelPart> parts;

  // The noise of a single measurement that follows from these: standard deviation of its logarithm.
  double repeat_noise() const;
  // Whether a part learned that kind of operator on its own.
  bool has_kind(std::string_view kind) const;
  bool knows_form(std::string_view form) const;  // some part that lists its forms does
  const DeviceSpec* find_device(std::string_view model) const;
  const DeviceSpec* find_bare_device(std::string_view model) const;  // null: not known
  double overhead_us(std::string_view model) const;                  // 0 for other devices
  double interval_scale(std::string_view model) const;               // 1 for other devices
};

// Takes the overhead of measuring (overhead_us()) off a time. At least a tenth is left.
double without_overhead_us(double time_us, double overhead_us);

// Manifest of a folder that `dfsim train` wrote. Errors: kNotFound, kInvalidInput.
StatusOr<ModelManifest> read_manifest(const std::string& directory);
Status write_manifest(const std::string& directory, const ModelManifest& manifest);

// `place` names the file in messages.
StatusOr<ModelManifest> parse_manifest(std::string_view text, std::string_view place);
// Pretty-printed JSON, keys sorted; equal manifests give equal text.
std::string format_manifest(const ModelManifest& manifest);

// Whether both are boards of one chip, perhaps with other clocks and memories.
bool same_chip(const DeviceSpec& a, const DeviceSpec& b);

// Whether a part learned such gradients of a convolution. Profiles have them on channels first:
// with the channels last, cuDNN's kernels for filters of one channel take several times as long.
bool knows_gradient(const ModelManifest& manifest, const OpDescriptor& op);

// `ops` as a model of that manifest is asked about them: gradients that no part learned become the
// convolution with the same work; normalisations of training steps and resized images lose the
// marks that only dfsim's own graphs have; on GPUs, a convolution loses what its kernel does to
// results before it stores them. Empty where there are none.
std::vector<OpDescriptor> as_learned(const ModelManifest& manifest,
                                     std::span<const OpDescriptor> ops, DeviceType device);

}  // namespace dfsim::inline opmodel
