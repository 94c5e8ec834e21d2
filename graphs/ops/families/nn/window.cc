// Sliding windows of convolutions and pools: reads kernel, strides, dilations and padding from
// attributes, writes SAME modes out as numbers, and computes extents. Windows that would begin
// in the right padding are left out, as PyTorch and ONNX define it.
#include "graphs/ops/families/nn/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kMaxWindowValue = int64_t{1} << 31;

StatusOr<std::vector<int64_t>> attribute_list(const InferContext& context, std::string_view name,
                                              size_t count, int64_t fallback, int64_t least) {
  const auto* list = context.attributes().get_ints(name);
  if (list == nullptr || list->empty()) {
    return std::vector<int64_t>(count, fallback);
  }
  if (list->size() != count) {
    return context.error(fmt::format("{} has {} entries; expected {}", name, list->size(), count));
  }
  for (const int64_t value : *list) {
    if (value < least || value > kMaxWindowValue) {
      return context.error(fmt::format("{} has the entry {}; expected {} to {}", name, value, least,
                                       kMaxWindowValue));
    }
  }
  return *list;
}

}  // namespace

StatusOr<Window> Window::from_attributes(const InferContext& context, int spatial,
                                         std::vector<int64_t> kernel) {
  const auto count = static_cast<size_t>(spatial);
  Window window;
  window.kernel_ = std::move(kernel);
  DFSIM_ASSIGN_OR_RETURN(window.strides_, attribute_list(context, "strides", count, 1, 1));
  DFSIM_ASSIGN_OR_RETURN(window.dilations_, attribute_list(context, "dilations", count, 1, 1));
  DFSIM_ASSIGN_OR_RETURN(window.pads_,
                         attribute_list(context, "pads", count * 2, 0, -kMaxWindowValue));
  window.auto_pad_ = context.attributes().string_or("auto_pad", "NOTSET");
  constexpr std::array<std::string_view, 4> kModes = {"NOTSET", "VALID", "SAME_UPPER",
                                                      "SAME_LOWER"};
  if (window.auto_pad_.empty()) {
    window.auto_pad_ = "NOTSET";
  }
  if (std::find(kModes.begin(), kModes.end(), window.auto_pad_) == kModes.end()) {
    return context.error(
        unknown_name_message("auto_pad", window.auto_pad_, {kModes.begin(), kModes.end()}));
  }
  return window;
}

StatusOr<Window> Window::from_conv(const InferContext& context, int spatial, const Shape& weight) {
  std::vector<int64_t> kernel;
  for (int i = 0; i < spatial; ++i) {
    kernel.push_back(weight[i + 2].known() ? weight[i + 2].extent() : 0);
  }
  const auto* given = context.attributes().get_ints("kernel_shape");
  if (given != nullptr && !given->empty()) {
    if (given->size() != kernel.size()) {
      return context.error(
          fmt::format("kernel_shape has {} entries; expected {}", given->size(), kernel.size()));
    }
    for (size_t i = 0; i < kernel.size(); ++i) {
      if (kernel[i] != 0 && kernel[i] != (*given)[i]) {
        return context.error(fmt::format("kernel_shape says {} where the weight {} has {}",
                                         (*given)[i], format_shape(weight), kernel[i]));
      }
    }
    DFSIM_ASSIGN_OR_RETURN(kernel, attribute_list(context, "kernel_shape", kernel.size(), 1, 1));
  }
  return from_attributes(context, spatial, std::move(kernel));
}

StatusOr<Window> Window::from_pool(const InferContext& context, int spatial) {
  if (context.attributes().get_ints("kernel_shape") == nullptr) {
    return context.error("has no kernel_shape; expected one entry per spatial axis");
  }
  DFSIM_ASSIGN_OR_RETURN(
      std::vector<int64_t> kernel,
      attribute_list(context, "kernel_shape", static_cast<size_t>(spatial), 1, 1));
  return from_attributes(context, spatial, std::move(kernel));
}

Status Window::append_output(const InferContext& context, const Shape& x, bool ceil,
                             Dims* dims) const {
  for (size_t i = 0; i < strides_.size(); ++i) {
    const Dim in = x[static_cast<int>(i) + 2];
    if (!in.known() || kernel_[i] == 0) {
      dims->push_back(Dim::unknown());
      continue;
    }
    const int64_t stride = strides_[i];
    if (auto_pad_ == "SAME_UPPER" || auto_pad_ == "SAME_LOWER") {
      dims->push_back(Dim((in.extent() + stride - 1) / stride));
      continue;
    }
    const int64_t pad = auto_pad_ == "VALID" ? 0 : pads_[i] + pads_[i + strides_.size()];
    const Count window_size = Count(kernel_[i] - 1) * Count(dilations_[i]) + Count(1);
    const Count padded = Count(in.extent()) + Count(pad);
    const int64_t room =
        window_size.overflowed() || padded.overflowed() ? -1 : padded.value() - window_size.value();
    if (room < 0) {
      return context.error(fmt::format(
          "input {} with padding {} is smaller than the window of {} on spatial axis {}",
          format_shape(x), pad, window_size.value(), i));
    }
    int64_t out = room / stride + 1;
    if (ceil && room % stride != 0) {
      // A window that would start inside the right padding is left out (PyTorch and ONNX).
      const int64_t last_start = out * stride;
      out += last_start < in.extent() + (auto_pad_ == "VALID" ? 0 : pads_[i]) ? 1 : 0;
    }
    dims->push_back(Dim(out));
  }
  return ok_status();
}

Status Window::append_transposed_output(const InferContext& context, const Shape& x,
                                        Dims* dims) const {
  const size_t spatial = strides_.size();
  const auto* given = context.attributes().get_ints("output_shape");
  DFSIM_ASSIGN_OR_RETURN(const auto output_padding,
                         attribute_list(context, "output_padding", spatial, 0, 0));
  for (size_t i = 0; i < spatial; ++i) {
    const Dim in = x[static_cast<int>(i) + 2];
    if (given != nullptr && given->size() >= spatial) {
      const int64_t extent = (*given)[given->size() - spatial + i];
      if (extent <= 0) {
        return context.error(
            fmt::format("output_shape has the entry {}; expected 1 or more", extent));
      }
      dims->push_back(Dim(extent));
      continue;
    }
    if (!in.known() || kernel_[i] == 0) {
      dims->push_back(Dim::unknown());
      continue;
    }
    if (auto_pad_ == "SAME_UPPER" || auto_pad_ == "SAME_LOWER") {
      dims->push_back(Dim((Count(in.extent()) * Count(strides_[i])).value()));
      continue;
    }
    const int64_t pad = auto_pad_ == "VALID" ? 0 : pads_[i] + pads_[i + spatial];
    const Count grown = Count(strides_[i]) * Count(in.extent() - 1) +
                        Count(kernel_[i] - 1) * Count(dilations_[i]) + Count(1) +
                        Count(output_padding[i]);
    if (grown.overflowed() || grown.value() - pad <= 0) {
      return context.error(fmt::format("input {} gives an output extent below 1 on spatial axis {}",
                                       format_shape(x), i));
    }
    dims->push_back(Dim(grown.value() - pad));
  }
  return ok_status();
}

}  // namespace dfsim::inline graphs
