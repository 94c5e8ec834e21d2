// Resize and Upsample.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  const AttrValue* attribute = context.attributes().find("scales");
  if (!target.scales && attribute != nullptr &&
      std::holds_alternative<std::vector<double>>(*attribute)) {
    target.scales = std::get<std::vector<double>>(*attribute);
  }
  return target;
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
  for (size_t i = 0; i < count; ++i) {
    DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(axes[i], x.rank()));
    Dim& dim = dims[static_cast<size_t>(axis)];
    if (target.sizes) {
      dim = (*target.sizes)[i] < 0 ? Dim::unknown() : Dim((*target.sizes)[i]);
    } else if (dim.known()) {
      const double extent = std::floor(static_cast<double>(dim.extent()) * (*target.scales)[i]);
      if (!(extent >= 0) || extent > 9e18) {
        return context.error(
            fmt::format("scale {} of axis {} is out of range", (*target.scales)[i], axis));
      }
      dim = Dim(static_cast<int64_t>(extent));
    }
  }
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
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
