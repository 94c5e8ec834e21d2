// Subgraphs of control flow: inferred when their op is reached, with what flows into them.
//
// The graph that the importer read stays as it is while it is tried; adopt() puts the inferred one
// in its place. Every level of nesting may try its body a few times, so that nested loops that need
// it are bounded by InferOptions::retried_levels.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/ops/infer.h"
#include "graphs/ops/infer_context.h"
#include "graphs/ops/work_context.h"

namespace dfsim::inline graphs {

using GraphPtr = std::shared_ptr<const Graph>;

// Attribute with the number of runs of a loop's body.
inline constexpr std::string_view kTripsAttribute = "dfsim.trips";

// Attribute of a Loop whose body returns the condition of its own trip, not of the next one: what
// loops of TensorFlow 1 become.
inline constexpr std::string_view kConditionFirst = "dfsim.condition_first";

// The source of a subgraph's input.
struct Formal {
  DType dtype = DType::kUnknown;
  Shape shape;
  const ConstValue* value = nullptr;
  bool is_sequence = false;
  int64_t sequence_length = -1;
  bool data_dependent = false;
  std::shared_ptr<const ListElements> elements = nullptr;
};

struct InferredBody {
  // An op of this body or of one inside it.
  struct Unresolved {
    Op outer;
    Op op;
    std::string reason;
  };
  GraphPtr graph;
  std::vector<Unresolved> unresolved;
  std::vector<OpenLoop> open_loops;  // assumptions made inside, see InferOptions
  std::vector<std::string> open_ifs;
  std::vector<std::shared_ptr<const ListElements>> output_elements;  // per output; may be null

  // nullptr when the body has fewer outputs.
  const Tensor* output(size_t i) const {
    return i < graph->outputs().size() ? &graph->tensor(graph->outputs()[i]) : nullptr;
  }
  const ConstValue* value(size_t i) const { return graph->constant(graph->outputs()[i]); }
};

// The subgraph of that attribute, or nullptr.
const GraphPtr* subgraph(const Attributes& attributes, std::string_view name);

Formal formal_of(const InferContext& context, size_t input);

// Infers the subgraph with `formals` as its first inputs, and captured tensors joined by name; the
// op stays as it is. Error: there is no such subgraph, or it contradicts itself.
StatusOr<InferredBody> try_body(const InferContext& context, std::string_view name,
                                const std::vector<Formal>& formals);
// Puts an inferred subgraph in place and tells of its unresolved ops and assumptions.
void adopt(InferContext& context, std::string_view name, const InferredBody& body);
// Both at once.
StatusOr<InferredBody> infer_body(InferContext& context, std::string_view name,
                                  const std::vector<Formal>& formals);

// Output `to` of the op is output `from` of the body: dtype, shape, length and value.
void set_from_body(InferContext& context, const InferredBody& body, size_t from, size_t to);

// The sum over ops whose results are not known ahead; dtype and matrix use of the largest one.
StatusOr<BodyWork> body_work(const Graph& body);
// The attribute with the branch of an If that counts: the one that is taken, else the one with more
// work; "" when it has none. Error: as op_work().
StatusOr<std::string_view> costed_branch(const Op& op);
// The work of `runs` runs of the body; of none when it is nullptr.
void set_body_work(WorkContext& context, const GraphPtr* body, int64_t runs);
// The body of attribute "body", once per trip.
void work_loop(WorkContext& context);

}  // namespace dfsim::inline graphs
