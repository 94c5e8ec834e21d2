// InferContext: one op as a shape rule sees it while the graph is still being built.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph_builder.h"

namespace dfsim::inline graphs {

struct InferOptions;

class InferContext {
 public:
  // `options` must outlive the context.
  InferContext(GraphBuilder& builder, OpId op, const InferOptions& options)
      : builder_(builder), op_(op), options_(options) {}

  const InferOptions& options() const { return options_; }

  const Op& op() const { return builder_.op(op_); }
  int version() const { return op().version; }
  const Attributes& attributes() const { return op().attributes; }

  size_t input_count() const { return op().inputs.size(); }
  size_t output_count() const { return op().outputs.size(); }
  bool has_input(size_t i) const { return i < input_count() && op().inputs[i].valid(); }
  bool has_output(size_t i) const { return i < output_count() && op().outputs[i].valid(); }
  // Unknown rank or dtype for a missing input.
  const Shape& shape(size_t input) const;
  DType dtype(size_t input) const;
  // Only for inputs that are there.
  const Tensor& input_tensor(size_t input) const { return builder_.tensor(op().inputs[input]); }
  bool is_sequence(size_t input) const {
    return has_input(input) && input_tensor(input).is_sequence;
  }
  // -1 when it is not known.
  int64_t sequence_length(size_t input) const {
    return is_sequence(input) ? input_tensor(input).sequence_length : -1;
  }
  // The elements of a list, one by one, or nullptr.
  std::shared_ptr<const ListElements> elements(size_t input) const {
    return has_input(input) ? builder_.elements(op().inputs[input]) : nullptr;
  }
  // The known value of an input, or nullptr. Valid until a value is set.
  const ConstValue* value(size_t input) const;
  // The value of an integer input as a list, or nullopt.
  std::optional<std::vector<int64_t>> ints(size_t input) const;
  // An integer list that moved from attribute to input between opsets: the input when it is there
  // (nullopt if its value is unknown), else the attribute; `known_absent` tells that neither
  // exists.
  std::optional<std::vector<int64_t>> ints_from(std::string_view attribute, size_t input,
                                                bool* known_absent) const;

  // Outputs that the node does not name are skipped silently.
  void set_output(size_t i, DType dtype, Shape shape);
  // A list of `length` tensors (-1 = unknown) of that dtype and shape.
  void set_sequence(size_t i, DType dtype, Shape element, int64_t length);
  // A list whose elements are known one by one; its shape is the smallest that holds each of them.
  void set_list(size_t i, ListElements elements);
  // For what inference finds out about the op itself: subgraphs with shapes, trip counts.
  void set_attribute(std::string name, AttrValue value) {
    builder_.op(op_).attributes.set(std::move(name), std::move(value));
  }
  // Also sets dtype and shape from the value.
  void set_value(size_t i, ConstValue value);
  // The same for a rule that was called with the values of all inputs: unless one of those depends
  // on data, the extents are exact, too.
  void set_exact_value(size_t i, ConstValue value);
  void mark_data_dependent(size_t i);
  // Input i depends on data, though it may have a value: that of the largest extents.
  bool is_data_dependent(size_t i) const;
  // For ops whose attributes decide about their class (Dropout does nothing in inference).
  void set_class(OpClass op_class) { builder_.op(op_).op_class = op_class; }
  const Shape& output_shape(size_t i) const;
  DType output_dtype(size_t i) const;

  // kInvalidInput with the op's type and name in front.
  Status error(const std::string& message) const;
  // Axis in [-rank, rank) to [0, rank); an error otherwise.
  StatusOr<int> axis(int64_t axis, int rank) const;

 private:
  GraphBuilder& builder_;
  OpId op_;
  const InferOptions& options_;
};

// The shape that describes both: extents that differ are unknown, and so are ranks.
Shape common_shape(const Shape& a, const Shape& b);

// Multidirectional broadcasting of numpy; unknown rank when an operand's is unknown. A symbol meets
// 1 as itself; different unknown dims give an unknown dim. Error text (or "") in `conflict`.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string* conflict);

// The same as input 0, dtype and shape: the commonest rule.
Status infer_same_as_first(InferContext& context);
// Broadcast of all inputs, dtype of the first.
Status infer_broadcast(InferContext& context);

}  // namespace dfsim::inline graphs
