// Factor rules of convolutions and pooling: batch, channels, groups and, with halos, space.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/runtime_ops.h"

namespace dfsim::inline graphs {
namespace {

std::vector<int64_t> list_or(const FactorContext& context, std::string_view name, size_t count,
                             int64_t fallback) {
  const auto* list = context.attributes().get_ints(name);
  return list != nullptr && list->size() == count ? *list : std::vector<int64_t>(count, fallback);
}

// Windows of one spatial axis: where the first begins and how far they reach.
struct Axis {
  int64_t in = 0;
  int64_t out = 0;
  int64_t stride = 1;
  int64_t reach = 1;  // elements from a window's first to its last tap
  int64_t before = 0;
  int64_t after = 0;
};

std::vector<Axis> window_axes(const FactorContext& context, const std::vector<int64_t>& kernel) {
  const size_t spatial = kernel.size();
  const std::vector<int64_t> strides = list_or(context, "strides", spatial, 1);
  const std::vector<int64_t> dilations = list_or(context, "dilations", spatial, 1);
  const std::vector<int64_t> pads = list_or(context, "pads", spatial * 2, 0);
  const std::string mode = context.attributes().string_or("auto_pad", "NOTSET");
  std::vector<Axis> axes(spatial);
  for (size_t s = 0; s < spatial; ++s) {
    Axis& axis = axes[s];
    axis.in = context.in_extent(0, static_cast<int>(s) + 2);
    axis.out = context.out_extent(0, static_cast<int>(s) + 2);
    axis.stride = strides[s];
    axis.reach = (kernel[s] - 1) * dilations[s] + 1;
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const int64_t total =
          std::max<int64_t>(0, (axis.out - 1) * axis.stride + axis.reach - axis.in);
      axis.before = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      axis.after = total - axis.before;
    } else if (mode != "VALID") {
      axis.before = pads[s];
      axis.after = pads[s + spatial];
    }
  }
  return axes;
}

// Adds a halo factor for each axis whose shards are equal on both sides: in = out * stride. Then
// shard r owns in/p elements and its windows begin `before` of them earlier.
void add_space(FactorContext& context, const std::vector<Axis>& axes, HaloFill fill) {
  FactorMap& map = context.map();
  for (size_t s = 0; s < axes.size(); ++s) {
    const Axis& axis = axes[s];
    map.pads.push_back(axis.before);
    const bool even = axis.in == axis.out * axis.stride && axis.before >= 0 &&
                      axis.before < std::max<int64_t>(axis.reach, 1) && axis.after >= 0;
    if (!even) {
      continue;
    }
    const int dim = static_cast<int>(s) + 2;
    const int factor = context.add(fmt::format("space{}", s), axis.out);
    if (factor == FactorDim::kWhole) {
      continue;
    }
    context.carry_in(0, dim, factor, axis.stride);
    context.carry_out(0, dim, factor);
    context.carry_out(1, dim, factor);
    const int64_t after = std::max<int64_t>(0, axis.reach - axis.stride - axis.before);
    map.factors[static_cast<size_t>(factor)].halo = static_cast<int>(map.halos.size());
    map.halos.push_back({0, dim, static_cast<int>(s), axis.before, after, fill});
  }
  for (const Axis& axis : axes) {
    map.pads.push_back(axis.after);
  }
}

// Where a convolution or pool has what it slides over: the channels behind the batch, or last.
struct Layout {
  int channels = 1;
  int space = 2;
};

Layout layout_of(const FactorContext& context) {
  const bool last = context.op().op_type.starts_with("Nhwc") ||
                    context.attributes().int_or("channels_last", 0) != 0;
  return last ? Layout{context.input(0).rank() - 1, 1} : Layout{};
}

// A channel axis in groups: each group's channels stay together. Returns the factor of the groups.
int add_groups(FactorContext& context, int64_t group, int channels, size_t weight, size_t bias,
               bool transposed) {
  const int groups = context.add("group", group);
  const int64_t in = context.in_extent(0, channels) / group;
  const int64_t out = context.out_extent(0, channels) / group;
  context.carry_in(0, channels, groups, in);
  context.carry_in(weight, 0, groups, transposed ? in : out);
  context.carry_in(bias, 0, groups, out);
  context.carry_out(0, channels, groups, out);
  context.map().divided_attributes.emplace_back("group", groups);
  return groups;
}

std::vector<int64_t> kernel_of(const FactorContext& context, size_t weight) {
  std::vector<int64_t> kernel;
  for (int dim = 2; dim < context.input(weight).rank(); ++dim) {
    kernel.push_back(context.in_extent(weight, dim));
  }
  return kernel;
}

// The operands of a convolution by its kind; SIZE_MAX: it has none.
struct ConvOperands {
  size_t weight = 1;
  size_t bias = 2;
  size_t added = SIZE_MAX;          // an image
  std::vector<size_t> of_channels;  // scales and zero points of single output channels
  bool linear = true;               // nothing follows the sum over input channels
};

ConvOperands conv_operands(const FactorContext& context) {
  const std::string& type = context.op().op_type;
  if (type == "QLinearConv") {
    return {3, 8, kQLinearConvAddend, {4, 5}, false};
  }
  if (type == "ConvInteger") {
    return {1, SIZE_MAX, SIZE_MAX, {3}, true};
  }
  const bool blocked = context.op().domain == kMicrosoftBlocked;
  const bool fused = type.ends_with("FusedConv") || blocked;  // adds input 3, then an activation
  return {1, 2, fused ? size_t{3} : SIZE_MAX, {}, !fused};
}

}  // namespace

void factors_conv(FactorContext& context) {
  const ConvOperands operands = conv_operands(context);
  const Layout layout = layout_of(context);
  const int64_t group = context.attributes().int_or("group", 1);
  const int batch = context.add("batch", context.in_extent(0, 0));
  context.carry_in(0, 0, batch);
  context.carry_out(0, 0, batch);
  int channels = FactorDim::kWhole;
  if (group == 1) {
    channels = context.add("channels_out", context.out_extent(0, layout.channels));
    context.carry_in(operands.weight, 0, channels);
    context.carry_in(operands.bias, 0, channels);
    context.carry_out(0, layout.channels, channels);
    if (operands.linear) {
      const int in =
          context.add("channels_in", context.in_extent(0, layout.channels), Reduction::kSum);
      context.carry_in(0, layout.channels, in);
      context.carry_in(operands.weight, 1, in);
      if (context.has_input(operands.bias)) {
        context.map().addends.push_back(operands.bias);
      }
    }
  } else {
    channels = add_groups(context, group, layout.channels, operands.weight, operands.bias, false);
  }
  const int64_t block = group == 1 ? 1 : context.out_extent(0, layout.channels) / group;
  for (const size_t input : operands.of_channels) {
    if (context.input(input).rank() == 1 && context.in_extent(input, 0) != 1) {
      context.carry_in(input, 0, channels, block);
    }
  }
  if (context.op().op_type == "Conv" && context.op().domain.empty()) {
    add_space(context, window_axes(context, kernel_of(context, operands.weight)), HaloFill::kZero);
  }
  if (context.has_input(operands.added)) {
    for (const int dim : {0, layout.channels}) {
      const FactorDim& of_result = context.map().outputs[0][static_cast<size_t>(dim)];
      context.carry_in(operands.added, dim, of_result.factor, of_result.block);
    }
  }
}

void factors_conv_transpose(FactorContext& context) {
  const int64_t group = context.attributes().int_or("group", 1);
  const int batch = context.add("batch", context.in_extent(0, 0));
  context.carry_in(0, 0, batch);
  context.carry_out(0, 0, batch);
  if (group != 1) {
    add_groups(context, group, 1, 1, 2, true);
    return;
  }
  const int out = context.add("channels_out", context.out_extent(0, 1));
  context.carry_in(1, 1, out);
  context.carry_in(2, 0, out);
  context.carry_out(0, 1, out);
  const int in = context.add("channels_in", context.in_extent(0, 1), Reduction::kSum);
  context.carry_in(0, 1, in);
  context.carry_in(1, 0, in);
  if (context.has_input(2)) {
    context.map().addends.push_back(2);
  }
}

void factors_pool(FactorContext& context) {
  const Shape& x = context.input(0);
  const Layout layout = layout_of(context);
  std::vector<bool> whole(static_cast<size_t>(x.rank()), true);
  context.flag(whole, 0, false);
  context.flag(whole, layout.channels, false);
  add_axis_factors(context, whole);
  const auto* kernel = context.attributes().get_ints("kernel_shape");
  const bool moved = context.op().domain == "com.microsoft";  // rounded, or in another layout
  if (moved || kernel == nullptr || kernel->size() + 2 != static_cast<size_t>(x.rank()) ||
      context.has_output(1)) {
    return;  // indices count through the whole input
  }
  const std::vector<Axis> axes = window_axes(context, *kernel);
  if (context.op().op_type == "MaxPool") {
    add_space(context, axes, HaloFill::kLowest);
    return;
  }
  // An average must know which of its taps are padding.
  const bool padded = std::any_of(axes.begin(), axes.end(), [](const Axis& axis) {
    const int64_t end = (axis.out - 1) * axis.stride + axis.reach;
    return axis.before != 0 || axis.after != 0 || end > axis.in;
  });
  if (!padded || context.op().op_type == "LpPool") {
    add_space(context, axes, HaloFill::kZero);
  }
}

void factors_global_pool(FactorContext& context) {
  const std::string& type = context.op().op_type;
  const Shape& x = context.input(0);
  std::vector<bool> whole(static_cast<size_t>(x.rank()), true);
  context.flag(whole, 0, false);
  context.flag(whole, layout_of(context).channels, false);
  add_axis_factors(context, whole);
  // Parts of a root or of a rounded mean do not add up to it.
  const bool joins = type == "GlobalAveragePool" || type == "GlobalMaxPool";
  const Reduction reduction = type == "GlobalAveragePool" ? Reduction::kMean : Reduction::kMax;
  for (int axis = 2; joins && axis < x.rank(); ++axis) {
    context.carry_in(
        0, axis,
        context.add(fmt::format("space{}", axis - 2), context.in_extent(0, axis), reduction));
  }
}

void factors_regions(FactorContext& context) {
  const int regions = context.add("regions", context.out_extent(0, 0));
  context.carry_in(1, 0, regions);
  if (context.op().op_type == "RoiAlign") {
    context.carry_in(2, 0, regions);
  }
  context.carry_out(0, 0, regions);
  const int channels = context.add("channels", context.out_extent(0, 1));
  context.carry_in(0, 1, channels);
  context.carry_out(0, 1, channels);
}

}  // namespace dfsim::inline graphs
