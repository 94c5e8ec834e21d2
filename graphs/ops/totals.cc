#include "graphs/ops/totals.h"

#include <algorithm>
#include <set>

#include "graphs/ops/infer.h"
#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {
namespace {

// Running mean and variance are computed, not trained.
std::vector<bool> running_statistics(const Graph& graph) {
  std::vector<bool> statistics(graph.tensor_count(), false);
  for (const Op& op : graph.ops()) {
    if (op.op_type == "BatchNormalization") {
      for (size_t i = 3; i < 5 && i < op.inputs.size(); ++i) {
        if (op.inputs[i].valid()) {
          statistics[op.inputs[i].index()] = true;
        }
      }
    }
  }
  return statistics;
}

// Index tables and masks are stored with the weights, but training does not change them.
bool is_trainable_type(DType dtype) {
  return dtype != DType::kInt64 && dtype != DType::kInt32 && dtype != DType::kBool;
}

// Elements of a weight, of which its readers may store several to a byte.
Count weight_elements(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensor(id);
  for (const OpId reader : graph.consumers(id)) {
    const Op& op = graph.op(reader);
    const OpDef* def = find_op_def(op.domain, op.op_type);
    if (def == nullptr || def->stored_elements == nullptr) {
      continue;
    }
    const auto at = std::find(op.inputs.begin(), op.inputs.end(), id);
    return def->stored_elements(op, static_cast<size_t>(at - op.inputs.begin()), tensor);
  }
  return tensor.shape.elements();
}

}  // namespace

StatusOr<GraphTotals> graph_totals(const Graph& graph) {
  GraphTotals totals;
  Count macs;
  Count flops;
  Count bytes;
  for (size_t i = 0; i < graph.op_count(); ++i) {
    DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(graph, OpId(i)));
    macs += Count(work.macs);
    flops += Count(work.flops);
    bytes += Count(work.bytes());
    totals.work.push_back(work);
  }
  const std::vector<bool> statistics = running_statistics(graph);
  Count parameters;
  Count weight_bytes;
  std::set<uint32_t> seen;  // storage that several tensors share
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensor(TensorId(t));
    if (tensor.role != TensorRole::kWeight || tensor.producer.valid() ||
        graph.consumers(TensorId(t)).empty() || !tensor.shape.is_static()) {
      continue;
    }
    if (tensor.storage_key != 0 && !seen.insert(tensor.storage_key).second) {
      continue;
    }
    weight_bytes += tensor.bytes();
    if (!statistics[t] && is_trainable_type(tensor.dtype)) {
      parameters += weight_elements(graph, TensorId(t));
    }
  }
  for (const auto& [name, sum] :
       {std::pair("MACs", macs), std::pair("FLOPs", flops), std::pair("bytes moved", bytes),
        std::pair("weight bytes", weight_bytes + parameters)}) {
    if (sum.overflowed()) {
      return invalid_input(std::string("the model's ") + name +
                           " do not fit in 63 bits; check its dimensions");
    }
  }
  totals.macs = macs.value();
  totals.flops = flops.value();
  totals.parameters = parameters.value();
  totals.weight_bytes = weight_bytes.value();
  return totals;
}

}  // namespace dfsim::inline graphs
