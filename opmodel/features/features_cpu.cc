// Features of how the kernels of CPUs divide work: registers hold a few rows of the result and a
// few vectors of its columns, convolutions work on blocks of channels, and windows that reach over
// the edge take another path. The tiles are those of MLAS, ONNX Runtime's kernels for AVX2 and
// AVX-512.
#include <algorithm>
#include <array>
#include <numeric>

#include "datasets/profiles/profile.h"
#include "graphs/ir/moved_axes.h"
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

// Fused activations by their time per element, Relu's first: kernels of blocked convolutions clamp
// results in registers, any other function is a second pass over results that the first has stored.
// The pass takes 0.35 to 0.75 ns per element, more than a small convolution itself.
constexpr std::array<std::string_view, 7> kActivations = {
    "Relu", "HardSigmoid", "LeakyRelu", "Clip", "HardSwish", "Tanh", "Sigmoid"};

// 0 without one, 1 for Relu, and so on.
double activation_rank(const OpDescriptor& op) {
  const std::string_view name = attribute_value(op.attributes, "activation");
  const auto* const found = std::find(kActivations.begin(), kActivations.end(), name);
  return name.empty() ? 0 : static_cast<double>(found - kActivations.begin() + 1);
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
  writer.add("activation", activation_rank(op));
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
  writer.add("activation", activation_rank(op));
}

namespace {

// How ONNX Runtime's CPU provider copies what Transpose moves. It looks at the axes as they are
// written, those of one element included (`walk_moved` and `walk_run` leave them out).
enum class CopyWay : int8_t {
  kNone = -1,  // not a transposition
  kAsItLies,   // only axes of one element move: one copy
  kOutwards,   // one axis moves among the others: a writer for each of its elements,
  kInwards,    // or a reader for each
  kPieces,     // what the last axes hold, which stay, is copied in one piece
  kElements,   // the last axis moves, too: element by element, on one thread
};

struct Copying {
  CopyWay way = CopyWay::kNone;
  double piece = 1;  // elements that are copied at once
};

// The elements that the axes from `first` on hold.
double elements_from(const std::vector<int64_t>& extents, size_t first) {
  double product = 1;
  for (size_t i = first; i < extents.size(); ++i) {
    product *= static_cast<double>(extents[i]);
  }
  return product;
}

Copying copying_of(const std::vector<size_t>& perm, const std::vector<int64_t>& extents) {
  std::vector<size_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != i) {
      return {};
    }
  }
  if (perm.empty() || perm.size() != extents.size()) {
    return {};
  }
  if (moves_only_single_elements(perm, extents)) {
    return {CopyWay::kAsItLies, elements_from(extents, 0)};
  }
  if (const size_t axis = single_moved_axis(perm); axis < perm.size()) {
    const auto to = static_cast<size_t>(std::find(perm.begin(), perm.end(), axis) - perm.begin());
    return {to < axis ? CopyWay::kOutwards : CopyWay::kInwards,
            elements_from(extents, std::max(axis, to) + 1)};
  }
  size_t kept = perm.size();
  while (kept > 0 && perm[kept - 1] == kept - 1) {
    --kept;
  }
  const double piece = elements_from(extents, kept);
  return {piece > 1 ? CopyWay::kPieces : CopyWay::kElements, piece};
}

}  // namespace

bool copies_each_element(const OpDescriptor& op) {
  if (op.op_type != "Transpose" || op.input_extents.empty()) {
    return false;
  }
  const std::vector<size_t> perm = index_list(op, "perm");
  if (copying_of(perm, op.input_extents[0]).way != CopyWay::kElements) {
    return false;
  }
  // Axes that rotate are those of a matrix, which has a fast kernel of its own.
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != (perm[0] + i) % perm.size()) {
      return true;
    }
  }
  return false;
}

namespace {

// How ONNX Runtime's CPU provider reduces. Neighbouring axes that are all kept (K) or all reduced
// (R) count as one, an axis of one element as any other: an image of batch 1 that is averaged over
// its channels is K R K with one kept element in front, has no fast way, and takes five times as
// long per element as one of batch 2.
enum class ReduceWay : int8_t {
  kNone = -1,  // not a reduction
  kGeneral,    // result by result, each gathered from all over the input
  kKR,         // the other ways add whole vectors
  kRK,
  kKRK,
  kRKR,
};

constexpr std::array<std::string_view, 4> kFastReductions = {"ReduceMax", "ReduceMean", "ReduceMin",
                                                             "ReduceSum"};

ReduceWay reduce_way_of(const OpDescriptor& op, double threads) {
  if (op.op_class != OpClass::kReduce || op.input_extents.empty()) {
    return ReduceWay::kNone;
  }
  const std::vector<size_t> axes = index_list(op, "axes");
  std::vector<double> extents;
  const auto reduced = [&axes](size_t i) {
    return std::find(axes.begin(), axes.end(), i) != axes.end();
  };
  const std::vector<int64_t>& x = op.input_extents[0];
  for (size_t i = 0; i < x.size(); ++i) {
    if (i == 0 || reduced(i) != reduced(i - 1)) {
      extents.push_back(1);
    }
    extents.back() *= static_cast<double>(x[i]);
  }
  const bool has_fast = std::find(kFastReductions.begin(), kFastReductions.end(), op.op_type) !=
                        kFastReductions.end();
  if (axes.empty() || extents.size() < 2 || extents.size() > 3 || !has_fast) {
    return ReduceWay::kGeneral;
  }
  const double least_kept = std::max(2.0, threads);
  if (extents.size() == 3) {
    const bool is_fast = extents[reduced(0) ? 1 : 0] >= least_kept;
    const ReduceWay fast = reduced(0) ? ReduceWay::kRKR : ReduceWay::kKRK;
    return is_fast ? fast : ReduceWay::kGeneral;
  }
  if (!reduced(0)) {
    return ReduceWay::kKR;
  }
  const bool is_large =
      extents[0] > threads * 16 && std::max(extents[0], extents[1]) > threads * 256;
  return is_large ? ReduceWay::kRK : ReduceWay::kGeneral;
}

}  // namespace

// `moves_one_axis`: 1 where one axis moves among the others as they are written, 0 for other
// permutations, -1 without one.
void cpu_generic_features(const OpDescriptor& op, const DeviceFacts& facts, FeatureWriter& writer) {
  const std::vector<size_t> perm = index_list(op, "perm");
  const bool moves_one_axis = single_moved_axis(perm) < perm.size();
  const double one_axis = moves_one_axis ? 1 : 0;
  writer.add("moves_one_axis", perm.empty() ? -1 : one_axis);
  const Copying copying =
      op.input_extents.empty() ? Copying() : copying_of(perm, op.input_extents[0]);
  writer.add("copy_way", static_cast<double>(copying.way));
  writer.add_log("copy_piece", copying.piece);
  writer.add("reduce_way", static_cast<double>(reduce_way_of(op, facts.units)));
}

// Softmax over an inner axis: ONNX Runtime swaps that axis with the last one, works on rows, and
// swaps them back.
void cpu_rows_features(const OpDescriptor& op, FeatureWriter& writer) {
  Copying copying;
  const std::vector<size_t> axis = index_list(op, "axis");
  if (op.op_class == OpClass::kSoftmax && axis.size() == 1 && !op.input_extents.empty() &&
      axis[0] + 1 < op.input_extents[0].size()) {
    std::vector<size_t> perm(op.input_extents[0].size());
    std::iota(perm.begin(), perm.end(), size_t{0});
    std::swap(perm[axis[0]], perm.back());
    copying = copying_of(perm, op.input_extents[0]);
  }
  writer.add("copy_way", static_cast<double>(copying.way));
  writer.add_log("copy_piece", copying.piece);
}

}  // namespace dfsim::inline opmodel
