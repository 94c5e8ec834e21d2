// Window: the sliding-window arithmetic that convolutions and pooling share.
#pragma once

#include <vector>

#include "base/status.h"
#include "graphs/ir/shape.h"
#include "graphs/ops/infer_context.h"

namespace dfsim::inline graphs {

// Kernel, stride, dilation and padding per spatial axis, defaults filled in. Invariant: every list
// has `spatial` entries (pads: twice that, begins first), kernels, strides, dilations are positive.
class Window {
 public:
  // From the attributes of a convolution whose kernel may be given by its weight's shape only.
  static StatusOr<Window> from_conv(const InferContext& context, int spatial, const Shape& weight);
  // From the attributes of a pooling op (kernel_shape is required).
  static StatusOr<Window> from_pool(const InferContext& context, int spatial);
  // With that kernel and everything else from the attributes.
  static StatusOr<Window> from_kernel(const InferContext& context, std::vector<int64_t> kernel) {
    const auto spatial = static_cast<int>(kernel.size());
    return from_attributes(context, spatial, std::move(kernel));
  }

  // Appends the spatial extents of the output for input `x` ([N, C, space...]).
  // Error: an extent would be zero or negative.
  Status append_output(const InferContext& context, const Shape& x, bool ceil, Dims* dims) const;
  Status append_transposed_output(const InferContext& context, const Shape& x, Dims* dims) const;

  size_t spatial() const { return strides_.size(); }
  const std::vector<int64_t>& kernel() const { return kernel_; }
  const std::vector<int64_t>& strides() const { return strides_; }
  const std::vector<int64_t>& dilations() const { return dilations_; }
  // Elements of padding in front of each spatial axis, for the spatial extents of input and
  // output: auto_pad and a given output_shape decide about them only then.
  std::vector<int64_t> begins(const std::vector<int64_t>& in,
                              const std::vector<int64_t>& out) const;
  // The same for a transposed window.
  std::vector<int64_t> transposed_begins(const InferContext& context,
                                         const std::vector<int64_t>& in,
                                         const std::vector<int64_t>& out) const;
  // The end of the padded input on an axis, as a position of the input.
  int64_t padded_end(size_t axis, int64_t in) const;

 private:
  static StatusOr<Window> from_attributes(const InferContext& context, int spatial,
                                          std::vector<int64_t> kernel);

  std::vector<int64_t> kernel_;  // 0 = unknown
  std::vector<int64_t> strides_;
  std::vector<int64_t> dilations_;
  std::vector<int64_t> pads_;
  std::string auto_pad_;
};

}  // namespace dfsim::inline graphs
