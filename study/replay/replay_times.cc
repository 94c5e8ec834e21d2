// Sorts causes by the piece that waits for them, and orders pieces depth first, on a stack of its
// own: chains are as long as the run.
#include "study/replay/replay_times.h"

namespace dfsim::inline study {

StatusOr<ReplayTimes> ReplayTimes::make(const ReplayGraph& graph) {
  ReplayTimes times;
  const size_t count = graph.pieces.size();
  times.before_.assign(count, kNoPiece);
  for (const std::vector<uint32_t>& lane : graph.order) {
    for (size_t i = 1; i < lane.size(); ++i) {
      times.before_[lane[i]] = lane[i - 1];
    }
  }
  times.first_cause_.assign(count + 1, 0);
  for (const PieceEdge& edge : graph.edges) {
    ++times.first_cause_[edge.to + 1];
  }
  for (size_t p = 0; p < count; ++p) {
    times.first_cause_[p + 1] += times.first_cause_[p];
  }
  times.causes_.resize(graph.edges.size());
  std::vector<uint32_t> filled(times.first_cause_.begin(), times.first_cause_.end() - 1);
  for (const PieceEdge& edge : graph.edges) {
    times.causes_[filled[edge.to]++] = {edge.from, edge.delay_ns};
  }
  if (!times.find_order()) {
    return invalid_input(
        "the dependencies of the recorded run form a circle; its times contradict each other");
  }
  return times;
}

// False for a circle.
bool ReplayTimes::find_order() {
  enum class State : uint8_t { kUnseen, kOnStack, kDone };
  std::vector<State> state(before_.size(), State::kUnseen);
  std::vector<uint32_t> stack;
  order_.reserve(before_.size());
  for (uint32_t first = 0; first < before_.size(); ++first) {
    stack.push_back(first);
    while (!stack.empty()) {
      const uint32_t piece = stack.back();
      if (state[piece] == State::kDone) {
        stack.pop_back();
        continue;
      }
      bool waits = false;
      bool circle = false;
      if (state[piece] == State::kUnseen) {
        state[piece] = State::kOnStack;
        for_each_cause(piece, [&](const PieceCause& cause) {
          circle = circle || state[cause.from] == State::kOnStack;
          if (state[cause.from] == State::kUnseen) {
            stack.push_back(cause.from);
            waits = true;
          }
        });
      }
      if (circle) {
        return false;
      }
      if (!waits) {
        state[piece] = State::kDone;
        order_.push_back(piece);
        stack.pop_back();
      }
    }
  }
  return true;
}

}  // namespace dfsim::inline study
