// Two rewritings for tensor parallelism. ProjectionSplitter replaces one product whose result is
// split (queries, keys, values) by a product for each part, so that each can be cut by heads.
// VocabularyPadder rounds the rows of embeddings and output layers up, so that they divide by
// the devices.
#include "graphs/passes/layout/split_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {
namespace {

// From the product to the Split, which it includes.
struct FusedProjection {
  OpId product;
  OpId bias;     // an Add, or none
  OpId reshape;  // that leaves the last axis, or none
  OpId split;
  int64_t part = 0;  // columns
};

bool multiplies_by_weight(const EditableGraph& graph, const Op& op) {
  const bool linear = op.domain == kAten && op.op_type == "linear";
  const bool product = op.domain.empty() && (op.op_type == "MatMul" || op.op_type == "Gemm");
  return (linear || product) && graph.is_parameter(op.inputs[1]) &&
         graph.shape(op.inputs[1]).rank() == 2 && op.attributes.int_or("transB", 0) == 0;
}

class ProjectionSplitter {
 public:
  explicit ProjectionSplitter(EditableGraph& graph) : graph_(graph) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      if (graph_.alive(id)) {
        if (const auto found = projection_at(id)) {
          take_apart(*found);
        }
      }
    }
  }

 private:
  std::optional<FusedProjection> projection_at(OpId split) const {
    const Op& op = graph_.op(split);
    if (op.op_type != "Split" || !op.domain.empty() || op.outputs.size() < 2) {
      return std::nullopt;
    }
    const Shape& whole = graph_.shape(op.inputs[0]);
    const int64_t axis = op.attributes.int_or("axis", 0);
    const bool equal = std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
      return output.valid() && graph_.shape(output).is_static() &&
             graph_.shape(output) == graph_.shape(op.outputs[0]);
    });
    if (!equal || !whole.is_static() || (axis != -1 && axis != whole.rank() - 1)) {
      return std::nullopt;
    }
    FusedProjection found;
    found.split = split;
    found.part = graph_.shape(op.outputs[0])[whole.rank() - 1].extent();
    OpId at = sole_maker(op.inputs[0]);
    if (at.valid() && graph_.op(at).op_type == "Reshape" && keeps_last_axis(at)) {
      found.reshape = at;
      at = sole_maker(graph_.op(at).inputs[0]);
    }
    if (at.valid() && graph_.op(at).op_type == "Add" && bias_operand(at) >= 0) {
      found.bias = at;
      at = sole_maker(graph_.op(at).inputs[static_cast<size_t>(1 - bias_operand(at))]);
    }
    if (!at.valid() || !multiplies_by_weight(graph_, graph_.op(at))) {
      return std::nullopt;
    }
    found.product = at;
    return found;
  }

  // The operator that makes a tensor which one other alone reads.
  OpId sole_maker(TensorId id) const {
    return graph_.sole_reader(id).valid() ? graph_.producer(id) : OpId();
  }

  bool keeps_last_axis(OpId id) const {
    const Shape& from = graph_.shape(graph_.op(id).inputs[0]);
    const Shape& to = graph_.shape(graph_.op(id).outputs[0]);
    return from.rank() > 0 && to.rank() > 0 && from[from.rank() - 1] == to[to.rank() - 1];
  }

  // Which operand of an Add is a vector of parameters, or -1.
  int bias_operand(OpId id) const {
    const Op& op = graph_.op(id);
    for (int i = 0; i < 2; ++i) {
      const TensorId input = op.inputs[static_cast<size_t>(i)];
      if (graph_.is_parameter(input) && graph_.shape(input).rank() == 1) {
        return i;
      }
    }
    return -1;
  }

  static Shape with_last(const Shape& shape, int64_t extent) {
    Dims dims = shape.dims();
    dims.back() = Dim(extent);
    return Shape(std::move(dims));
  }

  void take_apart(const FusedProjection& found) {
    const std::vector<TensorId> parts = graph_.op(found.split).outputs;
    const Op product = graph_.op(found.product);
    const Op bias = found.bias.valid() ? graph_.op(found.bias) : Op();
    const Op reshape = found.reshape.valid() ? graph_.op(found.reshape) : Op();
    const int operand = found.bias.valid() ? bias_operand(found.bias) : -1;
    graph_.remove_op(found.split);
    for (const OpId id : {found.reshape, found.bias, found.product}) {
      if (id.valid()) {
        graph_.remove_op(id);
      }
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string suffix = fmt::format("{}{}", kWeightPart, i + 1);
      const bool last = !found.bias.valid() && !found.reshape.valid();
      Op own = product;
      own.name += suffix;
      for (size_t k = 1; k < own.inputs.size(); ++k) {
        if (own.inputs[k].valid()) {
          own.inputs[k] = part_of(own.inputs[k], found.part, suffix);
        }
      }
      TensorId made = last ? parts[i] : copy_of(product.outputs[0], found.part, suffix);
      own.outputs = {made};
      graph_.add_op(std::move(own));
      if (found.bias.valid()) {
        Op add = bias;
        add.name += suffix;
        const auto at = static_cast<size_t>(operand);
        add.inputs[at] = part_of(bias.inputs[at], found.part, suffix);
        add.inputs[1 - at] = made;
        made = found.reshape.valid() ? copy_of(bias.outputs[0], found.part, suffix) : parts[i];
        add.outputs = {made};
        graph_.add_op(std::move(add));
      }
      if (found.reshape.valid()) {
        Op shape = reshape;
        shape.name += suffix;
        shape.inputs = {made, graph_.add_ints(reshape.name + "/extents" + suffix,
                                              graph_.shape(parts[i]).extents())};
        shape.outputs = {parts[i]};
        graph_.add_op(std::move(shape));
      }
    }
  }

  TensorId part_of(TensorId parameter, int64_t columns, const std::string& suffix) {
    const Tensor tensor = graph_.tensor(parameter);
    return graph_.add_weight(tensor.name + suffix, tensor.dtype, with_last(tensor.shape, columns));
  }

  TensorId copy_of(TensorId id, int64_t columns, const std::string& suffix) {
    const Tensor tensor = graph_.tensor(id);
    return graph_.add_tensor(tensor.name + suffix, tensor.dtype, with_last(tensor.shape, columns));
  }

  EditableGraph& graph_;
};

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
      const auto has_rows = [&](TensorId tensor) {
        return tensor.valid() && graph_.shape(tensor).is_static() &&
               graph_.shape(tensor).rank() > 0 &&
               graph_.shape(tensor)[graph_.shape(tensor).rank() - 1] == Dim(rows);
      };
      const bool product = multiplies_by_weight(graph_, op) || op.op_type == "Gemm";
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

StatusOr<Graph> split_fused_weights(const Graph& graph) {
  EditableGraph edited(graph);
  ProjectionSplitter(edited).run();
  return edited.finish();
}

StatusOr<Graph> pad_vocabulary(const Graph& graph, int64_t least_rows, int64_t multiple,
                               size_t* padded) {
  EditableGraph edited(graph);
  *padded = VocabularyPadder(edited, least_rows, multiple).run();
  return edited.finish();
}

}  // namespace dfsim::inline graphs
