// ReplayTimes: when the pieces of a replay graph run at the earliest.
//
// Each lane runs its pieces in order, and a piece starts when the one before it on its lane and all
// pieces it depends on have ended, after the delays of those dependencies. One pass over the pieces
// in an order in which causes come first gives the times that simulating the lanes as devices gives
// (run_replay()), without a simulator's events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "study/replay/replay_graph.h"

namespace dfsim::inline study {

inline constexpr uint32_t kNoPiece = UINT32_MAX;

// A piece waits for the end of `from`, and the delay after it.
struct PieceCause {
  uint32_t from = kNoPiece;
  TimeNs delay_ns = 0;
};

class ReplayTimes {
 public:
  // Error (kInvalidInput): dependencies in a circle, which zero durations can make. The graph is
  // needed no more. O(pieces + edges).
  static StatusOr<ReplayTimes> make(const ReplayGraph& graph);

  // All pieces, causes before what they cause.
  const std::vector<uint32_t>& order() const { return order_; }
  // Calls visit(PieceCause) for each cause of a piece, that on its own lane first.
  template <typename Visit>
  void for_each_cause(uint32_t piece, const Visit& visit) const {
    if (before_[piece] != kNoPiece) {
      visit(PieceCause{before_[piece], 0});
    }
    for (const PieceCause& cause : std::span(causes_).subspan(
             first_cause_[piece], first_cause_[piece + 1] - first_cause_[piece])) {
      visit(cause);
    }
  }

  // When each piece ends if piece p takes time_of(p) nanoseconds. O(pieces + edges).
  template <typename TimeOf>
  std::vector<TimeNs> ends(const TimeOf& time_of) const {
    std::vector<TimeNs> ends(order_.size());
    for (const uint32_t piece : order_) {
      TimeNs start_ns = 0;
      for_each_cause(piece, [&](const PieceCause& cause) {
        start_ns = std::max(start_ns, ends[cause.from] + cause.delay_ns);
      });
      ends[piece] = start_ns + time_of(piece);
    }
    return ends;
  }
  // When the last one does.
  template <typename TimeOf>
  TimeNs span(const TimeOf& time_of) const {
    const std::vector<TimeNs> all = ends(time_of);
    return all.empty() ? 0 : *std::ranges::max_element(all);
  }

 private:
  bool find_order();

  std::vector<uint32_t> before_;       // by piece: the one before it on its lane
  std::vector<uint32_t> first_cause_;  // by piece, into causes_
  std::vector<PieceCause> causes_;     // of edges
  std::vector<uint32_t> order_;
};

}  // namespace dfsim::inline study
