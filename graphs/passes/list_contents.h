// What lists of tensors hold, followed from operator to operator while loops are written out.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "graphs/ir/graph_builder.h"

namespace dfsim::inline graphs {

// Lists are values: putting an element in makes a new one. Each remembers what was put in last and
// the list before; memory is O(1) per operator. Knows TensorList operators of domain tensorflow and
// the sequences of ai.onnx that grow at their end; other operators make lists it knows nothing of.
class ListContents {
 public:
  explicit ListContents(const GraphBuilder& builder) : builder_(builder) {}

  // Call for every operator, producers first.
  void record(const Op& op);
  // A list that holds these.
  void record(TensorId list, std::vector<TensorId> elements);

  // The tensor that an operator which reads one element (TensorListGetItem, SequenceAt) gives, when
  // it was put in one by one. O(elements put in since).
  TensorId element_read(const Op& op) const;
  // All elements of the list in order; none when some of them are not known one by one.
  std::optional<std::vector<TensorId>> elements(TensorId list) const;

 private:
  struct State {
    TensorId before;  // the list that this one was, none = it starts here
    int64_t index = 0;
    TensorId element;  // none: nothing was put in
    int64_t length = 0;
  };

  std::optional<int64_t> number(TensorId id) const;
  const State* state(TensorId list) const;
  TensorId element(TensorId list, int64_t index) const;

  const GraphBuilder& builder_;
  std::unordered_map<TensorId, State> states_;
};

}  // namespace dfsim::inline graphs
