// Reductions over axes, softmax, losses.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

// Axes counted from the front, sorted, each once; nullopt when they are not known.
std::optional<std::vector<int64_t>> axes_of(NodeContext& node, size_t input, int rank) {
  const auto given = node.ints(input);
  if (!given) {
    return std::nullopt;
  }
  std::vector<int64_t> axes;
  for (const int64_t axis : *given) {
    axes.push_back(node.axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

std::vector<int64_t> in_channels_first(const std::vector<int64_t>& axes, int rank) {
  std::vector<int64_t> own;
  for (const int64_t axis : axes) {
    own.push_back(axis == 0 ? 0 : axis == rank - 1 ? 1 : axis + 1);
  }
  std::sort(own.begin(), own.end());
  return own;
}

// All spatial axes of an image that is channels-first: what global pooling does.
bool is_global_pool(NodeContext& node, const std::vector<int64_t>& axes, int rank) {
  if (node.type() != "Mean" || !node.prefers_channels_first(0) ||
      static_cast<int>(axes.size()) != rank - 2) {
    return false;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i) + 1) {
      return false;
    }
  }
  return true;
}

// Whether the remaining axes have the same order in both layouts.
bool order_stays(const std::vector<int64_t>& axes, int rank) {
  const bool channels_go = std::find(axes.begin(), axes.end(), rank - 1) != axes.end();
  const auto spatial =
      std::count_if(axes.begin(), axes.end(), [&](int64_t a) { return a > 0 && a < rank - 1; });
  return channels_go || spatial == rank - 2;
}

void reduce(NodeContext& node, std::string_view target) {
  const int rank = node.rank(0);
  const auto axes = axes_of(node, 1, rank);
  const bool keep = node.attr_bool("keep_dims", false) || node.attr_bool("keepdims", false);
  if (!axes) {
    node.unresolved("its axes are not known before the run");
    return;
  }
  if (axes->empty()) {
    node.set_value(0, node.input(0));
    return;
  }
  Emitter& emitter = node.emitter();
  if (is_global_pool(node, *axes, rank)) {
    const Shape shape = node.shape(0);
    const TensorId pooled = node.emit("GlobalAveragePool", {emitter.channels_first(node.input(0))});
    if (keep) {
      node.set_channels_first(0, pooled);
    } else {
      node.set(0, emitter.reshaped(pooled, {shape[0].extent(), shape[rank - 1].extent()}));
    }
    return;
  }
  const bool channels_first = node.prefers_channels_first(0) && (keep || order_stays(*axes, rank));
  const TensorId x = channels_first ? emitter.channels_first(node.input(0)) : node.plain(0);
  const auto own = channels_first ? in_channels_first(*axes, rank) : *axes;
  const TensorId result =
      node.emit(target, {x, emitter.add_ints(own)}, {{"keepdims", int64_t{keep}}});
  if (channels_first && keep) {
    node.set_channels_first(0, result);
  } else {
    node.set(0, result);
  }
}

void arg_reduce(NodeContext& node, std::string_view target) {
  const auto given = node.has_input(1) ? node.integer(1) : std::optional<int64_t>(0);
  if (!given) {
    node.unresolved("its axis is not known before the run");
    return;
  }
  const int axis = node.axis(*given, node.rank(0));
  node.set(0,
           node.emit(target, {node.plain(0)}, {{"axis", int64_t{axis}}, {"keepdims", int64_t{0}}}));
}

void cumulative(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0), node.plain(1)},
                        {{"exclusive", int64_t{node.attr_bool("exclusive", false)}},
                         {"reverse", int64_t{node.attr_bool("reverse", false)}}}));
}

void softmax(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0)}, {{"axis", int64_t{-1}}}));
}

// Half the sum of squares.
void l2_loss(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0)}, {{"keepdims", int64_t{0}}}));
}

// Loss per row, and the gradient of the logits.
void cross_entropy(NodeContext& node, std::string_view target) {
  const auto results = node.emit_many(target, {node.plain(0), node.plain(1)}, {}, 2, kTensorFlow);
  node.set(0, results[0]);
  node.set(1, results[1]);
}

void in_top_k(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0), node.plain(1)}, {}, kTensorFlow));
}

// clang-format off
constexpr TfRule kReduceRules[] = {
    {.type = "Sum", .translate = reduce, .target = "ReduceSum", .required_inputs = 2},
    {.type = "Mean", .translate = reduce, .target = "ReduceMean", .required_inputs = 2},
    {.type = "Max", .translate = reduce, .target = "ReduceMax", .required_inputs = 2},
    {.type = "Min", .translate = reduce, .target = "ReduceMin", .required_inputs = 2},
    {.type = "Prod", .translate = reduce, .target = "ReduceProd", .required_inputs = 2},
    {.type = "EuclideanNorm", .translate = reduce, .target = "ReduceL2", .required_inputs = 2},
    // Reductions of booleans: as of the numbers 0 and 1.
    {.type = "All", .translate = reduce, .target = "ReduceMin", .required_inputs = 2},
    {.type = "Any", .translate = reduce, .target = "ReduceMax", .required_inputs = 2},
    {.type = "ArgMax", .translate = arg_reduce, .target = "ArgMax"},
    {.type = "ArgMin", .translate = arg_reduce, .target = "ArgMin"},
    {.type = "Cumsum", .translate = cumulative, .target = "CumSum", .required_inputs = 2},
    {.type = "Cumprod", .translate = cumulative, .target = "CumProd", .required_inputs = 2},
    {.type = "Softmax", .translate = softmax, .target = "Softmax"},
    {.type = "LogSoftmax", .translate = softmax, .target = "LogSoftmax"},
    {.type = "L2Loss", .translate = l2_loss, .target = "ReduceSumSquare"},
    {.type = "SoftmaxCrossEntropyWithLogits", .translate = cross_entropy,
     .target = "SoftmaxCrossEntropyWithLogits", .required_inputs = 2},
    {.type = "SparseSoftmaxCrossEntropyWithLogits", .translate = cross_entropy,
     .target = "SparseSoftmaxCrossEntropyWithLogits", .required_inputs = 2},
    {.type = "InTopKV2", .translate = in_top_k, .target = "InTopK", .required_inputs = 2},
    {.type = "InTopK", .translate = in_top_k, .target = "InTopK", .required_inputs = 2},
};
// clang-format on

}  // namespace

std::span<const TfRule> reduce_tf_rules() { return kReduceRules; }

}  // namespace dfsim::inline graphs
