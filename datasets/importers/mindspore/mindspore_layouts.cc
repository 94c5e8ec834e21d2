#include "datasets/importers/mindspore/mindspore_layouts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "datasets/importers/tensor_lists.h"

namespace dfsim::inline datasets {
namespace {

using Extents = std::vector<int64_t>;

enum class BlockLayout { kPlain, kChannels, kChannels3d, kMatrix, kFilter, kFilter3d, kDepthwise };

BlockLayout layout_of(const TensorSpec& spec) {
  const std::string& format = spec.format;
  const size_t rank = spec.extents.size();
  if (rank == 5 && format.starts_with("NC1HWC0")) {
    return BlockLayout::kChannels;
  }
  if (rank == 6 && format == "NDC1HWC0") {
    return BlockLayout::kChannels3d;
  }
  if (rank >= 4 && (format == "FRACTAL_NZ" || format == "FRAC_NZ" || format == "FracNZ")) {
    return BlockLayout::kMatrix;
  }
  if (rank == 4 && (format == "FRACTAL_Z_3D" || format == "FracZ3D")) {
    return BlockLayout::kFilter3d;
  }
  if (rank == 4 && (format.starts_with("FRACTAL_Z") || format == "FRAC_Z" || format == "FracZ")) {
    return BlockLayout::kFilter;
  }
  if (rank == 6 && (format == "C1HWNCoC0" || format == "C1HWNCOC0")) {
    return BlockLayout::kDepthwise;
  }
  return BlockLayout::kPlain;
}

bool is_plain(const TensorSpec& spec) { return spec.format.empty() || spec.format == "NCHW"; }

// a x b, or 0 where that cannot be an extent: shapes come from a file.
int64_t product(int64_t a, int64_t b) { return a > 0 && b > 0 && a <= kMaxExtent / b ? a * b : 0; }

// Blocks counted as full.
Extents full_blocks(const TensorSpec& spec) {
  const Extents& e = spec.extents;
  switch (layout_of(spec)) {
    case BlockLayout::kChannels:
      return {e[0], product(e[1], e[4]), e[2], e[3]};
    case BlockLayout::kChannels3d:
      return {e[0], product(e[2], e[5]), e[1], e[3], e[4]};
    case BlockLayout::kMatrix: {
      Extents matrix(e.begin(), e.end() - 4);
      matrix.push_back(product(e[e.size() - 3], e[e.size() - 2]));
      matrix.push_back(product(e[e.size() - 4], e.back()));
      return matrix;
    }
    case BlockLayout::kFilter:
    case BlockLayout::kFilter3d:
      return {product(e[1], e[2]), product(e[0], e[3])};
    case BlockLayout::kDepthwise:
      return {product(e[0], e[5]), 1, e[1], e[2]};
    case BlockLayout::kPlain:
      break;
  }
  return e;
}

// A plain shape that these blocks can hold: so many elements, and less than a block more per axis
// that is cut.
bool holds(const Extents& blocks, const Extents& plain) {
  double stored = 1;
  double wanted = 1;
  for (const int64_t extent : blocks) {
    stored *= static_cast<double>(extent);
  }
  for (const int64_t extent : plain) {
    wanted *= static_cast<double>(extent);
  }
  return wanted > 0 && wanted <= stored;
}

// Pairs kh x kw with this product, squares first, then flat ones.
std::vector<std::pair<int64_t, int64_t>> kernels_of(int64_t taps) {
  constexpr int64_t kMostTaps = 4096;
  std::vector<std::pair<int64_t, int64_t>> kernels;
  for (int64_t kh = 1; taps > 0 && taps <= kMostTaps && kh <= taps; ++kh) {
    if (taps % kh == 0) {
      kernels.emplace_back(kh, taps / kh);
    }
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return std::abs(a.first - a.second) < std::abs(b.first - b.second);
  });
  return kernels;
}

// [O, C/groups, kernel...] of weights with `taps` positions that explain image and result.
std::optional<Extents> filter_of(const Extents& x, const Extents& y, int64_t outputs,
                                 int64_t channels, int64_t taps) {
  const size_t axes = x.size() - 2;
  for (const auto& [kh, kw] : kernels_of(taps)) {
    Extents weight = {outputs, channels};
    if (axes == 3) {
      // Cubes, or flat in the first axis.
      const auto side = static_cast<int64_t>(std::llround(std::cbrt(static_cast<double>(taps))));
      const bool cube = side * side * side == taps;
      weight.insert(weight.end(), {cube ? side : 1, cube ? side : kh, cube ? side : kw});
    } else {
      weight.insert(weight.end(), {kh, kw});
    }
    if (!guess_conv(x, weight, y).kernel.empty()) {
      return weight;
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_blocked(const TensorSpec& spec) { return layout_of(spec) != BlockLayout::kPlain; }

void LogicalShapes::learn(const TensorSpec& input, const TensorSpec& output) {
  const bool in = is_blocked(input);
  if (in == is_blocked(output)) {
    return;
  }
  const TensorSpec& blocks = in ? input : output;
  const TensorSpec& plain = in ? output : input;
  if (!is_plain(plain) || !holds(blocks.extents, plain.extents) ||
      plain.extents.size() != full_blocks(blocks).size()) {
    return;
  }
  const auto [it, inserted] = known_.try_emplace({blocks.format, blocks.extents}, plain.extents);
  if (!inserted && it->second != plain.extents) {
    it->second.clear();
  }
}

TensorSpec LogicalShapes::logical(const TensorSpec& spec) const {
  if (!is_blocked(spec)) {
    return spec;
  }
  const auto it = known_.find({spec.format, spec.extents});
  const bool told = it != known_.end() && !it->second.empty();
  TensorSpec plain = {spec.dtype, told ? it->second : full_blocks(spec), ""};
  const bool fine = std::all_of(plain.extents.begin(), plain.extents.end(),
                                [](int64_t extent) { return extent > 0; });
  return fine ? plain : spec;
}

LogicalShapes::Conv LogicalShapes::convolution(const TensorSpec& x, const TensorSpec& weight,
                                               const TensorSpec& y, bool depthwise) const {
  Conv conv = {logical(x), logical(weight), logical(y)};
  const BlockLayout layout = layout_of(weight);
  if ((layout != BlockLayout::kFilter && layout != BlockLayout::kFilter3d) ||
      conv.x.extents.size() < 4 || conv.x.extents.size() != conv.y.extents.size()) {
    return conv;
  }
  const int64_t channels = conv.x.extents[1];
  const int64_t outputs = conv.y.extents[1];
  const int64_t block = std::max<int64_t>(1, weight.extents[3]);
  const int64_t blocks = (channels + block - 1) / block;
  if (blocks <= 0 || weight.extents[0] % blocks != 0) {
    return conv;
  }
  const auto filter = filter_of(conv.x.extents, conv.y.extents, outputs, depthwise ? 1 : channels,
                                weight.extents[0] / blocks);
  if (filter.has_value()) {
    conv.weight.extents = *filter;
  }
  return conv;
}

}  // namespace dfsim::inline datasets
