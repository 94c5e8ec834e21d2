// Slices by position, gathers, scatters, selection by value.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kFar = std::numeric_limits<int32_t>::max();

// The masks of a StridedSlice applied to an input of that rank.
struct SlicePlan {
  std::vector<int64_t> starts, ends, axes, steps;
  std::vector<int64_t> squeezed;    // axes of the slice that go away
  std::vector<int64_t> unsqueezed;  // axes of the result that are new
};

std::optional<SlicePlan> plan_slice(NodeContext& node, int rank, const std::vector<int64_t>& begin,
                                    const std::vector<int64_t>& end,
                                    const std::vector<int64_t>& strides) {
  const auto has = [&](const char* mask, size_t bit) {
    return bit < 63 && ((node.attr_int(mask, 0) >> bit) & 1) != 0;
  };
  int consumed = 0;  // axes of the input that entries stand for, the ellipsis aside
  for (size_t i = 0; i < begin.size(); ++i) {
    consumed += has("ellipsis_mask", i) || has("new_axis_mask", i) ? 0 : 1;
  }
  SlicePlan plan;
  int axis = 0;
  int result_axis = 0;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (has("ellipsis_mask", i)) {
      const int hidden = std::max(0, rank - consumed);
      axis += hidden;
      result_axis += hidden;
    } else if (has("new_axis_mask", i)) {
      plan.unsqueezed.push_back(result_axis++);
    } else if (axis >= rank) {
      node.error(fmt::format("slices {} axes of an input of rank {}", consumed, rank));
      return std::nullopt;
    } else if (has("shrink_axis_mask", i)) {
      plan.starts.push_back(begin[i]);
      plan.ends.push_back(begin[i] == -1 || begin[i] > kFar ? std::max(kFar, begin[i])
                                                            : begin[i] + 1);
      plan.axes.push_back(axis);
      plan.steps.push_back(1);
      plan.squeezed.push_back(axis++);
    } else {
      const bool back = strides[i] < 0;
      const bool from_edge = has("begin_mask", i);
      const bool to_edge = has("end_mask", i);
      if (!(from_edge && to_edge && strides[i] == 1)) {
        plan.starts.push_back(from_edge ? (back ? -1 : 0) : begin[i]);
        plan.ends.push_back(to_edge ? (back ? -kFar : kFar) : end[i]);
        plan.axes.push_back(axis);
        plan.steps.push_back(strides[i]);
      }
      ++axis;
      ++result_axis;
    }
  }
  return plan;
}

// A slice whose begin or end the run computes. Where an axis loses itself (x[:, i]) its extent is 1
// whatever the number; elsewhere the whole axis is the most that can come out.
void slice_at_run_time(NodeContext& node) {
  const Shape list = node.shape(1);
  const auto strides = node.ints(3);
  if (!list.is_static() || list.rank() != 1 || list[0].extent() > kMaxRank) {
    node.unresolved("how many axes it slices is not known before the run");
    return;
  }
  const auto count = static_cast<size_t>(list[0].extent());
  const std::vector<int64_t> zeros(count, 0);
  const std::vector<int64_t> ones(count, 1);
  const std::vector<int64_t> far(count, kFar);
  const auto begin = node.ints(1);
  const auto end = node.ints(2);
  const bool fits = strides && strides->size() == count;
  const auto plan = plan_slice(node, node.rank(0), begin && begin->size() == count ? *begin : zeros,
                               end && end->size() == count ? *end : far, fits ? *strides : ones);
  if (!plan) {
    return;
  }
  std::vector<int64_t> sizes = node.shape(0).extents();
  bool bound = false;
  for (const int64_t axis : plan->axes) {
    const bool dropped =
        std::find(plan->squeezed.begin(), plan->squeezed.end(), axis) != plan->squeezed.end();
    sizes[static_cast<size_t>(axis)] = dropped ? 1 : sizes[static_cast<size_t>(axis)];
    bound = bound || !dropped;
  }
  Emitter& emitter = node.emitter();
  TensorId result = node.emit("DynamicSlice", {node.plain(0), node.plain(1)},
                              {{"sizes", sizes}, {"bound", int64_t{bound}}}, kTensorFlow);
  if (!plan->squeezed.empty()) {
    result = node.help("Squeeze", {result, emitter.add_ints(plan->squeezed)});
  }
  if (!plan->unsqueezed.empty()) {
    result = node.help("Unsqueeze", {result, emitter.add_ints(plan->unsqueezed)});
  }
  node.set(0, result);
}

void strided_slice(NodeContext& node, std::string_view target) {
  const auto begin = node.ints(1);
  const auto end = node.ints(2);
  const auto strides = node.ints(3);
  const bool one_row = node.attr_int("shrink_axis_mask", 0) == 1 && node.shape(1).is_static() &&
                       node.shape(1).elements() == Count(1);
  if (!begin && one_row && node.rank(0) > 0) {
    // One row, by a number that the run computes.
    const TensorId index = node.emitter().reshaped(node.plain(1), {});
    node.set(0, node.emit("Gather", {node.plain(0), index}, {{"axis", int64_t{0}}}));
    return;
  }
  if (!begin || !end || !strides) {
    slice_at_run_time(node);
    return;
  }
  if (begin->size() != end->size() || begin->size() != strides->size()) {
    node.error("begin, end and strides have different lengths");
    return;
  }
  const auto plan = plan_slice(node, node.rank(0), *begin, *end, *strides);
  if (!plan) {
    return;
  }
  Emitter& emitter = node.emitter();
  TensorId result = node.plain(0);
  if (!plan->axes.empty()) {
    result =
        node.emit(target, {result, emitter.add_ints(plan->starts), emitter.add_ints(plan->ends),
                           emitter.add_ints(plan->axes), emitter.add_ints(plan->steps)});
  }
  if (!plan->squeezed.empty()) {
    result = node.help("Squeeze", {result, emitter.add_ints(plan->squeezed)});
  }
  if (!plan->unsqueezed.empty()) {
    result = node.help("Unsqueeze", {result, emitter.add_ints(plan->unsqueezed)});
  }
  node.set(0, result);
}

// begin and size; a size of -1 goes to the end.
void slice(NodeContext& node, std::string_view target) {
  const auto begin = node.ints(1);
  auto size = node.ints(2);
  const int rank = node.rank(0);
  const bool sizes_known =
      size && static_cast<int>(size->size()) == rank &&
      std::all_of(size->begin(), size->end(), [](int64_t s) { return s >= 0 && s <= kMaxExtent; });
  if (!begin && sizes_known) {
    node.set(0, node.emit("DynamicSlice", {node.plain(0), node.plain(1)}, {{"sizes", *size}},
                          kTensorFlow));
    return;
  }
  if (!begin || !size || static_cast<int>(begin->size()) != rank || begin->size() != size->size()) {
    node.unresolved("where it begins or ends is not known before the run");
    return;
  }
  std::vector<int64_t> ends;
  std::vector<int64_t> axes(begin->size());
  std::iota(axes.begin(), axes.end(), 0);
  for (size_t i = 0; i < size->size(); ++i) {
    const Count stop = Count((*begin)[i]) + Count((*size)[i]);
    ends.push_back((*size)[i] < 0 || stop.overflowed() ? std::numeric_limits<int32_t>::max()
                                                       : stop.value());
  }
  Emitter& emitter = node.emitter();
  node.set(0, node.emit(target, {node.plain(0), emitter.add_ints(*begin), emitter.add_ints(ends),
                                 emitter.add_ints(axes)}));
}

void gather(NodeContext& node, std::string_view target) {
  const auto given = node.has_input(2) ? node.integer(2) : std::optional<int64_t>(0);
  if (!given || node.rank(0) == 0) {
    node.unresolved("its axis is not known before the run");
    return;
  }
  const int axis = node.axis(*given, node.rank(0));
  const int64_t batch_dims = node.attr_int("batch_dims", 0);
  if (batch_dims != 0) {
    node.set(0, node.emit("BatchedGather", {node.plain(0), node.plain(1)},
                          {{"axis", int64_t{axis}}, {"batch_dims", batch_dims}}, kTensorFlow));
    return;
  }
  node.set(0, node.emit(target, {node.plain(0), node.plain(1)}, {{"axis", int64_t{axis}}}));
}

void gather_nd(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0), node.plain(1)},
                        {{"batch_dims", node.attr_int("batch_dims", 0)}}));
}

void one_hot(NodeContext& node, std::string_view target) {
  const TensorId off = node.help("Unsqueeze", {node.plain(3), node.emitter().add_ints({0})});
  const TensorId on = node.help("Unsqueeze", {node.plain(2), node.emitter().add_ints({0})});
  const TensorId values = node.help("Concat", {off, on}, {{"axis", int64_t{0}}});
  node.set(0, node.emit(target, {node.plain(0), node.plain(1), values},
                        {{"axis", node.attr_int("axis", -1)}}));
}

void top_k(NodeContext& node, std::string_view target) {
  TensorId k;
  if (node.has_input(1)) {
    k = node.emitter().reshaped(node.plain(1), {1});
  } else {
    k = node.emitter().add_ints({node.attr_int("k", 1)});
  }
  const auto results = node.emit_many(target, {node.plain(0), k}, {{"axis", int64_t{-1}}}, 2);
  node.set(0, results[0]);
  node.set(1, results[1]);
}

// Indices of what is not 0, one row each: as many as there are elements, at most.
void where(NodeContext& node, std::string_view target) {
  const TensorId found = node.help(target, {node.plain(0)});
  node.set(0, node.emit("Transpose", {found}, {{"perm", std::vector<int64_t>{1, 0}}}));
}

void unique(NodeContext& node, std::string_view target) {
  const auto results = node.emit_many(target, {node.plain(0)}, {}, 4);
  node.set(0, results[0]);
  node.set(1, results[2]);
  node.set(2, results[3]);
}

// Into a new tensor of zeros, or into a copy.
void scatter_new(NodeContext& node, std::string_view target) {
  const auto extents = node.ints(2);
  if (!extents) {
    node.unresolved("its shape is not known before the run");
    return;
  }
  ConstValue zero{node.dtype(1), {1}, {}, {}};
  (is_floating(zero.dtype) ? zero.floats.push_back(0) : zero.ints.push_back(0));
  const TensorId data = node.help("ConstantOfShape", {node.emitter().add_ints(*extents)},
                                  {{"value", std::move(zero)}});
  node.set(0, node.emit(target, {data, node.plain(0), node.plain(1)},
                        {{"reduction", std::string("add")}}));
}

void scatter_into(NodeContext& node, std::string_view target) {
  const bool adds = node.type() != "TensorScatterUpdate";
  node.set(0, node.emit(target, {node.plain(0), node.plain(1), node.plain(2)},
                        {{"reduction", std::string(adds ? "add" : "none")}}));
}

// boxes, scores, most boxes, thresholds: how many stay depends on the data.
void suppress(NodeContext& node, std::string_view /*target*/) {
  const auto most = node.integer(2);
  const Shape boxes = node.shape(0);
  if (boxes.rank() != 2) {
    node.unresolved("expected boxes [N, 4]");
    return;
  }
  const auto limit = std::min(most.value_or(kMaxExtent), boxes[0].extent());
  const auto results = node.emit_many("NonMaxSuppression", {node.plain(0), node.plain(1)},
                                      {{"most", std::max<int64_t>(0, limit)}}, 3, kTensorFlow);
  const bool scores = node.type() == "NonMaxSuppressionV5";
  node.set(0, results[0]);
  node.set(1, scores ? results[1] : results[2]);
  node.set(2, results[2]);
}

// clang-format off
constexpr TfRule kGatherRules[] = {
    {.type = "StridedSlice", .translate = strided_slice, .target = "Slice", .required_inputs = 4},
    {.type = "Slice", .translate = slice, .target = "Slice", .required_inputs = 3},
    {.type = "Gather", .translate = gather, .target = "Gather", .required_inputs = 2},
    {.type = "GatherV2", .translate = gather, .target = "Gather", .required_inputs = 3},
    {.type = "ResourceGather", .translate = gather, .target = "Gather", .required_inputs = 2},
    {.type = "GatherNd", .translate = gather_nd, .target = "GatherND", .required_inputs = 2},
    {.type = "ResourceGatherNd", .translate = gather_nd, .target = "GatherND",
     .required_inputs = 2},
    {.type = "OneHot", .translate = one_hot, .target = "OneHot", .required_inputs = 4},
    {.type = "TopK", .translate = top_k, .target = "TopK"},
    {.type = "TopKV2", .translate = top_k, .target = "TopK", .required_inputs = 2},
    {.type = "Where", .translate = where, .target = "NonZero"},
    {.type = "Unique", .translate = unique, .target = "Unique"},
    {.type = "UniqueV2", .translate = unique, .target = "Unique"},
    {.type = "UniqueWithCounts", .translate = unique, .target = "Unique"},
    {.type = "ScatterNd", .translate = scatter_new, .target = "ScatterND", .required_inputs = 3},
    {.type = "TensorScatterUpdate", .translate = scatter_into, .target = "ScatterND",
     .required_inputs = 3},
    {.type = "TensorScatterAdd", .translate = scatter_into, .target = "ScatterND",
     .required_inputs = 3},
    {.type = "NonMaxSuppressionV2", .translate = suppress, .required_inputs = 3},
    {.type = "NonMaxSuppressionV3", .translate = suppress, .required_inputs = 3},
    {.type = "NonMaxSuppressionV4", .translate = suppress, .required_inputs = 3},
    {.type = "NonMaxSuppressionV5", .translate = suppress, .required_inputs = 3},
};
// clang-format on

}  // namespace

std::span<const TfRule> gather_tf_rules() { return kGatherRules; }

}  // namespace dfsim::inline graphs
