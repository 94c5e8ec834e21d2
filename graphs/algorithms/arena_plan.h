// ArenaPlan: which buffers ONNX Runtime's memory planner gives the tensors of a graph, and their
// peak.
//
// Operators run one after the other, in the order in which ONNX Runtime walks the graph: depth
// first from the last ones, operands with a larger number first. Before the first run its planner
// decides for each tensor (allocation_planner.cc, one stream):
//   - a result of the graph gets a buffer of its own;
//   - a view (Reshape, Identity...) is the buffer of what it shows;
//   - an operator that may work in place overwrites its operand, when no other operator reads that
//   and
//     both have the same shape and width. Few kernels of the CPU may: activations, Clip, Softmax,
//     the summand of a fused convolution; Add and Mul may not;
//   - else it takes the buffer that was set free last among those of the same shape and width. Such
//     a buffer stays allocated from its first tensor to its last, also in between;
//   - else a new one.
// The peak is that of bytes as requested: not of chunks of 256 bytes, nor of kernels' scratch
// space, which is gone when an operator ends. Inputs, weights and constants lie elsewhere.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

struct ArenaPlan {
  std::vector<OpId> order;       // of execution
  std::vector<TensorId> buffer;  // by tensor: the first tensor in its buffer; none = elsewhere
  Bytes peak_bytes = 0;
  OpId peak_op;  // after it the arena is fullest; none without buffers
};

// Attribute, not 0: the operator's results are scratch space of the kernel that it is a step of.
inline constexpr std::string_view kScratch = "scratch";

// `graph` as the runtime executes it. Tensors of unknown shape count as nothing. `unsized`, by
// tensor: the planner does not know the shape, so the tensor gets a buffer of its own, which goes
// back to the arena after its last reader; empty: it knows all. Error: kInvalidInput when the bytes
// overflow. O((ops + edges) log degree + reuses * free buffers).
StatusOr<ArenaPlan> plan_arena(const Graph& graph, const std::vector<bool>& unsized = {});

}  // namespace dfsim::inline graphs
