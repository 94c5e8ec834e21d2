// Compares three trips of one body, tensor by tensor. Nested bodies keep their marks.
#include "graphs/ops/families/layout/loop_marks.h"

#include <utility>

#include "graphs/ir/graph_builder.h"

namespace dfsim::inline graphs {

Status clear_marks_of_trips(const InferredBody& first, const InferredBody& last,
                            InferredBody* body) {
  const Graph& graph = *body->graph;
  if (first.graph->tensor_count() != graph.tensor_count() ||
      last.graph->tensor_count() != graph.tensor_count()) {
    return ok_status();  // an operator was rewritten in one of the trips
  }
  const auto is_exact = [](const Tensor& tensor) {
    return !tensor.data_dependent && !tensor.is_sequence && tensor.shape.is_static();
  };
  GraphBuilder builder(graph);
  bool cleared = false;
  for (size_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorId id(i);
    const Tensor& in_first = first.graph->tensor(id);
    const Tensor& in_last = last.graph->tensor(id);
    Tensor& tensor = builder.tensor(id);
    if (tensor.data_dependent && is_exact(in_first) && is_exact(in_last) &&
        tensor.name == in_first.name && tensor.shape == in_first.shape &&
        tensor.shape == in_last.shape) {
      tensor.data_dependent = false;
      cleared = true;
    }
  }
  if (!cleared) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(Graph built, builder.build());
  body->graph = std::make_shared<const Graph>(std::move(built));
  return ok_status();
}

}  // namespace dfsim::inline graphs
