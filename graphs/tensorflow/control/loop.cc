// Translates TensorFlow's loops into ONNX's Loop. The body may have to be translated more than
// once: a list whose element shape only the body tells is made before the loop in a second
// attempt.
#include "graphs/tensorflow/control/loop_internal.h"

#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/families/layout/subgraph.h"
#include "graphs/tensorflow/control/body_internal.h"

namespace dfsim::inline graphs {
namespace {

// The body's result for each variable must be a tensor, except where it passes a value on.
std::string missing_tensor(const Emitter& inside, const Loop& loop, const TripValues& after) {
  for (size_t i = 0; i < loop.initial.size(); ++i) {
    const ValueId result = i < after.variables.size() ? after.variables[i] : kNoValue;
    if (!loop.invariant[i] && (result == kNoValue || !inside.value(result).has_tensor())) {
      return fmt::format("variable {} of the loop is not a tensor of known shape", i);
    }
  }
  return after.condition == kNoValue ? "the loop's condition is not a tensor" : "";
}

class LoopMaker {
 public:
  LoopMaker(Emitter& emitter, const InferOptions& options, Loop& loop)
      : emitter_(emitter), options_(options), loop_(loop) {}

  StatusOr<std::string> run(std::vector<ValueId>* results) {
    for (int attempt = 0;; ++attempt) {
      SubgraphMaker maker(emitter_, options_);
      TripValues before;
      TripValues after;
      DFSIM_RETURN_IF_ERROR(translate(maker, &before, &after));
      if (attempt == 0 && make_lists(maker.emitter(), after)) {
        continue;
      }
      std::string missing = missing_tensor(maker.emitter(), loop_, after);
      if (!missing.empty()) {
        return missing;
      }
      DFSIM_RETURN_IF_ERROR(emit(maker, after, results));
      return std::string();
    }
  }

 private:
  Status translate(SubgraphMaker& maker, TripValues* before, TripValues* after) {
    before->variables.assign(loop_.initial.size(), kNoValue);
    for (size_t i = 0; i < loop_.initial.size(); ++i) {
      if (loop_.invariant[i]) {
        before->variables[i] = maker.capture(loop_.initial[i]);
      }
    }
    for (const ValueId constant : loop_.constants) {
      before->constants.push_back(maker.capture(constant));
    }
    maker.add_formal("iteration", DType::kInt64, Shape::scalar());
    maker.add_formal("condition", DType::kBool, Shape::scalar());
    for (size_t i = 0; i < loop_.initial.size(); ++i) {
      if (!loop_.invariant[i]) {
        before->variables[i] = maker.add_formal(loop_.initial[i]);
      }
    }
    DFSIM_RETURN_IF_ERROR(loop_.trip(maker.emitter(), *before, after));
    return maker.emitter().status();
  }

  // Lists that were empty of knowledge before the trip and are not after it. True: try again.
  bool make_lists(const Emitter& inside, const TripValues& after) {
    bool made = false;
    for (size_t i = 0; i < loop_.initial.size(); ++i) {
      if (loop_.initial[i] == kNoValue || after.variables[i] == kNoValue) {
        continue;
      }
      const Value& outside = emitter_.value(loop_.initial[i]);
      const Value& result = inside.value(after.variables[i]);
      if (!outside.is_list || outside.has_tensor() || !result.is_list ||
          !result.element.is_static() || result.length < 0) {
        continue;
      }
      Value list = result;
      list.plain = TensorId();
      list.channels_first = TensorId();
      list.plain = make_list(emitter_, loop_.name + "/list", list);
      loop_.initial[i] = emitter_.add(std::move(list));
      made = true;
    }
    return made;
  }

  Status emit(SubgraphMaker& maker, const TripValues& after, std::vector<ValueId>* results) {
    Emission emission{"Loop", "", loop_.name, {TensorId(), TensorId()}};
    if (loop_.trips) {
      emission.inputs[0] = emitter_.add_int(*loop_.trips);
    }
    maker.mark_output(maker.emitter().plain(after.condition));
    for (size_t i = 0; i < loop_.initial.size(); ++i) {
      if (!loop_.invariant[i]) {
        emission.inputs.push_back(emitter_.plain(loop_.initial[i]));
        maker.mark_output(maker.emitter().plain(after.variables[i]));
      }
    }
    const size_t operands = emission.inputs.size();
    emission.outputs = operands - 2;
    DFSIM_ASSIGN_OR_RETURN(auto body, maker.finish(&emission.inputs));
    emission.captures = static_cast<uint32_t>(emission.inputs.size() - operands);
    emission.attributes.emplace_back("body", std::move(body));
    if (loop_.condition_first) {
      emission.attributes.emplace_back(std::string(kConditionFirst), int64_t{1});
    }
    const bool empty = emission.outputs == 0;
    const std::vector<TensorId> outputs =
        empty ? std::vector<TensorId>() : emitter_.emit(std::move(emission));
    size_t next = 0;
    for (size_t i = 0; i < loop_.initial.size(); ++i) {
      if (loop_.invariant[i]) {
        results->push_back(loop_.initial[i]);
        continue;
      }
      Value value = loop_.initial[i] != kNoValue ? emitter_.value(loop_.initial[i]) : Value();
      value.plain = outputs[next++];
      value.channels_first = TensorId();
      results->push_back(emitter_.add(std::move(value)));
    }
    return emitter_.status();
  }

  Emitter& emitter_;
  const InferOptions& options_;
  Loop& loop_;
};

}  // namespace

StatusOr<std::string> emit_loop(Emitter& emitter, const InferOptions& options, Loop& loop,
                                std::vector<ValueId>* results) {
  return LoopMaker(emitter, options, loop).run(results);
}

TensorId make_list(Emitter& emitter, const std::string& name, const Value& list) {
  std::vector<int64_t> extents = list.element.extents();
  extents.insert(extents.begin(), list.length);
  return emitter.emit_one(
      {"TensorListReserve",
       kTensorFlow,
       name,
       {},
       {{"shape", std::move(extents)}, {"dtype", std::string(dtype_name(list.element_dtype))}}});
}

}  // namespace dfsim::inline graphs
