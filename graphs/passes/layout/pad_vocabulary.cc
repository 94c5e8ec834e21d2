// Vocabularies padded to a multiple: the table that a Gather looks up in, the projection to the
// same number of columns, also as autocast casts it, and every result that has it as its last
// extent.
#include <algorithm>
#include <set>

#include "graphs/passes/editable_graph.h"
#include "graphs/passes/layout/split_weights.h"
#include "graphs/passes/layout/weight_products.h"

namespace dfsim::inline graphs {
namespace {

class VocabularyPadder {
 public:
  VocabularyPadder(EditableGraph& graph, int64_t least_rows, int64_t multiple)
      : graph_(graph), least_rows_(least_rows), multiple_(multiple) {}

  size_t run() {
    const std::vector<OpId> order = graph_.ops();
    for (const OpId id : order) {
      const Op& op = graph_.op(id);
      if (op.op_type == "Gather" && graph_.is_parameter(op.inputs[0]) &&
          graph_.shape(op.inputs[0]).rank() == 2 && graph_.shape(op.inputs[0]).is_static()) {
        const int64_t rows = graph_.shape(op.inputs[0])[0].extent();
        if (rows >= least_rows_ && rows % multiple_ != 0) {
          sizes_.insert(rows);
          pad(op.inputs[0], rows);
        }
      }
    }
    for (const OpId id : order) {
      visit(id);
    }
    return sizes_.size();
  }

 private:
  int64_t padded(int64_t rows) const { return (rows + multiple_ - 1) / multiple_ * multiple_; }

  void pad(TensorId id, int64_t rows) {
    Dims dims = graph_.shape(id).dims();
    std::replace(dims.begin(), dims.end(), Dim(rows), Dim(padded(rows)));
    graph_.set_shape(id, Shape(std::move(dims)));
    padded_.insert(id);
  }

  // A product with a weight of that many columns, and what is made of its results.
  void visit(OpId id) {
    const Op& op = graph_.op(id);
    for (const int64_t rows : sizes_) {
      if (casts_weight(op, rows)) {
        pad(op.inputs[0], rows);
        pad(op.outputs[0], rows);
        continue;
      }
      const auto has_rows = [&](TensorId tensor) {
        return tensor.valid() && graph_.shape(tensor).is_static() &&
               graph_.shape(tensor).rank() > 0 &&
               graph_.shape(tensor)[graph_.shape(tensor).rank() - 1] == Dim(rows);
      };
      const bool product =
          (multiplies_by_weight(graph_, op) && !has_turned_weight(op)) || op.op_type == "Gemm";
      const bool reads_padded =
          std::any_of(op.inputs.begin(), op.inputs.end(),
                      [&](TensorId input) { return padded_.count(input) != 0; });
      if (op.outputs.empty() || !has_rows(op.outputs[0]) || (!product && !reads_padded)) {
        continue;
      }
      const std::vector<TensorId> inputs = op.inputs;
      for (const TensorId input : inputs) {
        const bool parameter = input.valid() && graph_.is_parameter(input) &&
                               graph_.shape(input).is_static() && padded_.count(input) == 0;
        if (parameter && is_in(graph_.shape(input), rows)) {
          pad(input, rows);
        }
      }
      const std::vector<TensorId> outputs = graph_.op(id).outputs;
      for (const TensorId output : outputs) {
        if (has_rows(output)) {
          pad(output, rows);
        }
      }
    }
  }

  bool casts_weight(const Op& op, int64_t rows) const {
    return op.op_type == "Cast" && graph_.is_parameter(op.inputs[0]) &&
           graph_.shape(op.inputs[0]).rank() == 2 && graph_.shape(op.inputs[0]).is_static() &&
           is_in(graph_.shape(op.inputs[0]), rows);
  }

  static bool is_in(const Shape& shape, int64_t rows) {
    return std::find(shape.dims().begin(), shape.dims().end(), Dim(rows)) != shape.dims().end();
  }

  EditableGraph& graph_;
  int64_t least_rows_;
  int64_t multiple_;
  std::set<int64_t> sizes_;
  std::set<TensorId> padded_;
};

}  // namespace

StatusOr<Graph> pad_vocabulary(const Graph& graph, int64_t least_rows, int64_t multiple,
                               size_t* padded) {
  EditableGraph edited(graph);
  *padded = VocabularyPadder(edited, least_rows, multiple).run();
  return edited.finish();
}

}  // namespace dfsim::inline graphs
