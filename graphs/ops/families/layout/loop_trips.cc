// Follows a loop trip by trip while its state is small and known, so that loops of shape
// arithmetic fold like any constant. A limit on trips times operators bounds the work; a loop
// beyond it keeps what is true in every trip.
#include "graphs/ops/families/layout/loop_trips.h"

#include <algorithm>

namespace dfsim::inline graphs {
namespace {

// Trips x operators. More would make the import slow, and loops of shape arithmetic are short.
constexpr int64_t kMaxFollowedOps = 3000;

LoopValue input_of_loop(const InferContext& context, size_t i) {
  LoopValue input;
  if (!context.has_input(i)) {
    return input;
  }
  input.tensor = context.input_tensor(i);
  input.elements = context.elements(i);
  if (const ConstValue* value = context.value(i)) {
    input.value = *value;
  }
  return input;
}

LoopValue output_of_body(const InferredBody& body, size_t i) {
  LoopValue output;
  if (const Tensor* tensor = body.output(i)) {
    output.tensor = *tensor;
    output.elements = body.output_elements[i];
    if (const ConstValue* value = body.value(i)) {
      output.value = *value;
    }
  }
  return output;
}

Formal formal_of_value(const LoopValue& value) {
  Formal formal{value.tensor.dtype, value.tensor.shape, value.value ? &*value.value : nullptr};
  formal.is_sequence = value.tensor.is_sequence;
  formal.sequence_length = value.tensor.sequence_length;
  formal.data_dependent = value.tensor.data_dependent;
  formal.elements = value.elements;
  return formal;
}

std::optional<bool> truth_of(const std::optional<ConstValue>& value) {
  return value && value->size() == 1 ? std::optional(value->as_int(0) != 0) : std::nullopt;
}

// The most trips: what the user says, or the first input.
std::optional<int64_t> limit_of(const InferContext& context) {
  const auto& given = context.options().trip_counts;
  if (const auto it = given.find(context.op().name); it != given.end()) {
    return it->second;
  }
  const ConstValue* limit = context.value(0);
  return limit != nullptr && limit->size() == 1 && limit->as_int(0) <= kMaxFollowedOps
             ? std::optional(std::max<int64_t>(0, limit->as_int(0)))
             : std::nullopt;
}

}  // namespace

std::vector<LoopValue> loop_state(const InferContext& context, size_t carried) {
  std::vector<LoopValue> state;
  for (size_t i = 0; i < carried; ++i) {
    state.push_back(input_of_loop(context, i + 2));
  }
  return state;
}

StatusOr<InferredBody> run_trip(const InferContext& context, int64_t trip,
                                const std::vector<LoopValue>& state) {
  const ConstValue number{DType::kInt64, {}, {trip}, {}};
  std::vector<Formal> formals = {{DType::kInt64, Shape::scalar(), &number},
                                 {DType::kBool, Shape::scalar(), nullptr}};
  for (const LoopValue& value : state) {
    formals.push_back(formal_of_value(value));
  }
  return try_body(context, "body", formals);
}

std::vector<LoopValue> state_after(const InferredBody& body, size_t carried) {
  std::vector<LoopValue> state;
  for (size_t i = 0; i < carried; ++i) {
    state.push_back(output_of_body(body, i + 1));
  }
  return state;
}

std::optional<FollowedLoop> follow_loop(const InferContext& context, size_t carried) {
  const GraphPtr* graph = subgraph(context.attributes(), "body");
  const auto limit = limit_of(context);
  if (graph == nullptr || context.options().retried_levels <= 0) {
    return std::nullopt;
  }
  const auto ops = std::max<int64_t>(1, static_cast<int64_t>((*graph)->op_count()));
  if (limit && *limit > kMaxFollowedOps / ops) {
    return std::nullopt;
  }
  FollowedLoop loop;
  loop.carried = loop_state(context, carried);
  const bool tells_something = std::any_of(
      loop.carried.begin(), loop.carried.end(),
      [](const LoopValue& value) { return value.value.has_value() || value.tensor.is_sequence; });
  std::optional<bool> goes_on =
      context.has_input(1) ? truth_of(input_of_loop(context, 1).value) : std::optional(true);
  if (!tells_something) {
    return std::nullopt;
  }
  const bool condition_first = context.attributes().int_or(kConditionFirst, 0) != 0;
  std::vector<InferredBody> bodies;
  while (goes_on.value_or(true) && (!limit || loop.trips < *limit)) {
    if ((!limit && !goes_on) || (loop.trips + 1) * ops > kMaxFollowedOps) {
      return std::nullopt;
    }
    auto body = run_trip(context, loop.trips, loop.carried);
    if (!body.ok()) {
      return std::nullopt;
    }
    const std::optional<bool> truth = truth_of(output_of_body(*body, 0).value);
    if (condition_first && truth && !*truth) {
      break;  // this trip never ran
    }
    ++loop.trips;
    goes_on = truth;
    loop.collected.resize(body->graph->outputs().size() -
                          std::min(body->graph->outputs().size(), carried + 1));
    for (size_t i = 0; i < loop.collected.size(); ++i) {
      loop.collected[i].push_back(output_of_body(*body, carried + 1 + i));
    }
    loop.carried = state_after(*body, carried);
    bodies.push_back(std::move(*body));
  }
  if (!bodies.empty()) {
    loop.middle = std::move(bodies[(bodies.size() - 1) / 2]);
  }
  return loop;
}

}  // namespace dfsim::inline graphs
