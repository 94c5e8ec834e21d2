// Shape inference with integer folding over a graph that is being built, and work of a built one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/ops/work.h"

namespace dfsim::inline graphs {

// An op whose output shapes stay unknown.
struct UnresolvedOp {
  OpId op;
  std::string reason;
};

// A loop whose count of trips is an assumption.
struct OpenLoop {
  std::string name;
  bool multiplies = false;  // its body has products or convolutions
  // The trips of its limit, all of which are assumed; its condition may end it earlier. 0: nothing
  // tells how often it runs, and one trip is assumed.
  int64_t most = 0;
};

struct InferOptions {
  // Asked for ops whose outputs are still unknown, with a rule of ours or without; sets dtypes and
  // shapes on the builder where it can and returns "" or why it could not. May be empty.
  std::function<std::string(GraphBuilder& builder, OpId op, bool has_rule)> fallback = {};
  // Called for each op after its rule, before `fallback`; may replace extents that are unknown or
  // bounds. May be empty.
  std::function<void(GraphBuilder& builder, OpId op)> adjust = {};
  // Trip counts of loops by op name, and the branch of Ifs whose condition is not known (true =
  // then); where neither is given the larger branch counts, and one trip.
  std::map<std::string, int64_t> trip_counts = {};
  std::optional<bool> branch = {};
  // Receive the loops of which one trip is assumed, and the names of Ifs whose larger branch
  // counts. May be null.
  std::vector<OpenLoop>* open_loops = nullptr;
  std::vector<std::string>* open_ifs = nullptr;
  // Told of ops inside a subgraph of `outer` that stay unresolved. May be empty.
  std::function<void(const Op& outer, const Op& op, const std::string& reason)>
      on_unresolved_in_body = {};
  // Down to this many levels of nesting a loop's body may be inferred again, with the state it has
  // half-way; deeper ones once, so that nesting costs little more than its nodes.
  int retried_levels = 3;
};

// Attribute of an op that an importer could not translate: it keeps its name, but no definition of
// that name describes its operands.
inline constexpr std::string_view kUntranslated = "dfsim.untranslated";

// Why an op stays unresolved whose inputs have known shapes and whose results depend on their
// values.
inline constexpr std::string_view kDependsOnValues =
    "its shape depends on values that are not known before the run";

// Sorts the ops, then in one sweep gives each op its class and its outputs dtype, shape and, where
// all inputs are known, value. One sweep is the fixpoint: information only flows forward.
// Returns the ops that stay unresolved. Error: inputs or attributes of an op contradict each other.
// Complexity: O(ops + edges), plus the sizes of folded constants (at most kMaxConstElements each).
StatusOr<std::vector<UnresolvedOp>> infer_shapes(GraphBuilder& builder,
                                                 const InferOptions& options);

// The same for one op whose inputs are inferred already, for importers that look at shapes while
// they build. Returns "" or why the op stays unresolved.
StatusOr<std::string> infer_op(GraphBuilder& builder, OpId op, const InferOptions& options);

// Work of one op. An op without a definition is taken to read its inputs and write its outputs; one
// that is not resolved gets zero work, and callers list it. Error: a count does not fit in 63 bits.
StatusOr<OpWork> op_work(const Graph& graph, OpId op);

// Every tensor the op touches has a static shape.
bool is_resolved(const Graph& graph, OpId op);

}  // namespace dfsim::inline graphs
