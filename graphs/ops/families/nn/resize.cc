// Resize and Upsample.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "graphs/ops/families/layout/movement_rules.h"

namespace dfsim::inline graphs {
namespace {

// Resize (10, 11+), Upsample (1, 7, 9): scales or sizes, in attributes or inputs.
struct ResizeTarget {
  std::optional<std::vector<double>> scales;
  std::optional<std::vector<int64_t>> sizes;
};

ResizeTarget resize_target(const InferContext& context) {
  ResizeTarget target;
  const bool upsample = context.op().op_type == "Upsample";
  const bool early = upsample || context.version() < 11;
  const size_t scales_input = early ? 1 : 2;
  if (const ConstValue* scales = context.value(scales_input);
      scales != nullptr && scales->size() > 0) {
    target.scales.emplace();
    for (size_t i = 0; i < scales->size(); ++i) {
      target.scales->push_back(scales->as_double(i));
    }
  }
  if (!early && context.has_input(3)) {
    target.sizes = context.ints(3);
  }
  if (target.scales) {
    return target;
  }
  const AttrValue* attribute = context.attributes().find("scales");
  if (attribute != nullptr && std::holds_alternative<std::vector<double>>(*attribute)) {
    target.scales = std::get<std::vector<double>>(*attribute);
  } else if (const auto* whole = context.attributes().get_ints("scales")) {
    target.scales.emplace(whole->begin(), whole->end());  // ONNX Runtime's blocked form
  } else if (const auto height = context.attributes().get_float("height_scale")) {
    const double width = context.attributes().get_float("width_scale").value_or(1);
    target.scales = {1, 1, *height, width};  // opset 1
  }
  return target;
}

// Runtimes compute the extent in single precision and cut the fraction off: the float nearest to
// 0.7 times 10 is 7 there, but 6.9999999 in double precision.
float scaled_extent(int64_t extent, double scale) {
  return static_cast<float>(scale) * static_cast<float>(extent);
}

// Sizes under a policy are a frame: one scale for all resized axes fits the image into it
// (not_larger) or covers it (not_smaller). `axes` are valid. std::nullopt: an extent is unknown.
std::optional<std::vector<int64_t>> sizes_by_policy(const std::string& policy, const Shape& x,
                                                    const std::vector<int>& axes,
                                                    std::vector<int64_t> sizes) {
  const bool smallest = policy == "not_larger";
  float scale = smallest ? std::numeric_limits<float>::max() : 0.0F;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim dim = x[axes[i]];
    if (!dim.known() || dim.extent() == 0) {
      return std::nullopt;
    }
    const float own = static_cast<float>(sizes[i]) / static_cast<float>(dim.extent());
    scale = smallest ? std::min(scale, own) : std::max(scale, own);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const float extent = std::round(scaled_extent(x[axes[i]].extent(), scale));
    sizes[i] = static_cast<int64_t>(std::min(extent, static_cast<float>(kMaxExtent)));
  }
  return sizes;
}

}  // namespace

Status infer_resize(InferContext& context) {
  const Shape& x = context.shape(0);
  if (!x.has_rank()) {
    return ok_status();
  }
  const ResizeTarget target = resize_target(context);
  std::vector<int64_t> axes;
  if (const auto* given = context.attributes().get_ints("axes")) {
    axes = *given;
  } else {
    axes.resize(static_cast<size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  const size_t count = target.sizes    ? target.sizes->size()
                       : target.scales ? target.scales->size()
                                       : 0;
  Dims dims = count == 0 ? Dims(static_cast<size_t>(x.rank())) : x.dims();
  if (count != 0 && count != axes.size()) {
    return context.error(fmt::format("has {} sizes or scales for {} axes", count, axes.size()));
  }
  std::vector<int> resized;
  for (size_t i = 0; i < count; ++i) {
    DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(axes[i], x.rank()));
    resized.push_back(axis);
  }
  const std::string policy = context.attributes().string_or("keep_aspect_ratio_policy", "stretch");
  auto sizes = target.sizes;
  const bool keeps_ratio = sizes && (policy == "not_larger" || policy == "not_smaller");
  if (keeps_ratio) {
    sizes = sizes_by_policy(policy, x, resized, *sizes);
  }
  for (size_t i = 0; i < count; ++i) {
    Dim& dim = dims[static_cast<size_t>(resized[i])];
    if (target.sizes) {
      dim = !sizes || (*sizes)[i] < 0 ? Dim::unknown() : Dim((*sizes)[i]);
    } else if (dim.known()) {
      const float extent = scaled_extent(dim.extent(), (*target.scales)[i]);
      if (!(extent >= 0) || extent > 9e18F) {
        return context.error(
            fmt::format("scale {} of axis {} is out of range", (*target.scales)[i], resized[i]));
      }
      dim = Dim(static_cast<int64_t>(extent));
    }
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

std::optional<std::vector<double>> resize_scales(const InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& y = context.output_shape(0);
  if (!x.is_static() || !y.is_static() || x.rank() != y.rank()) {
    return std::nullopt;
  }
  const ResizeTarget target = resize_target(context);
  std::vector<double> scales(static_cast<size_t>(x.rank()), 1.0);
  std::vector<size_t> resized;
  const auto* given = context.attributes().get_ints("axes");
  for (int i = 0; i < x.rank(); ++i) {
    const auto axis = context.axis(given != nullptr && static_cast<size_t>(i) < given->size()
                                       ? (*given)[static_cast<size_t>(i)]
                                       : i,
                                   x.rank());
    if (axis.ok() && (given == nullptr || static_cast<size_t>(i) < given->size())) {
      resized.push_back(static_cast<size_t>(*axis));
    }
  }
  const size_t count = target.sizes    ? target.sizes->size()
                       : target.scales ? target.scales->size()
                                       : 0;
  if (count != resized.size()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i) {
    const auto extent = static_cast<double>(x[static_cast<int>(resized[i])].extent());
    scales[resized[i]] =
        target.sizes ? static_cast<double>((*target.sizes)[i]) / extent : (*target.scales)[i];
  }
  const std::string policy = context.attributes().string_or("keep_aspect_ratio_policy", "stretch");
  if (target.sizes && (policy == "not_larger" || policy == "not_smaller")) {
    double common = scales[resized[0]];
    for (const size_t axis : resized) {
      common =
          policy == "not_larger" ? std::min(common, scales[axis]) : std::max(common, scales[axis]);
    }
    for (const size_t axis : resized) {
      scales[axis] = common;
    }
  }
  return scales;
}

void work_resize(WorkContext& context) {
  const std::string mode = context.op().attributes.string_or("mode", "nearest");
  const int per_axis = mode == "linear" || mode == "bilinear" ? 2 : mode == "cubic" ? 4 : 0;
  const Tensor& out = context.first_output();
  double taps = 1;
  for (int i = 0; i < out.shape.rank(); ++i) {
    taps *= out.shape[i] == context.input(0).shape[i] ? 1 : std::max(per_axis, 1);
  }
  if (per_axis > 0) {
    context.add_flops(out.shape.elements(), 2 * taps);
  }
}

}  // namespace dfsim::inline graphs
