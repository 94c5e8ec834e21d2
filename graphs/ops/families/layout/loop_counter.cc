// Counts the trips of "while" loops without a pattern of how the counter is computed: the body is
// inferred for the first three trips with the state's values, the comparison behind the condition
// is read in each, and where both of its operands grow evenly, the trip at which it fails follows.
#include "graphs/ops/families/layout/loop_counter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "graphs/ops/families/layout/loop_trips.h"

namespace dfsim::inline graphs {
namespace {

constexpr size_t kObservedTrips = 3;  // two differences: one tells the step, both that it is even
constexpr int kMaxDepth = 16;

using Bodies = std::array<InferredBody, kObservedTrips>;

// Operators that hand a single condition or counter on.
bool hands_on(const std::string& op_type) {
  return op_type == "Cast" || op_type == "Identity" || op_type == "Squeeze" ||
         op_type == "Unsqueeze" || op_type == "Reshape";
}

// Trips of a loop that goes on while a number is above zero, which is `room` at the end of the
// first trip and changes by `step` in each.
std::optional<int64_t> trips_until_empty(int64_t room, int64_t step) {
  if (room <= 0) {
    return 1;
  }
  if (step >= 0) {
    return std::nullopt;  // never
  }
  const int64_t trips = (room - 1) / -step + 2;
  return trips <= kMaxExtent ? std::optional(trips) : std::nullopt;
}

class Counter {
 public:
  explicit Counter(const Bodies& bodies) : bodies_(bodies), graph_(*bodies[0].graph) {}

  // Trips until the tensor is false at the end of one (true, if `inverted`).
  std::optional<int64_t> trips(TensorId condition, bool inverted, int depth) const {
    const OpId producer = graph_.tensor(condition).producer;
    if (!producer.valid() || depth > kMaxDepth) {
      return std::nullopt;
    }
    const Op& op = graph_.op(producer);
    const std::string& type = op.op_type;
    if (type == "Not" || hands_on(type)) {
      return trips(op.inputs[0], inverted != (type == "Not"), depth + 1);
    }
    if (type == (inverted ? "Or" : "And")) {
      const auto a = trips(op.inputs[0], inverted, depth + 1);
      const auto b = trips(op.inputs[1], inverted, depth + 1);
      return a && b ? std::min(*a, *b) : a ? a : b;
    }
    const bool less = type == "Less" || type == "LessOrEqual";
    if (!less && type != "Greater" && type != "GreaterOrEqual") {
      return std::nullopt;
    }
    // not (a < b) is b <= a: the sides change, and so does whether they may be equal.
    const bool or_equal = type.ends_with("OrEqual") != inverted;
    return less != inverted ? below(op.inputs[0], op.inputs[1], or_equal)
                            : below(op.inputs[1], op.inputs[0], or_equal);
  }

 private:
  std::optional<int64_t> below(TensorId a, TensorId b, bool or_equal) const {
    std::array<int64_t, kObservedTrips> room = {};
    for (size_t t = 0; t < kObservedTrips; ++t) {
      const auto small = integer(a, t);
      const auto large = integer(b, t);
      if (!small || !large) {
        return std::nullopt;
      }
      room[t] = *large - *small + (or_equal ? 1 : 0);
    }
    const int64_t step = room[1] - room[0];
    return room[2] - room[1] == step ? trips_until_empty(room[0], step) : std::nullopt;
  }

  // Whole floats count, too: before opset 9, Less took no integers.
  std::optional<int64_t> integer(TensorId id, size_t trip) const {
    const ConstValue* const value = bodies_[trip].graph->constant(id);
    if (value == nullptr || value->size() != 1) {
      return std::nullopt;
    }
    const double number = value->as_double(0);
    const bool whole =
        std::abs(number) <= static_cast<double>(kMaxExtent) && number == std::trunc(number);
    return whole ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
  }

  const Bodies& bodies_;
  const Graph& graph_;
};

}  // namespace

std::optional<int64_t> counted_trips(const InferContext& context, size_t carried) {
  if (context.options().retried_levels <= 0) {
    return std::nullopt;
  }
  std::vector<LoopValue> state = loop_state(context, carried);
  Bodies bodies;
  for (size_t t = 0; t < kObservedTrips; ++t) {
    auto body = run_trip(context, static_cast<int64_t>(t), state);
    if (!body.ok() || body->graph->outputs().empty()) {
      return std::nullopt;
    }
    state = state_after(*body, carried);
    bodies[t] = std::move(*body);
  }
  const bool condition_first = context.attributes().int_or(kConditionFirst, 0) != 0;
  const auto trips = Counter(bodies).trips(bodies[0].graph->outputs()[0], false, 0);
  return trips && condition_first ? std::optional(*trips - 1) : trips;
}

}  // namespace dfsim::inline graphs
