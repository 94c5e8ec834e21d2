// Casts: which element type each operator computes in, and the Cast operators that follow from it.
#pragma once

#include <functional>

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// fp32, fp16 and bf16: what casts go between. Other floating types are left alone.
bool is_castable(DType dtype);

struct ChosenDtypes {
  // Floating operands of another type are cast to it; kUnknown = operands stay as they are.
  DType operands = DType::kUnknown;
  // The type of the floating results; kUnknown = the widest of the operands, as PyTorch promotes
  // types.
  DType results = DType::kUnknown;
};

// Asked once per operator, producers first, when its operands have their types.
using ChooseDtypes = std::function<ChosenDtypes(const EditableGraph& graph, OpId op)>;

enum class WeightCasts : uint8_t {
  kAhead,        // a weight is stored in the type that its reader wants
  kAheadForOne,  // so is one that is read once; others, numbers too, are cast in every run
  kPerRun,       // a weight keeps its type and is cast in every run, once for all readers
};

// Adds one Cast per tensor and type. Numbers (parameters of one element) change their type for
// nothing, but for kAheadForOne. O(ops + edges).
void insert_casts(EditableGraph& graph, const ChooseDtypes& choose, WeightCasts weights);

// The type that PyTorch promotes the operator's floating operands to: the widest of those that are
// not single numbers; kUnknown without any.
DType promoted_dtype(const EditableGraph& graph, const Op& op);

}  // namespace dfsim::inline graphs
