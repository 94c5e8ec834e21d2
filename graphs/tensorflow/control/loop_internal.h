// A TensorFlow loop, however it is written, as our Loop. Internal to graphs/tensorflow.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/tensorflow/emitter_internal.h"

namespace dfsim::inline graphs {

// Values at the begin or the end of a trip, in the body's emitter.
struct TripValues {
  std::vector<ValueId> variables;
  std::vector<ValueId> constants;
  ValueId condition = kNoValue;
};

struct Loop {
  std::string name;
  std::vector<ValueId> initial;    // of the variables, in the outer emitter
  std::vector<bool> invariant;     // per variable: no trip changes it
  std::vector<ValueId> constants;  // other values that the body reads
  std::optional<int64_t> trips;
  bool condition_first = false;  // `trip` gives the condition before it instead
  // Translates one trip and the condition after it.
  std::function<Status(Emitter&, const TripValues& before, TripValues* after)> trip;
};

// Emits a Loop; `results` are the variables after it. Lists whose elements are unknown before the
// first trip are tried once, then made. Returns "" or why the loop cannot be translated.
StatusOr<std::string> emit_loop(Emitter& emitter, const InferOptions& options, Loop& loop,
                                std::vector<ValueId>* results);

// The tensor [length, element...] of a list whose elements are known, made when there is none.
TensorId make_list(Emitter& emitter, const std::string& name, const Value& list);

}  // namespace dfsim::inline graphs
