// ONNX Runtime 1.32 copies a DequantizeLinear for each of its readers before it looks for quantised
// operators, and leaves the copies there. It takes functions (HardSwish) apart later, so the
// operators of one function read one copy; origins tell which operators these are.
#include "graphs/passes/fusion/qdq_readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "graphs/passes/origins.h"

namespace dfsim::inline graphs {
namespace {

// The operator of the model whose function this one is part of; "" for all others.
std::string function_of(const EditableGraph& graph, OpId id) {
  const std::vector<OpOrigin> origins = origins_of(graph.op(id));
  const bool is_part = origins.size() == 1 && origins[0].op_type != graph.op(id).op_type;
  return is_part ? origins[0].name : "";
}

TensorId add_twin(EditableGraph& graph, const Op& dequantise, size_t number) {
  const Tensor tensor = graph.tensor(dequantise.outputs[0]);
  Op twin = dequantise;
  twin.name += fmt::format("/{}", number);
  twin.outputs = {graph.add_tensor(twin.name, tensor.dtype, tensor.shape)};
  const TensorId copy = twin.outputs[0];
  graph.add_op(std::move(twin));
  return copy;
}

void visit_readers(EditableGraph& graph, const Op& dequantise) {
  const TensorId result = dequantise.outputs[0];
  const auto reading = graph.readers(result);
  const std::vector<OpId> readers(reading.begin(), reading.end());
  std::map<std::string, TensorId> taken;  // by function
  bool is_taken = graph.tensor(result).is_output;
  for (size_t i = 0; i < readers.size(); ++i) {
    const std::string function = function_of(graph, readers[i]);
    TensorId& own = taken[function.empty() ? fmt::format("#{}", i) : function];
    if (!own.valid()) {
      own = is_taken ? add_twin(graph, dequantise, i) : result;
      is_taken = true;
    }
    if (own != result) {
      const auto& inputs = graph.op(readers[i]).inputs;
      const auto at = std::find(inputs.begin(), inputs.end(), result);
      graph.set_input(readers[i], static_cast<size_t>(at - inputs.begin()), own);
    }
  }
}

}  // namespace

bool has_one_reader(const EditableGraph& graph, TensorId tensor) {
  const auto readers = graph.readers(tensor);
  const bool is_output = graph.tensor(tensor).is_output;
  if (readers.size() + (is_output ? 1 : 0) <= 1) {
    return true;
  }
  const std::string function = is_output ? "" : function_of(graph, readers[0]);
  return !function.empty() && std::ranges::all_of(readers, [&](OpId reader) {
    return function_of(graph, reader) == function;
  });
}

bool give_readers_dequantisers(EditableGraph& graph) {
  const uint64_t edits = graph.edits();
  for (const OpId id : graph.ops()) {
    const Op dequantise = graph.op(id);
    if (dequantise.op_type == "DequantizeLinear" && dequantise.domain.empty()) {
      visit_readers(graph, dequantise);
    }
  }
  return graph.edits() != edits;
}

}  // namespace dfsim::inline graphs
