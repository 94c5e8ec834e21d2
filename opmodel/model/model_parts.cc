// Questions to a manifest about its parts and devices.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "opmodel/features/conv_gradient.h"
#include "opmodel/features/op_form.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/model/laws/conv_epilogue.h"
#include "opmodel/model/laws/cpu/plain_forms.h"
#include "opmodel/model/laws/cpu/sums_in_place.h"
#include "opmodel/model/laws/engine_kernels.h"
#include "opmodel/model/laws/neighbours/neighbour_dtypes.h"
#include "opmodel/model/laws/torch/serial_images.h"
#include "opmodel/model/laws/training_kernels.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

namespace {

double value_of(const std::vector<std::pair<std::string, double>>& pairs, std::string_view name,
                double otherwise) {
  const auto it = std::find_if(pairs.begin(), pairs.end(),
                               [&](const auto& entry) { return entry.first == name; });
  return it == pairs.end() ? otherwise : it->second;
}

const DeviceSpec* find_model(const std::vector<DeviceSpec>& devices, std::string_view model) {
  const auto it = std::find_if(devices.begin(), devices.end(),
                               [&](const DeviceSpec& device) { return device.model == model; });
  return it == devices.end() ? nullptr : &*it;
}

}  // namespace

const PartDevice* ModelPart::find_device(std::string_view model) const {
  const auto it = std::find_if(devices.begin(), devices.end(),
                               [&](const PartDevice& device) { return device.model == model; });
  return it == devices.end() ? nullptr : &*it;
}

double ModelPart::interval_scale(std::string_view model) const {
  const PartDevice* const device = find_device(model);
  return device == nullptr ? 1 : device->interval_scale;
}

void ModelPart::hide_devices() {
  constexpr std::string_view kDeviceFeatures[] = {"peak", "bandwidth", "l2", "units", "floor"};
  hidden.clear();
  for (size_t i = 0; i < features.size(); ++i) {
    if (std::find(std::begin(kDeviceFeatures), std::end(kDeviceFeatures), features[i]) !=
        std::end(kDeviceFeatures)) {
      hidden.push_back(i);
    }
  }
}

bool ModelPart::trained_on(DType dtype) const {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

bool ModelPart::knows_form(std::string_view wanted) const {
  const auto it =
      std::lower_bound(forms.begin(), forms.end(), wanted,
                       [](const auto& entry, std::string_view name) { return entry.first < name; });
  return forms.empty() ||
         (it != forms.end() && it->first == wanted && it->second >= kLeastShapesOfForm);
}

double ModelPart::kind_effect(std::string_view wanted) const {
  return value_of(kind_effects, wanted, 0);
}

double ModelManifest::repeat_noise() const {
  constexpr double kNormal80 = 1.2816;  // 80 % of a normal variable lie within so many deviations
  return std::log(repeat_high / repeat_low) / (2 * kNormal80);
}

const DeviceSpec* ModelManifest::find_device(std::string_view model) const {
  return find_model(devices, model);
}

const DeviceSpec* ModelManifest::find_bare_device(std::string_view model) const {
  return find_model(bare_devices, model);
}

double without_overhead_us(double time_us, double overhead_us) {
  constexpr double kLeastShare = 0.1;  // the overhead is a mean, which some operators do not reach
  return std::max(time_us - overhead_us, time_us * kLeastShare);
}

double ModelManifest::overhead_us(std::string_view model) const {
  return value_of(overheads_us, model, 0);
}

double ModelManifest::interval_scale(std::string_view model) const {
  return value_of(interval_scales, model, 1);
}

bool ModelManifest::knows_form(std::string_view form) const {
  return std::any_of(parts.begin(), parts.end(), [&](const ModelPart& part) {
    return !part.forms.empty() && part.knows_form(form);
  });
}

bool ModelManifest::has_kind(std::string_view kind) const {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const ModelPart& part) { return part.kind == kind; });
}

bool same_chip(const DeviceSpec& a, const DeviceSpec& b) {
  return a.compute_units == b.compute_units && a.l2_bytes == b.l2_bytes &&
         std::equal(a.peaks.begin(), a.peaks.end(), b.peaks.begin(), b.peaks.end(),
                    [](const PeakRate& x, const PeakRate& y) {
                      return x.dtype == y.dtype && x.flops_per_s == y.flops_per_s &&
                             x.matrix_flops_per_s == y.matrix_flops_per_s;
                    });
}

bool knows_gradient(const ModelManifest& manifest, const OpDescriptor& op) {
  return manifest.has_kind(geometry_of(op).kind) &&
         attribute_value(op.attributes, kChannelsLast) != "1";
}

// A form leaves the domain out, a kind the attributes.
bool knows_activation(const ModelManifest& manifest, const OpDescriptor& op) {
  const OpGeometry geometry = geometry_of(op);
  return manifest.has_kind(geometry.kind) && manifest.knows_form(op_form(op, geometry));
}

// Rows with PyTorch's coordinates are those of its serial kernel (serial_images.h).
bool knows_resizing(const ModelManifest& manifest, const OpDescriptor& op) {
  return attribute_value(op.attributes, "coordinates") != "pytorch_half_pixel" &&
         manifest.knows_form(op_form(op, geometry_of(op)));
}

std::vector<OpDescriptor> as_learned(const ModelManifest& manifest,
                                     std::span<const OpDescriptor> ops, DeviceType device) {
  const bool gpu = device == DeviceType::kGpu;
  const auto differs = [gpu](const OpDescriptor& op) {
    return (gpu && has_conv_epilogue(op)) || adds_in_place(op) || is_conv_gradient(op) ||
           is_training_norm(op) || (gpu && is_engine_kernel(op)) || has_serial_images(op) ||
           runs_as_fp32(op) || has_activation_twin(op) || (gpu && resizes_in_parallel(op));
  };
  if (std::none_of(ops.begin(), ops.end(), differs)) {
    return {};
  }
  std::vector<OpDescriptor> learned(ops.begin(), ops.end());
  for (OpDescriptor& op : learned) {
    if (gpu && has_conv_epilogue(op)) {
      op = without_conv_epilogue(op);
    }
    if (gpu && is_engine_kernel(op)) {
      op = without_engine(op);
    }
    if (gpu && resizes_in_parallel(op) && !knows_resizing(manifest, op)) {
      op = as_parallel_kernel(op);
    }
    if (adds_in_place(op)) {
      op = without_sum(op);
    }
    if (runs_as_fp32(op)) {
      op = as_fp32(op);
    }
    if (has_activation_twin(op) && !knows_activation(manifest, op)) {
      op = gpu ? without_activation_attributes(op) : activation_twin(op);
    }
    if (is_conv_gradient(op) && !knows_gradient(manifest, op)) {
      op = forward_convolution(op);
    } else if (is_training_norm(op)) {
      op.attributes.clear();  // profiles do not have these
    } else {
      remove_serial_mark(&op);
    }
  }
  return learned;
}

}  // namespace dfsim::inline opmodel
