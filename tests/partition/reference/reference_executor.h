// Reference executor: runs graphs on small tensors, and sharded graphs on as many ranks as a mesh
// has, so that both can be compared. For tests only; correctness before speed.
//
// Common operators compute what ONNX says. Operators that share one factor rule with many others
// (most elementwise ones, quantised arithmetic, recurrent cells, regions of interest) are replaced
// by simpler functions that read exactly the same operand elements for each element of the result:
// whether a split is right depends on nothing else.
#pragma once

#include <string>
#include <vector>

#include "graphs/ir/graph.h"
#include "partition/sharding/device_mesh.h"
#include "partition/sharding/shard_graph.h"
#include "tests/partition/reference/reference_tensor.h"

namespace dfsim {

// Results of one op; a missing operand has no values. Throws std::runtime_error for an operator
// that it does not know.
std::vector<RefTensor> run_reference_op(const Op& op, const std::vector<RefTensor>& inputs,
                                        const std::vector<Index>& output_extents);
// The parts of it; each returns false when the operator is not among its own.
bool run_compute_op(const Op& op, const std::vector<RefTensor>& inputs,
                    std::vector<RefTensor>& outputs);
void run_experts(const Op& op, const std::vector<RefTensor>& inputs, RefTensor& out);
bool run_norm_op(const Op& op, const std::vector<RefTensor>& inputs,
                 std::vector<RefTensor>& outputs);
bool run_attention_op(const Op& op, const std::vector<RefTensor>& inputs,
                      std::vector<RefTensor>& outputs);
bool run_gradient_op(const Op& op, const std::vector<RefTensor>& inputs,
                     std::vector<RefTensor>& outputs);
bool run_runtime_op(const Op& op, const std::vector<RefTensor>& inputs,
                    std::vector<RefTensor>& outputs);
bool run_layout_op(const Op& op, const std::vector<RefTensor>& inputs,
                   std::vector<RefTensor>& outputs);

// Values for the graph's inputs, weights and constants, by tensor: small integers, indices that
// are valid everywhere, known constants as they are.
std::vector<RefTensor> make_feeds(const Graph& graph, uint64_t seed);

// All tensors of the graph, given those that no op produces.
std::vector<RefTensor> run_reference(const Graph& graph, std::vector<RefTensor> feeds);

// Cuts the feeds of the source graph as the plan says, runs the sharded graph on every rank with
// its communication, and puts the source's outputs together again. Sets *replicas_agree to false
// when ranks that should hold the same shard of an output do not.
std::vector<RefTensor> run_sharded(const Graph& source, const DeviceMesh& mesh,
                                   const ShardingPlan& plan, const ShardedGraph& sharded,
                                   const std::vector<RefTensor>& feeds, bool* replicas_agree);

}  // namespace dfsim
