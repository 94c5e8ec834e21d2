// Shapes and canonical attributes that several readers build.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// A longer axis in a file is an error. The product of two cannot overflow.
inline constexpr int64_t kMaxExtent = int64_t{1} << 31;

inline TensorSpec tensor(DType dtype, std::vector<int64_t> extents, std::string format = "") {
  return {dtype, std::move(extents), std::move(format)};
}
inline TensorSpec missing_tensor() { return {DType::kUnknown, {-1}, ""}; }

// Attributes of a convolution or pooling; the vectors have one entry per spatial axis, `pads` two
// (begins first).
struct ConvGeometry {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> pads;
  std::vector<int64_t> dilations;
  int64_t group = 1;
};

// "dilations=1,1;group=1;kernel_shape=3,3;pads=1,1,1,1;strides=1,1".
std::string conv_attributes(const ConvGeometry& conv);
// Output extents [N, channels, spatial...] of a convolution of `input` [N, C, spatial...]; an
// extent that cannot be (kernel larger than the padded input, stride 0) is -1.
std::vector<int64_t> conv_output(const std::vector<int64_t>& input, int64_t channels,
                                 const ConvGeometry& conv);
// The geometry that explains the shapes of a convolution when a tool records no attributes: group
// from the channels, no dilation, the largest stride and then the smallest, most even padding that
// give the output. Empty kernel when nothing fits.
ConvGeometry guess_conv(const std::vector<int64_t>& input, const std::vector<int64_t>& weight,
                        const std::vector<int64_t>& output);

// "transA=0;transB=1".
std::string gemm_attributes(bool trans_a, bool trans_b);
// "1,2,3".
std::string join_numbers(const std::vector<int64_t>& numbers);
// NumPy broadcasting; {-1} when the shapes do not fit.
std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

}  // namespace dfsim::inline datasets
