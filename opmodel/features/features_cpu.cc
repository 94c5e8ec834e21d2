// Features of how the kernels of CPUs divide work: registers hold a few rows of the result and a
// few vectors of its columns, convolutions work on blocks of channels, and windows that reach over
// the edge take another path. The tiles are those of MLAS, ONNX Runtime's kernels for AVX2 and
// AVX-512.
#include <array>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"

namespace dfsim::inline opmodel {

namespace {

// By how much `n` grows when it is filled up to whole tiles, in ln.
double filled(double n, int tile) { return log_of(std::ceil(n / tile) * tile / std::max(n, 1.0)); }

// The share of `results` whose window of `reach` inputs lies inside of `extent` altogether.
double inner_share(double results, double extent, double reach, double stride, double pad) {
  const double first = std::ceil(pad / stride);
  const double last = std::floor((extent + pad - reach) / stride);
  return results > 0 ? std::clamp(last - first + 1, 0.0, results) / results : 0;
}

double operand_count(const OpDescriptor& op) {
  return static_cast<double>(
      std::count_if(op.input_extents.begin(), op.input_extents.end(),
                    [](const std::vector<int64_t>& e) { return e != std::vector<int64_t>{-1}; }));
}

double number_at(const std::vector<size_t>& list, size_t index, double otherwise) {
  return index < list.size() ? static_cast<double>(list[index]) : otherwise;
}

}  // namespace

void cpu_conv_features(const OpDescriptor& op, const OpGeometry& geometry, FeatureWriter& writer) {
  const auto& d = geometry.dims;
  const double group = std::max(d[dim::kGroup], 1.0);
  const double c = d[dim::kC] / group;
  const double o = d[dim::kO] / group;
  writer.add("blocked", op.op_type.starts_with("com.microsoft.nchwc.") ? 1 : 0);
  writer.add("operands", operand_count(op));
  writer.add_log("OW", d[dim::kOW]);
  for (const int columns : {3, 6}) {
    writer.add_tile("fill_OW", columns, 1, filled(d[dim::kOW], columns));
  }
  for (const int block : {8, 16}) {
    const double blocks = std::ceil(o / block);
    writer.add_tile("fill_O", block, 1, filled(o, block));
    writer.add_tile("fill_O", block, 4, filled(blocks, 4));
    writer.add_tile("last_O", block, 4, remainder_of(blocks, 4));
  }
  writer.add_log("C_passes", std::ceil(c / 128));
  writer.add_log("filter", c * d[dim::kKH] * d[dim::kKW]);
  const std::vector<size_t> pads = index_list(op, "pads");
  const std::vector<size_t> dilations = index_list(op, "dilations");
  const std::vector<size_t> strides = index_list(op, "strides");
  const std::array<double, 2> extent = {d[dim::kH], d[dim::kW]};
  const std::array<double, 2> results = {d[dim::kOH], d[dim::kOW]};
  const std::array<double, 2> kernel = {d[dim::kKH], d[dim::kKW]};
  for (size_t axis = 0; axis < 2; ++axis) {
    const double dilation = number_at(dilations, axis, 1);
    writer.add_tile(
        "inner", static_cast<int>(axis), 0,
        inner_share(results[axis], extent[axis], (kernel[axis] - 1) * dilation + 1,
                    std::max(number_at(strides, axis, 1), 1.0), number_at(pads, axis, 0)));
  }
  writer.add("dilation", number_at(dilations, 1, 1));
}

void cpu_gemm_features(const OpDescriptor& op, const OpGeometry& geometry, FeatureWriter& writer) {
  const auto& d = geometry.dims;
  for (const int rows : {6, 12}) {
    writer.add_tile("fill_M", rows, 1, filled(d[dim::kM], rows));
  }
  for (const int columns : {16, 32, 64}) {
    writer.add_tile("fill_N", columns, 1, filled(d[dim::kN], columns));
  }
  writer.add_log("K_passes", std::ceil(d[dim::kK] / 128));
  writer.add("operands", operand_count(op));
  writer.add("trans_a", number_at(index_list(op, "transA"), 0, 0));
  writer.add("trans_b", number_at(index_list(op, "transB"), 0, 0));
}

// ONNX Runtime has a fast way for one axis that moves among the others as they are written, axes of
// one element included (`walk_moved` leaves those out): 1 there, 0 for other permutations, -1
// without one.
void cpu_generic_features(const OpDescriptor& op, FeatureWriter& writer) {
  const std::vector<size_t> perm = index_list(op, "perm");
  const auto sorted_without = [&perm](size_t left_out) {
    std::vector<size_t> rest = perm;
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(left_out));
    return std::is_sorted(rest.begin(), rest.end());
  };
  double one_axis = perm.empty() ? -1 : 0;
  for (size_t i = 0; i < perm.size(); ++i) {
    one_axis = sorted_without(i) ? 1 : one_axis;
  }
  writer.add("moves_one_axis", one_axis);
}

}  // namespace dfsim::inline opmodel
