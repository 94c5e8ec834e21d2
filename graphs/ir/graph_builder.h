// GraphBuilder: collects tensors and ops in any order, then validates them into a Graph.
//
// Importers fill one, shape inference refines it in place, passes rebuild one from a Graph.
// build() sorts ops topologically (stable: file order among independent ops), makes empty or
// repeated op names unique ("Conv_3"), and checks the invariants of graph.h.
// Complexity of build(): O(ops + tensors + edges).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

// One element of a list of tensors whose elements are known one by one.
struct ListElement {
  DType dtype = DType::kUnknown;
  Shape shape;
  std::shared_ptr<const ConstValue> value;  // null: not known
};
using ListElements = std::vector<ListElement>;

// Longer lists are known by their length and common shape only.
inline constexpr size_t kMaxListElements = 1024;

class GraphBuilder {
 public:
  GraphBuilder() = default;
  // Starts from an existing graph, ids kept.
  explicit GraphBuilder(const Graph& graph);

  // The tensor of that name, created (unknown dtype and shape) when it is new.
  TensorId tensor_by_name(std::string_view name);
  // The tensor of that name, or none.
  TensorId find_tensor(std::string_view name) const;
  // A new tensor; `name` is made unique by a suffix when it is taken or empty.
  TensorId add_tensor(Tensor tensor);
  // Adds the op and becomes the producer of its outputs. Error: an output already has a producer
  // or is a graph input or weight.
  StatusOr<OpId> add_op(Op op);
  void mark_input(TensorId id);
  void mark_output(TensorId id);
  // Replaces the list of inputs; the caller keeps Tensor::is_input in step.
  void set_inputs(std::vector<TensorId> inputs) { graph_.inputs_ = std::move(inputs); }
  void set_constant(TensorId id, ConstValue value);
  const ConstValue* constant(TensorId id) const;
  // The known elements of a list, in their order; nullptr when they are not known. build() forgets
  // them.
  void set_elements(TensorId id, ListElements elements);
  std::shared_ptr<const ListElements> elements(TensorId id) const;
  // Index of the named symbol, created when new.
  uint32_t symbol(std::string_view name);
  const std::vector<std::string>& symbols() const { return graph_.symbols_; }

  size_t op_count() const { return graph_.ops_.size(); }
  size_t tensor_count() const { return graph_.tensors_.size(); }
  Op& op(OpId id) { return graph_.ops_[id.index()]; }
  const Op& op(OpId id) const { return graph_.ops_[id.index()]; }
  Tensor& tensor(TensorId id) { return graph_.tensors_[id.index()]; }
  const Tensor& tensor(TensorId id) const { return graph_.tensors_[id.index()]; }
  const std::vector<TensorId>& inputs() const { return graph_.inputs_; }
  const std::vector<TensorId>& outputs() const { return graph_.outputs_; }
  GraphInfo& info() { return graph_.info_; }
  const GraphInfo& info() const { return graph_.info_; }

  // Sorts the ops added so far topologically (op ids change) and checks that there is no cycle.
  // Error: kInvalidInput naming up to five ops of a cycle.
  Status sort();

  // Names the operators that have no name, or that of another one. build() does so, too; before
  // shape inference it gives messages something to name.
  void name_ops();

  // Validates and hands over; the builder is empty afterwards.
  StatusOr<Graph> build();

 private:
  void index_consumers();

  Graph graph_;
  std::unordered_map<std::string, TensorId> tensor_ids_;
  std::unordered_map<std::string, uint32_t> symbol_ids_;
  std::unordered_map<TensorId, std::shared_ptr<const ListElements>> elements_;
};

}  // namespace dfsim::inline graphs
