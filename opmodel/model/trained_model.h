// TrainedModel: a directory that `dfsim train` wrote, answering as a CostModel.
//
// For each op, in this order: the measured time of this very shape (kMeasured); between two
// measured batch sizes of the same op, or the trees of its class, inside the training range
// (kPredicted); the trees or the class's median efficiency outside of it (kExtrapolated); what
// other devices teach (kPrior, set_prior()), or without a prior the speed-of-light bound
// (kBoundOnly), when nothing is known of the class. CostModel::predict gives
// device time (kernels only), without what measuring added (ModelManifest::overheads_us), which
// predict_as() leaves in. Measurements that include the launch lose it: their floor less the
// device's own least kernel time. Boards with the chip of a device that was measured (equal units,
// cache and peak rates) count as that device, with their own bandwidth; only measured shapes are
// not shared. A CPU without rows is extrapolated from those with rows (laws/other_cpus.h). Loading
// reads the manifest and the tables; trees are read when their class is first asked for. predict()
// is thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "opmodel/cost_model.h"
#include "opmodel/model/laws/other_cpus.h"
#include "opmodel/model/lookup_table.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/model/part_model.h"
#include "opmodel/model/scaling_table.h"

namespace dfsim::inline opmodel {

struct ModelAnswer {
  double time_us = 0;
  double low_us = 0;
  double high_us = 0;
  CostSource source = CostSource::kBoundOnly;
  Bound bound = Bound::kNone;
  int part = -1;  // index into manifest().parts, -1 = none
};

class TrainedModel : public CostModel {
 public:
  // Errors: kNotFound (no such directory or manifest), kInvalidInput (manifest or tables damaged or
  // of a newer version).
  static StatusOr<std::unique_ptr<TrainedModel>> load(const std::string& directory);
  // Without the times of measured shapes and sizes, in a quarter of the time. Errors as load()'s.
  static StatusOr<std::unique_ptr<TrainedModel>> load_trees(const std::string& directory);

  std::string_view name() const override { return manifest_.name; }
  // Error: kInvalidInput when a part's file is damaged.
  Status predict(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                 std::span<OpCost> out) const override;

  double interval_scale(const DeviceSpec& device) const override {
    return manifest_.interval_scale(device.model);
  }
  double common_spread(const DeviceSpec& device) const override {
    return other_cpu_spread(manifest_, device);
  }

  struct Query {
    TimingKind timing = TimingKind::kKernelOnly;  // what the answers should span
    bool use_lookup = true;
  };
  // As predict(), for a kind of timing. `geometries` are those of `ops`.
  StatusOr<std::vector<ModelAnswer>> predict_as(std::span<const OpDescriptor> ops,
                                                std::span<const OpGeometry> geometries,
                                                const DeviceSpec& device, const Query& query) const;
  // Answers by `prior`, a model with ModelManifest::prior, where this one knows nothing of the
  // class or of the dtype.
  void set_prior(std::shared_ptr<const TrainedModel> prior) { prior_ = std::move(prior); }
  // The folder of a model whose device's kernels were measured alone (laws/small_kernels.h). It is
  // loaded when first needed.
  void set_reference(std::string directory) { reference_directory_ = std::move(directory); }
  // Whether predict() answers with the times of measured shapes; true unless set.
  void set_use_lookup(bool use_lookup) { use_lookup_ = use_lookup; }
  // This shape was measured on this device with this kind of timing.
  bool has_measured(const OpGeometry& geometry, const DeviceSpec& device, TimingKind timing) const;
  const ModelManifest& manifest() const { return manifest_; }
  const LookupTable& lookup() const { return lookup_; }
  const ScalingTable& scaling() const { return scaling_; }
  const std::string& directory() const { return directory_; }

 private:
  TrainedModel() = default;
  std::optional<double> measured_us(const OpGeometry& geometry, const DeviceSpec& device,
                                    TimingKind timing) const;
  int choose_part(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device,
                  TimingKind timing) const;
  const std::string& known_name(const ModelPart& part, const DeviceSpec& device) const;
  // `device` under that name.
  DeviceSpec as_known(const ModelPart& part, const DeviceSpec& device) const;
  double launch_overhead_us(const ModelPart* part, const DeviceSpec& device) const;
  Status predict_with_part(size_t part, std::span<const uint32_t> which,
                           std::span<const OpDescriptor> ops,
                           std::span<const OpGeometry> geometries, const DeviceSpec& device,
                           const Query& query, std::span<ModelAnswer> out) const;
  bool take_launch_off(int part, const OpGeometry& geometry, const DeviceSpec& device,
                       ModelAnswer* out) const;
  void blend_scaling(const OpDescriptor& op, const DeviceSpec& device, ModelAnswer* out) const;
  StatusOr<const Forest*> forest(size_t part) const;

  std::string directory_;
  ModelManifest manifest_;
  LookupTable lookup_;
  ScalingTable scaling_;
  bool knows(const ModelAnswer& answer, const OpGeometry& geometry) const;
  void answer_by_bound(const OpDescriptor& op, const DeviceSpec& device, const Query& query,
                       ModelAnswer* out) const;
  Status ask_prior(std::span<const OpDescriptor> ops, std::span<const OpGeometry> geometries,
                   const DeviceSpec& device, std::span<ModelAnswer> answers) const;

  // predict() before operators are compared with others.
  Status predict_alone(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                       std::span<OpCost> out) const;
  Status ask_dtypes(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                    std::span<OpCost> out) const;
  Status ask_larger(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                    std::span<OpCost> out) const;
  Status ask_other_boards(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                          std::span<OpCost> out) const;
  Status ask_reference(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                       std::span<OpCost> out) const;
  bool has_no_rows(const OpDescriptor& op, const DeviceSpec& device, const OpCost& cost) const;
  bool scatters_by_launch(const OpDescriptor& op, const DeviceSpec& device,
                          const OpCost& cost) const;
  StatusOr<const TrainedModel*> reference() const;

  bool use_lookup_ = true;
  std::shared_ptr<const TrainedModel> prior_;
  std::string reference_directory_;
  mutable std::unique_ptr<const TrainedModel> reference_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Forest>> forests_;
};

}  // namespace dfsim::inline opmodel
