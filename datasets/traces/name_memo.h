// NameMemo: what a function says of a name, asked once for each name of a trace. A trace has
// millions of spans and few names.
#pragma once

#include <optional>
#include <vector>

#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

template <typename Value>
class NameMemo {
 public:
  // `function` takes the name's text and gives the same value each time. O(1) after the first call.
  template <typename Function>
  Value of(const Trace& trace, NameId name, const Function& function) {
    if (!name.valid()) {
      return function(trace.text(name));
    }
    if (name.index() >= known_.size()) {
      known_.resize(name.index() + 1);
    }
    std::optional<Value>& known = known_[name.index()];
    if (!known) {
      known = function(trace.text(name));
    }
    return *known;
  }

 private:
  std::vector<std::optional<Value>> known_;
};

}  // namespace dfsim::inline datasets
