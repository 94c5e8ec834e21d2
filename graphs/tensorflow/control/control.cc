// Loops and branches: While and If of TensorFlow 2, frames of TensorFlow 1.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/tensorflow/control/body_internal.h"
#include "graphs/tensorflow/control/loop_internal.h"
#include "graphs/tensorflow/control/trip_count_internal.h"
#include "graphs/tensorflow/translator_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMaxNesting = 64;

// A Const of one integer.
std::optional<int64_t> constant_integer(const NodeGraph& graph, Source source) {
  source = graph.skip_identities(source);
  if (source.is_argument() || graph.op(source.node) != "Const") {
    return std::nullopt;
  }
  const tf::AttrValue* value = find_attribute(*graph.node(source.node).def, "value");
  const auto constant = value != nullptr ? value_from_tf(value->tensor()) : std::nullopt;
  return constant && constant->size() == 1 ? std::optional(constant->as_int(0)) : std::nullopt;
}

std::optional<int64_t> integer_value(const Emitter& emitter, ValueId value) {
  const ConstValue* constant = emitter.constant(value);
  return constant != nullptr && constant->size() == 1 ? std::optional(constant->as_int(0))
                                                      : std::nullopt;
}

}  // namespace

// The branch that is taken when the condition is known; else an If with both.
Status Translator::translate_if(int32_t node) {
  const tf::NodeDef& def = *graph_.node(node).def;
  std::vector<std::string> names;
  const bool is_case = def.op().ends_with("Case");
  if (is_case) {
    if (const tf::AttrValue* list = find_attribute(def, "branches")) {
      for (const tf::NameAttrList& function : list->list().func()) {
        names.push_back(function.name());
      }
    }
  } else {
    for (const char* attribute : {"else_branch", "then_branch"}) {
      const tf::AttrValue* branch = find_attribute(def, attribute);
      names.push_back(branch != nullptr ? branch->func().name() : "");
    }
  }
  std::vector<ValueId> arguments = inputs_of(node);
  if (arguments.empty() || names.empty()) {
    return invalid_input(fmt::format("{} '{}': has no condition or no branches",
                                     printable(def.op(), 40), printable(name_of(node))));
  }
  const auto condition = integer_value(emitter_, arguments[0]);
  const ValueId condition_value = arguments[0];
  arguments.erase(arguments.begin());
  std::optional<size_t> taken;
  if (is_case) {
    const bool known = condition && *condition >= 0;
    taken = known ? std::min(static_cast<size_t>(*condition), names.size() - 1) : names.size() - 1;
    if (!known) {
      shared_.open_branches.push_back(name_of(node));
    }
  } else if (condition || shared_.options.branch) {
    taken = condition.value_or(shared_.options.branch.value_or(false)) != 0 ? 1 : 0;
  }
  if (depth_ >= kMaxNesting) {
    return invalid_input(fmt::format("{} '{}': nests over {} deep", printable(def.op(), 40),
                                     printable(name_of(node)), kMaxNesting));
  }
  if (taken) {
    DFSIM_ASSIGN_OR_RETURN(const NodeGraph* branch, function_graph(names[*taken]));
    Translator inner(shared_, emitter_, *branch, arguments, name_of(node) + "/", depth_ + 1);
    std::vector<Source> roots = branch->returns();
    add_effects(*branch, &roots);
    DFSIM_RETURN_IF_ERROR(inner.run(roots));
    for (const Source source : branch->returns()) {
      values_[node].push_back(inner.value(source));
    }
    return ok_status();
  }
  Emission emission{"If", "", name_of(node), {emitter_.plain(condition_value)}};
  for (size_t side = 0; side < 2; ++side) {
    DFSIM_ASSIGN_OR_RETURN(const NodeGraph* branch, function_graph(names[side]));
    SubgraphMaker maker(emitter_, shared_.infer);
    std::vector<ValueId> captured;
    for (const ValueId argument : arguments) {
      captured.push_back(maker.capture(argument));
    }
    Translator inner(shared_, maker.emitter(), *branch, captured, name_of(node) + "/", depth_ + 1);
    std::vector<Source> roots = branch->returns();
    add_effects(*branch, &roots);
    DFSIM_RETURN_IF_ERROR(inner.run(roots));
    for (const Source source : branch->returns()) {
      const TensorId tensor = maker.emitter().plain(inner.value(source));
      if (!tensor.valid()) {
        emit_unknown(node, "a branch returns something that is not a tensor");
        return ok_status();
      }
      maker.mark_output(tensor);
    }
    emission.outputs = branch->returns().size();
    DFSIM_ASSIGN_OR_RETURN(auto graph, maker.finish(&emission.inputs));
    emission.attributes.emplace_back(side == 1 ? "then_branch" : "else_branch", std::move(graph));
  }
  emission.captures = static_cast<uint32_t>(emission.inputs.size() - 1);
  for (const TensorId tensor : emitter_.emit(std::move(emission))) {
    values_[node].push_back(emitter_.add_plain(tensor));
  }
  return emitter_.status();
}

Status Translator::translate_while(int32_t node) {
  const tf::NodeDef& def = *graph_.node(node).def;
  const tf::AttrValue* condition_name = find_attribute(def, "cond");
  const tf::AttrValue* body_name = find_attribute(def, "body");
  if (condition_name == nullptr || body_name == nullptr || depth_ >= kMaxNesting) {
    return invalid_input(fmt::format("{} '{}': has no condition or no body, or nests over {} deep",
                                     printable(def.op(), 40), printable(name_of(node)),
                                     kMaxNesting));
  }
  DFSIM_ASSIGN_OR_RETURN(const NodeGraph* condition, function_graph(condition_name->func().name()));
  DFSIM_ASSIGN_OR_RETURN(const NodeGraph* body, function_graph(body_name->func().name()));
  Loop loop;
  loop.name = name_of(node);
  loop.initial = inputs_of(node);
  if (body->returns().size() != loop.initial.size() || condition->returns().empty()) {
    return invalid_input(fmt::format("{} '{}': its body returns {} values for {} variables",
                                     printable(def.op(), 40), printable(loop.name),
                                     body->returns().size(), loop.initial.size()));
  }
  for (size_t i = 0; i < loop.initial.size(); ++i) {
    const Source result = body->skip_identities(body->returns()[i]);
    loop.invariant.push_back(result == Source{Source::kArgument, static_cast<int32_t>(i)});
  }
  loop.trip = [&](Emitter& inside, const TripValues& before, TripValues* after) {
    Translator trip(shared_, inside, *body, before.variables, loop.name + "/", depth_ + 1);
    std::vector<Source> roots = body->returns();
    add_effects(*body, &roots);
    DFSIM_RETURN_IF_ERROR(trip.run(roots));
    for (const Source source : body->returns()) {
      after->variables.push_back(trip.value(source));
    }
    Translator check(shared_, inside, *condition, after->variables, loop.name + "/", depth_ + 1);
    DFSIM_RETURN_IF_ERROR(check.run({condition->returns()[0]}));
    after->condition = check.value(condition->returns()[0]);
    return ok_status();
  };
  const auto variable = [](const NodeGraph& graph, Source source) -> std::optional<size_t> {
    source = graph.skip_identities(source);
    return source.is_argument() ? std::optional(static_cast<size_t>(source.output)) : std::nullopt;
  };
  const auto constant = [&](const NodeGraph& graph, Source source) {
    const auto i = variable(graph, source);
    return i && *i < loop.initial.size() && loop.invariant[*i]
               ? integer_value(emitter_, loop.initial[*i])
               : constant_integer(graph, source);
  };
  const auto initial = [&](size_t i) {
    return i < loop.initial.size() ? integer_value(emitter_, loop.initial[i]) : std::nullopt;
  };
  loop.trips = count_trips(
      {*condition, condition->returns()[0], *body, body->returns(), variable, constant, initial});
  std::vector<ValueId> results;
  DFSIM_ASSIGN_OR_RETURN(const std::string reason,
                         emit_loop(emitter_, shared_.infer, loop, &results));
  if (!reason.empty()) {
    emit_unknown(node, reason);
    return ok_status();
  }
  values_[node] = std::move(results);
  return ok_status();
}

// Exit: the loop as a whole is translated when the first of its results is needed.
Status Translator::leave_frame(int32_t node) {
  const LoopFrame& frame = *graph_.frame_of_exit(node);
  const int32_t merge = graph_.node(graph_.node(node).inputs[0].node).inputs[0].node;
  const auto index = static_cast<size_t>(
      std::find(frame.merges.begin(), frame.merges.end(), merge) - frame.merges.begin());
  if (const auto done = frames_.find(frame.name); done != frames_.end()) {
    values_[node] = {index < done->second.size() ? done->second[index] : kNoValue};
    return ok_status();
  }
  if (depth_ >= kMaxNesting || frame.condition < 0 || graph_.node(frame.condition).inputs.empty()) {
    return invalid_input(fmt::format("loop '{}': has no condition, or nests over {} deep",
                                     printable(frame.name), kMaxNesting));
  }
  Loop loop;
  loop.name = prefix_ + frame.name;
  loop.condition_first = true;
  for (const int32_t enter : frame.enters) {
    loop.initial.push_back(value(graph_.node(enter).inputs[0]));
  }
  for (const int32_t enter : frame.constant_enters) {
    loop.constants.push_back(value(graph_.node(enter).inputs[0]));
  }
  std::vector<Source> roots;
  for (const int32_t next : frame.next_iterations) {
    roots.push_back(graph_.node(next).inputs[0]);
  }
  const auto variable = [&](const NodeGraph& graph, Source source) -> std::optional<size_t> {
    source = graph.skip_identities(source);
    const auto at = std::find(frame.merges.begin(), frame.merges.end(), source.node);
    return at != frame.merges.end() ? std::optional(static_cast<size_t>(at - frame.merges.begin()))
                                    : std::nullopt;
  };
  for (size_t i = 0; i < roots.size(); ++i) {
    loop.invariant.push_back(variable(graph_, roots[i]) == i);
  }
  const Source predicate = graph_.node(frame.condition).inputs[0];
  roots.push_back(predicate);
  loop.trip = [&](Emitter& inside, const TripValues& before, TripValues* after) {
    Translator trip(shared_, inside, graph_, {}, prefix_, depth_ + 1, &frame);
    for (size_t i = 0; i < frame.merges.size(); ++i) {
      trip.preset(frame.merges[i], {before.variables[i], kNoValue});
    }
    for (size_t i = 0; i < frame.constant_enters.size(); ++i) {
      trip.preset(frame.constant_enters[i], {before.constants[i]});
    }
    DFSIM_RETURN_IF_ERROR(trip.run(roots));
    for (size_t i = 0; i + 1 < roots.size(); ++i) {
      after->variables.push_back(trip.value(roots[i]));
    }
    after->condition = trip.value(predicate);
    return ok_status();
  };
  const auto constant = [&](const NodeGraph& graph, Source source) {
    // Values from outside come through Enter; skip_identities() passes it.
    const Source origin = graph.skip_identities(source);
    return origin.is_argument() || values_.find(origin.node) == values_.end()
               ? constant_integer(graph, source)
               : integer_value(emitter_, value(origin));
  };
  const auto initial = [&](size_t i) { return integer_value(emitter_, loop.initial[i]); };
  std::vector<Source> results_of(roots.begin(), roots.end() - 1);
  loop.trips = count_trips({graph_, predicate, graph_, results_of, variable, constant, initial});
  std::vector<ValueId> results;
  DFSIM_ASSIGN_OR_RETURN(const std::string reason,
                         emit_loop(emitter_, shared_.infer, loop, &results));
  if (!reason.empty()) {
    emit_unknown(node, reason);
    return ok_status();
  }
  values_[node] = {index < results.size() ? results[index] : kNoValue};
  frames_.emplace(frame.name, std::move(results));
  return ok_status();
}

}  // namespace dfsim::inline graphs
