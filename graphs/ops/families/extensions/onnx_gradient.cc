// ONNX's Gradient operator names tensors whose gradient it stands for, without a backward graph.
// The operator costs the backward pass of the operators between them, found by walking forwards
// from the one side and backwards from the other.
#include "graphs/ops/families/extensions/onnx_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/ops/infer.h"

namespace dfsim::inline graphs {
namespace {

constexpr size_t kMostGradients = 100;

bool is_gradient(const Op& op) {
  return op.op_type == "Gradient" && op.domain == "ai.onnx.preview.training";
}

using Names = std::unordered_map<std::string_view, TensorId>;

Status unknown_tensor(const Op& op, std::string_view attribute, const std::string& name) {
  return invalid_input(
      fmt::format("Gradient '{}': {} names '{}', which is not a tensor of the graph",
                  printable(op.name), attribute, printable(name)));
}

bool any_of(const std::vector<TensorId>& ids, const std::vector<bool>& marked) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](TensorId id) { return id.valid() && marked[id.index()]; });
}

void mark(const std::vector<TensorId>& ids, std::vector<bool>* marked) {
  for (const TensorId id : ids) {
    if (id.valid()) {
      (*marked)[id.index()] = true;
    }
  }
}

// Ops that x reaches and that reach y.
StatusOr<std::vector<OpId>> ops_between(const Graph& graph, const Op& gradient,
                                        const Names& names) {
  std::vector<bool> from_x(graph.tensor_count(), false);
  std::vector<bool> to_y(graph.tensor_count(), false);
  const AttrValue* xs = gradient.attributes.find("xs");
  const auto* list = xs != nullptr ? std::get_if<std::vector<std::string>>(xs) : nullptr;
  for (const std::string& x : list != nullptr ? *list : std::vector<std::string>()) {
    const auto it = names.find(x);
    if (it == names.end()) {
      return unknown_tensor(gradient, "xs", x);
    }
    from_x[it->second.index()] = true;
  }
  const std::string y(gradient.attributes.string_or("y", ""));
  const auto it = names.find(y);
  if (it == names.end()) {
    return unknown_tensor(gradient, "y", y);
  }
  to_y[it->second.index()] = true;
  std::vector<bool> reached(graph.op_count(), false);
  for (size_t i = 0; i < graph.op_count(); ++i) {
    const Op& op = graph.op(OpId(i));
    if (any_of(op.inputs, from_x) && !is_gradient(op)) {
      reached[i] = true;
      mark(op.outputs, &from_x);
    }
  }
  std::vector<OpId> between;
  for (size_t i = graph.op_count(); i-- > 0;) {
    const Op& op = graph.op(OpId(i));
    if (any_of(op.outputs, to_y)) {
      mark(op.inputs, &to_y);
      if (reached[i]) {
        between.emplace_back(i);
      }
    }
  }
  return between;
}

}  // namespace

StatusOr<Graph> cost_gradients(Graph graph) {
  std::vector<OpId> gradients;
  for (size_t i = 0; i < graph.op_count(); ++i) {
    if (is_gradient(graph.op(OpId(i)))) {
      gradients.emplace_back(i);
    }
  }
  if (gradients.empty()) {
    return graph;
  }
  if (gradients.size() > kMostGradients) {
    return invalid_input(fmt::format("the graph has {} Gradient operators; expected at most {}",
                                     gradients.size(), kMostGradients));
  }
  Names names;
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    names.emplace(graph.tensor(TensorId(t)).name, TensorId(t));
  }
  GraphBuilder builder(graph);
  for (const OpId id : gradients) {
    DFSIM_ASSIGN_OR_RETURN(const auto between, ops_between(graph, graph.op(id), names));
    Count macs;
    Count flops;
    Count read;
    Count written;
    for (const OpId op : between) {
      DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(graph, op));
      macs += Count(work.macs);
      flops += Count(work.flops);
      read += Count(work.bytes_read);
      written += Count(work.bytes_written);
    }
    for (const auto& [name, sum] :
         {std::pair(kForwardMacs, macs), std::pair(kForwardFlops, flops),
          std::pair(kForwardRead, read), std::pair(kForwardWritten, written)}) {
      if (sum.overflowed()) {
        return invalid_input(fmt::format("Gradient '{}': its work does not fit in 63 bits",
                                         printable(graph.op(id).name)));
      }
      builder.op(id).attributes.set(std::string(name), sum.value());
    }
  }
  return builder.build();
}

}  // namespace dfsim::inline graphs
