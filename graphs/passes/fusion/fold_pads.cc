// A Pad with zeros before a convolution or a pool becomes part of its own padding.
#include <algorithm>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

// Begins, then ends, of all axes; none when something else than zeros is added at the end of axes.
// ONNX Runtime leaves a Pad whose third operand is named "" (zeros, too) where it is.
std::optional<std::vector<int64_t>> zero_pads(const EditableGraph& graph, const Op& pad) {
  const bool zeros = pad.inputs.size() < 3 ||
                     (pad.inputs[2].valid() && graph.scalar(pad.inputs[2]).value_or(1) == 0);
  if (pad.attributes.string_or("mode", "constant") != "constant" || !zeros ||
      (pad.inputs.size() > 3 && pad.inputs[3].valid())) {
    return std::nullopt;
  }
  if (pad.inputs.size() > 1) {
    return graph.ints(pad.inputs[1]);
  }
  const auto* given = pad.attributes.get_ints("pads");
  return given != nullptr ? std::optional(*given) : std::nullopt;
}

bool pads_nothing(const Op& op) {
  const auto* own = op.attributes.get_ints("pads");
  return own == nullptr || std::all_of(own->begin(), own->end(), [](int64_t p) { return p == 0; });
}

bool takes_pads(const Op& op, bool any_padding) {
  if (!op.domain.empty() || op.attributes.string_or("auto_pad", "NOTSET") != "NOTSET") {
    return false;
  }
  // The zeros count in a mean, which a pool's own padding does only when an attribute asks for it;
  // the largest of a window is another with zeros in it.
  if (op.op_type == "AveragePool") {
    return !any_padding || pads_nothing(op) || op.attributes.int_or("count_include_pad", 0) != 0;
  }
  return op.op_type == "Conv" || (!any_padding && op.op_type == "MaxPool");
}

}  // namespace

void fold_pads(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (graph.op(id).op_type != "Pad" || !graph.op(id).domain.empty()) {
      continue;
    }
    const auto pads = zero_pads(graph, graph.op(id));
    const OpId next = graph.sole_reader(graph.op(id).outputs[0]);
    if (!pads || !next.valid() || pads->size() < 6 || pads->size() % 2 != 0) {
      continue;
    }
    const bool any = std::any_of(pads->begin(), pads->end(), [](int64_t p) { return p != 0; });
    const bool inward = std::any_of(pads->begin(), pads->end(), [](int64_t p) { return p < 0; });
    const size_t rank = pads->size() / 2;
    const bool batch_or_channels =
        (*pads)[0] != 0 || (*pads)[1] != 0 || (*pads)[rank] != 0 || (*pads)[rank + 1] != 0;
    if (inward || batch_or_channels || !takes_pads(graph.op(next), any)) {
      continue;
    }
    Op merged = graph.op(next);
    const auto* own = merged.attributes.get_ints("pads");
    std::vector<int64_t> sum = own != nullptr ? *own : std::vector<int64_t>(2 * (rank - 2), 0);
    for (size_t i = 0; i + 2 < rank; ++i) {
      sum[i] += (*pads)[i + 2];
      sum[i + rank - 2] += (*pads)[i + rank + 2];
    }
    merged.attributes.set("pads", sum);
    if (any && merged.op_type == "AveragePool") {
      merged.attributes.set("count_include_pad", int64_t{1});
    }
    merged.inputs[0] = graph.op(id).inputs[0];
    graph.fuse({id, next}, std::move(merged));
  }
}

}  // namespace dfsim::inline graphs
