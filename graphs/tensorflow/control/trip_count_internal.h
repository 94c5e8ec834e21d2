// How often a TensorFlow loop runs, where its condition counts. Internal to graphs/tensorflow.
#pragma once

#include <functional>
#include <optional>

#include "graphs/tensorflow/node_graph_internal.h"

namespace dfsim::inline graphs {

// A loop's condition and body as the counting sees them.
struct LoopView {
  const NodeGraph& condition;
  Source predicate;
  const NodeGraph& body;
  std::vector<Source> results;  // of the variables after a trip, in `body`
  // The variable that a source of either graph is, behind identities.
  std::function<std::optional<size_t>(const NodeGraph&, Source)> variable;
  // The value that a source has in every trip; of a variable, before the first one.
  std::function<std::optional<int64_t>(const NodeGraph&, Source)> constant;
  std::function<std::optional<int64_t>(size_t)> initial;
};

// Conditions `i < n`, `i <= n` and conjunctions of them, where i starts at a known number and a
// trip adds a known number, and n is known: the least of those counts. nullopt for anything else.
std::optional<int64_t> count_trips(const LoopView& loop);

}  // namespace dfsim::inline graphs
