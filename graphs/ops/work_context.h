// WorkContext: one op of a finished graph as a work rule sees it.
#pragma once

#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "graphs/ir/graph.h"
#include "graphs/ops/work.h"

namespace dfsim::inline graphs {

// The work of a whole subgraph, whose sums may overflow.
struct BodyWork {
  Count macs, flops, bytes_read, bytes_written, weight_bytes;
  DType dtype = DType::kUnknown;
  bool matrix = false;
};

// Starts with bytes of all distinct inputs and of all outputs, arithmetic dtype of the first
// floating input (else of the first input), and no MACs or FLOPs; the rule refines it.
class WorkContext {
 public:
  // `flops_per_element` is that of the op's definition.
  WorkContext(const Graph& graph, const Op& op, double flops_per_element);

  const Op& op() const { return op_; }
  double flops_per_element() const { return flops_per_element_; }
  bool has_input(size_t i) const { return i < op_.inputs.size() && op_.inputs[i].valid(); }
  const Tensor& input(size_t i) const { return graph_.tensor(op_.inputs[i]); }
  const Tensor& output(size_t i) const { return graph_.tensor(op_.outputs[i]); }
  // The first output that exists; every op has one.
  const Tensor& first_output() const;
  const ConstValue* value(size_t i) const {
    return has_input(i) ? graph_.constant(op_.inputs[i]) : nullptr;
  }

  // Multiply-adds: also counted as two FLOPs each.
  void add_macs(Count macs);
  void add_flops(Count flops) { flops_ += flops; }
  // `per_element` scalar operations for each of `elements`.
  void add_flops(Count elements, double per_element);
  // Replaces the bytes read from one input, for ops that touch only part of it.
  void set_input_bytes(size_t i, Count bytes);
  void set_written_bytes(Count bytes) { written_ = bytes; }
  void set_no_traffic();
  void set_matrix() { work_.matrix = true; }
  void set_dtype(DType dtype) { work_.dtype = dtype; }

  // Replaces everything by `body`, `times` over.
  void set_body(const BodyWork& body, int64_t times);
  // finish() will return this instead.
  void set_error(Status error) { error_ = std::move(error); }

  // Error: some count does not fit in 63 bits, or what set_error() was given.
  StatusOr<OpWork> finish() const;

 private:
  // The same tensor is an earlier input, too. Called once per input, in order.
  bool is_repeated(size_t i);

  const Graph& graph_;
  const Op& op_;
  double flops_per_element_;
  OpWork work_;
  Count macs_;
  Count flops_;
  std::vector<Count> read_;  // per input slot
  Count written_;
  Count body_weights_;
  Status error_;
  std::unordered_set<TensorId> seen_;  // of ops with many inputs
};

// Counts flops_per_element() per element of the first output, reading and writing everything.
void work_per_element(WorkContext& context);
// Moves data without arithmetic: reads as many bytes as it writes.
void work_copy(WorkContext& context);
// Moves nothing at all.
void work_none(WorkContext& context);

}  // namespace dfsim::inline graphs
