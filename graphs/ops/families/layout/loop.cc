// Loops whose trips are counted by their op: Loop and SequenceMap.
//
// A loop's state may grow from trip to trip (a list, a concatenation), and its shapes may depend on
// the number of the trip. Then the body is inferred a second time with what it sees in its middle
// trip: where growth is linear, its work times the trips is that of the whole loop.
#include <algorithm>

#include "graphs/ops/families/layout/loop_counter.h"
#include "graphs/ops/families/layout/loop_marks.h"
#include "graphs/ops/families/layout/loop_trips.h"
#include "graphs/ops/families/layout/subgraph.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/values/elements.h"

namespace dfsim::inline graphs {
namespace {

// How often the body runs.
struct Trips {
  std::optional<int64_t> count;  // none: nothing tells
  bool may_end_earlier = false;  // the count is a limit, and a condition that data decide ends it
};

// Whether the body goes on in every trip: it hands its own condition back, or a constant.
bool always_goes_on(const Graph& body) {
  TensorId id = body.outputs().empty() ? TensorId() : body.outputs()[0];
  while (id.valid() && body.constant(id) == nullptr && body.tensor(id).producer.valid()) {
    const Op& op = body.op(body.tensor(id).producer);
    const bool hands_on = op.op_type == "Identity" || op.op_type == "Cast";
    if (!hands_on) {
      return false;
    }
    id = op.inputs[0];
  }
  if (!id.valid()) {
    return true;  // no condition
  }
  const ConstValue* const value = body.constant(id);
  const bool is_own = body.inputs().size() > 1 && id == body.inputs()[1];
  return value != nullptr ? value->size() == 1 && value->as_int(0) != 0 : is_own;
}

// The user's count, else what the condition counts to, at most the first input when that is known.
Trips loop_trips(const InferContext& context, size_t carried) {
  const InferOptions& options = context.options();
  if (const auto it = options.trip_counts.find(context.op().name);
      it != options.trip_counts.end()) {
    return {it->second};
  }
  const ConstValue* limit = context.value(0);
  const ConstValue* condition = context.value(1);
  if (condition != nullptr && condition->size() == 1 && condition->as_int(0) == 0) {
    return {0};
  }
  const std::optional<int64_t> counted = counted_trips(context, carried);
  if (limit == nullptr || limit->size() != 1 || limit->as_int(0) > kMaxExtent) {
    return {counted};  // "while" loops have an absurd limit instead
  }
  const int64_t most = std::max<int64_t>(0, limit->as_int(0));
  const GraphPtr* body = subgraph(context.attributes(), "body");
  return {std::min(counted.value_or(most), most),
          !counted && most > 1 && body != nullptr && !always_goes_on(**body)};
}

// The count of trips is an assumption: one, or the `most` that its limit allows.
void report_open_loop(const InferContext& context, const Graph& body, int64_t most) {
  if (context.options().open_loops != nullptr) {
    const auto work = body_work(body);
    context.options().open_loops->push_back(
        {context.op().name, !work.ok() || work->macs.overflowed() || work->macs.value() > 0, most});
  }
}

// The amount that one trip adds to a carried value.
struct Growth {
  std::vector<int64_t> extents;  // per axis
  int64_t length = 0;            // of a list
  bool known = false;

  bool any() const {
    return length != 0 ||
           std::any_of(extents.begin(), extents.end(), [](int64_t extent) { return extent != 0; });
  }
  bool operator==(const Growth&) const = default;
};

Growth growth_of(const Formal& before, const Tensor& after) {
  Growth growth;
  if (before.is_sequence || after.is_sequence) {
    growth.known = before.is_sequence && after.is_sequence && before.sequence_length >= 0 &&
                   after.sequence_length >= 0;
    growth.length = growth.known ? after.sequence_length - before.sequence_length : 0;
    return growth;
  }
  growth.known = before.shape.has_rank() && before.shape.rank() == after.shape.rank();
  for (int i = 0; growth.known && i < after.shape.rank(); ++i) {
    const Dim from = before.shape[i];
    const Dim to = after.shape[i];
    growth.known = from == to || (from.known() && to.known());
    growth.extents.push_back(from == to ? 0 : to.extent() - from.extent());
  }
  return growth;
}

// The state after `trips` trips; `inside` is what the body returns. Unknown where growth is not.
Formal grown(const Formal& before, const Growth& growth, const Tensor& inside, int64_t trips) {
  Formal after = before;
  after.value = nullptr;
  after.dtype = inside.dtype;
  if (trips == 0) {
    return before;
  }
  if (before.is_sequence || inside.is_sequence) {
    const Count length = Count(before.sequence_length) + Count(growth.length) * Count(trips);
    after.is_sequence = true;
    after.shape = inside.shape;  // an empty list does not know it yet
    after.sequence_length =
        growth.known && !length.overflowed() ? std::max<int64_t>(0, length.value()) : -1;
    return after;
  }
  if (!growth.known) {
    after.shape = trips == 1 ? inside.shape : common_shape(before.shape, inside.shape);
    return after;
  }
  Dims dims = before.shape.dims();
  for (size_t i = 0; i < growth.extents.size(); ++i) {
    if (growth.extents[i] != 0) {
      const Count extent = Count(dims[i].extent()) + Count(growth.extents[i]) * Count(trips);
      dims[i] = extent.overflowed() ? Dim::unknown() : Dim(std::max<int64_t>(0, extent.value()));
    }
  }
  after.shape = Shape(std::move(dims));
  return after;
}

// A Loop's body and how it was reached.
struct LoopBody {
  InferredBody body;
  std::vector<Formal> carried;  // before the first trip
  std::vector<Growth> growth;   // per carried value
};

// Formals of the trip `trip`; the trip's number is only told where shapes need it. An inexact
// number marks all that it decides, as it stands for those of other trips.
std::vector<Formal> loop_formals(const LoopBody& loop, int64_t trip, const ConstValue* number,
                                 bool exact = false) {
  std::vector<Formal> formals = {{DType::kInt64, Shape::scalar(), number},
                                 {DType::kBool, Shape::scalar(), nullptr}};
  formals[0].data_dependent = number != nullptr && !exact;
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    const Tensor* inside = loop.growth.empty() ? nullptr : loop.body.output(i + 1);
    formals.push_back(inside != nullptr ? grown(loop.carried[i], loop.growth[i], *inside, trip)
                                        : loop.carried[i]);
    formals.back().value = nullptr;  // another one in the next trip
  }
  return formals;
}

std::vector<Growth> measure_growth(const std::vector<Formal>& formals, const InferredBody& body) {
  std::vector<Growth> growth;
  for (size_t i = 2; i < formals.size(); ++i) {
    const Tensor* after = body.output(i - 1);  // output 0 is the condition
    growth.push_back(after != nullptr ? growth_of(formals[i], *after) : Growth());
  }
  return growth;
}

// Whether an operator of the body has extents that are only bounds, though those of its operands
// are exact: the number of the trip may tell them.
bool has_own_bounds(const Graph& body) {
  const auto is_bound = [&](TensorId id) { return id.valid() && body.tensor(id).data_dependent; };
  return std::any_of(body.ops().begin(), body.ops().end(), [&](const Op& op) {
    return std::any_of(op.outputs.begin(), op.outputs.end(), is_bound) &&
           std::none_of(op.inputs.begin(), op.inputs.end(), is_bound);
  });
}

// The body of `loop` as the trip sees it that knows its own number.
StatusOr<InferredBody> body_in_trip(const InferContext& context, const LoopBody& loop,
                                    int64_t trip) {
  const ConstValue number{DType::kInt64, {}, {trip}, {}};
  return try_body(context, "body", loop_formals(loop, trip, &number, /*exact=*/true));
}

StatusOr<LoopBody> infer_loop_body(InferContext& context, size_t carried, int64_t trips) {
  LoopBody loop;
  for (size_t i = 0; i < carried; ++i) {
    loop.carried.push_back(formal_of(context, i + 2));
  }
  ConstValue number{DType::kInt64, {}, {0}, {}};
  std::vector<Formal> formals = loop_formals(loop, 0, nullptr);
  DFSIM_ASSIGN_OR_RETURN(loop.body, try_body(context, "body", formals));
  loop.growth = measure_growth(formals, loop.body);
  const bool retry = context.options().retried_levels > 0 && trips > 0;
  const bool needs_number =
      retry && (!loop.body.unresolved.empty() || has_own_bounds(*loop.body.graph));
  if (needs_number) {
    loop.growth.clear();
    formals = loop_formals(loop, 0, &number);
    DFSIM_ASSIGN_OR_RETURN(loop.body, try_body(context, "body", formals));
    loop.growth = measure_growth(formals, loop.body);
  }
  const bool grows = std::any_of(loop.growth.begin(), loop.growth.end(),
                                 [](const Growth& growth) { return growth.any(); });
  if (retry && trips > 1 && (grows || needs_number)) {
    const int64_t middle = (trips - 1) / 2;
    number.ints = {middle};
    formals = loop_formals(loop, middle, needs_number ? &number : nullptr);
    DFSIM_ASSIGN_OR_RETURN(InferredBody in_middle, try_body(context, "body", formals));
    const std::vector<Growth> later = measure_growth(formals, in_middle);
    if (needs_number) {
      // Values that are bounds elsewhere may contradict each other in these trips: marks stay then.
      const auto first = body_in_trip(context, loop, 0);
      const auto last = body_in_trip(context, loop, trips - 1);
      if (first.ok() && last.ok()) {
        DFSIM_RETURN_IF_ERROR(clear_marks_of_trips(*first, *last, &in_middle));
      }
    }
    loop.body = std::move(in_middle);
    for (size_t i = 0; i < later.size(); ++i) {
      loop.growth[i].known = loop.growth[i].known && loop.growth[i] == later[i];
    }
  } else if (trips > 1) {
    for (Growth& growth : loop.growth) {
      growth.known = growth.known && !growth.any();  // not yet checked for linearity
    }
  }
  return loop;
}

// Replaces what `loop` says of output `i` by what following its trips told.
void set_followed_output(InferContext& context, const FollowedLoop& loop, size_t carried,
                         size_t i) {
  if (i < carried) {
    const LoopValue& last = loop.carried[i];
    if (last.elements != nullptr) {
      context.set_list(i, *last.elements);
    } else if (last.value) {
      context.set_exact_value(i, *last.value);
    } else if (!last.tensor.is_sequence && last.tensor.shape.is_static()) {
      context.set_output(i, last.tensor.dtype, last.tensor.shape);
    }
    return;
  }
  if (i - carried >= loop.collected.size() || loop.collected[i - carried].empty()) {
    return;
  }
  // The trips' results under each other, when all have the same extents and a value.
  const std::vector<LoopValue>& rows = loop.collected[i - carried];
  if (!rows[0].value || rows.size() * rows[0].value->size() > size_t{kMaxConstElements}) {
    return;
  }
  ConstValue all = empty_value(rows[0].value->dtype, rows[0].value->extents);
  all.extents.insert(all.extents.begin(), static_cast<int64_t>(rows.size()));
  for (const LoopValue& row : rows) {
    if (!row.value || row.value->extents != rows[0].value->extents) {
      return;
    }
    for (size_t k = 0; k < row.value->size(); ++k) {
      append_element_of(*row.value, static_cast<int64_t>(k), &all);
    }
  }
  context.set_exact_value(i, std::move(all));
}

Status infer_loop(InferContext& context) {
  const size_t operands = context.input_count() - context.op().capture_count;
  const size_t carried = operands > 2 ? operands - 2 : 0;
  const auto followed = follow_loop(context, carried);
  const Trips counted = followed ? Trips{followed->trips} : loop_trips(context, carried);
  const int64_t trips = counted.count.value_or(1);
  DFSIM_ASSIGN_OR_RETURN(const LoopBody loop, infer_loop_body(context, carried, trips));
  const bool clearer = followed && followed->middle &&
                       followed->middle->unresolved.size() < loop.body.unresolved.size();
  const InferredBody& adopted = clearer ? *followed->middle : loop.body;
  adopt(context, "body", adopted);
  if (!counted.count || counted.may_end_earlier) {
    report_open_loop(context, *adopted.graph, counted.count.value_or(0));
  }
  context.set_attribute(std::string(kTripsAttribute), trips);
  for (size_t i = 0; i < context.output_count(); ++i) {
    const Tensor* last = loop.body.output(i + 1);
    if (last == nullptr) {
      continue;
    }
    if (i >= carried) {
      Dims dims = last->shape.dims();
      dims.insert(dims.begin(), Dim(trips));
      context.set_output(i, last->dtype, last->shape.has_rank() ? Shape(std::move(dims)) : Shape());
    } else {
      Formal after = grown(loop.carried[i], loop.growth[i], *last, trips);
      if (after.is_sequence) {
        context.set_sequence(i, after.dtype, std::move(after.shape), after.sequence_length);
      } else {
        context.set_output(i, after.dtype, std::move(after.shape));
      }
    }
    if (last->data_dependent) {
      context.mark_data_dependent(i);
    }
    if (followed) {
      set_followed_output(context, *followed, carried, i);
    }
  }
  return ok_status();
}

// The body once for every element of the first list; other lists advance with it, tensors are the
// same for every element.
Status infer_sequence_map(InferContext& context) {
  const size_t operands = context.input_count() - context.op().capture_count;
  std::vector<Formal> formals;
  for (size_t i = 0; i < operands; ++i) {
    Formal formal = formal_of(context, i);
    formal.is_sequence = false;
    formals.push_back(std::move(formal));
  }
  DFSIM_ASSIGN_OR_RETURN(const InferredBody body, infer_body(context, "body", formals));
  const int64_t length = context.sequence_length(0);
  if (length < 0) {
    report_open_loop(context, *body.graph, 0);
  }
  context.set_attribute(std::string(kTripsAttribute), length < 0 ? int64_t{1} : length);
  for (size_t i = 0; i < context.output_count(); ++i) {
    if (const Tensor* inner = body.output(i)) {
      context.set_sequence(i, inner->dtype, inner->shape, length);
    }
  }
  return ok_status();
}

// clang-format off
constexpr OpDef kLoopOps[] = {
    {.op_type = "Loop", .op_class = OpClass::kControlFlow, .infer = infer_loop, .work = work_loop,
     .required_inputs = 0},
    {.op_type = "SequenceMap", .op_class = OpClass::kControlFlow, .infer = infer_sequence_map,
     .work = work_loop},
};
// clang-format on

constexpr WorkNote kLoopNotes[] = {{work_loop, "its body once per trip"}};

}  // namespace

OpFamily loop_op_defs() { return {kLoopOps, kLoopNotes}; }

}  // namespace dfsim::inline graphs
