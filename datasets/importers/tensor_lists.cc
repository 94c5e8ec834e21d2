// Shapes and attributes that readers of several tools derive the same way. guess_conv() finds
// strides and padding that a recording left out from the extents, within what a convolution can
// have.
#include "datasets/importers/tensor_lists.h"

#include <fmt/format.h>

#include <algorithm>

namespace dfsim::inline datasets {

std::string join_numbers(const std::vector<int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::string conv_attributes(const ConvGeometry& conv) {
  return canonical_attributes({{"dilations", join_numbers(conv.dilations)},
                               {"group", fmt::format("{}", conv.group)},
                               {"kernel_shape", join_numbers(conv.kernel)},
                               {"pads", join_numbers(conv.pads)},
                               {"strides", join_numbers(conv.strides)}});
}

std::vector<int64_t> conv_output(const std::vector<int64_t>& input, int64_t channels,
                                 const ConvGeometry& conv) {
  const size_t axes = conv.kernel.size();
  DFSIM_CHECK(input.size() == axes + 2 && conv.pads.size() == 2 * axes);
  std::vector<int64_t> output = {input[0], channels};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t padded = input[i + 2] + conv.pads[i] + conv.pads[axes + i];
    const int64_t reach = (conv.kernel[i] - 1) * conv.dilations[i] + 1;
    output.push_back(conv.strides[i] > 0 && padded >= reach ? (padded - reach) / conv.strides[i] + 1
                                                            : -1);
  }
  return output;
}

ConvGeometry guess_conv(const std::vector<int64_t>& input, const std::vector<int64_t>& weight,
                        const std::vector<int64_t>& output) {
  constexpr int64_t kMaxStride = 64;
  ConvGeometry conv;
  if (input.size() < 3 || weight.size() != input.size() || output.size() != input.size() ||
      weight[1] <= 0 || input[1] % weight[1] != 0) {
    return conv;
  }
  const size_t axes = input.size() - 2;
  conv.group = input[1] / weight[1];
  conv.dilations.assign(axes, 1);
  conv.pads.assign(2 * axes, 0);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t in = input[i + 2];
    const int64_t out = output[i + 2];
    const int64_t kernel = weight[i + 2];
    if (in <= 0 || out <= 0 || kernel <= 0) {
      return {};
    }
    // Padding of at most kernel-1 in all; with stride s it must cover (out-1)*s + kernel - in, and
    // not reach the next output.
    int64_t stride = std::clamp<int64_t>((in + out - 1) / out, 1, kMaxStride);
    const auto least_padding = [&](int64_t s) {
      return std::max<int64_t>(0, (out - 1) * s + kernel - in);
    };
    const auto fits = [&](int64_t s) {
      const int64_t padding = least_padding(s);
      return padding <= kernel - 1 && (in + padding - kernel) / s + 1 == out;
    };
    while (stride > 0 && !fits(stride)) {
      --stride;
    }
    if (stride == 0) {
      return {};
    }
    int64_t padding = least_padding(stride);
    if (padding % 2 != 0 && (in + padding + 1 - kernel) / stride + 1 == out) {
      ++padding;  // frameworks pad both sides alike where that gives the same output
    }
    conv.kernel.push_back(kernel);
    conv.strides.push_back(stride);
    conv.pads[i] = padding / 2;
    conv.pads[axes + i] = padding - padding / 2;
  }
  return conv;
}

std::string gemm_attributes(bool trans_a, bool trans_b) {
  return fmt::format("transA={};transB={}", trans_a ? 1 : 0, trans_b ? 1 : 0);
}

std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1) {
      return {-1};
    }
    out[i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace dfsim::inline datasets
