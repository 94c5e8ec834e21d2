// Distributed runs: tensors that travel between workers, and sessions that end when all their
// operators have.
#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>
#include <string>

#include "study/replay/replay_graph.h"

namespace dfsim::inline study {
namespace {

// A thread goes on this long after what it waited for, at most.
constexpr TimeNs kMostWakeNs = 500 * kNsPerUs;
constexpr uint32_t kNothingBefore = UINT32_MAX;

class TransferJoiner {
 public:
  TransferJoiner(const Trace& trace, ReplayGraph* graph) : trace_(trace), graph_(graph) {
    for (uint32_t lane = 0; lane < graph->lanes.size(); ++lane) {
      if (!graph->lanes[lane].device) {
        lane_of_.emplace(graph->lanes[lane].track, lane);
      }
    }
  }

  void join() {
    join_sessions();
    for (const Transfer& transfer : trace_.transfers) {
      join_one(transfer);
    }
  }

 private:
  TimeNs time_ns(double us) const { return std::llround((us - graph_->start_us) * kNsPerUs); }

  // The last piece of a lane that ended by then and is not a gap; kNothingBefore = none.
  uint32_t last_ended(uint32_t lane, TimeNs by_ns) const {
    const std::vector<uint32_t>& order = graph_->order[lane];
    auto at = std::ranges::partition_point(
        order, [&](uint32_t p) { return graph_->pieces[p].end_ns <= by_ns; });
    while (at != order.begin()) {
      --at;
      if (graph_->pieces[*at].kind != PieceKind::kGap) {
        return *at;
      }
    }
    return kNothingBefore;
  }

  // The same over the thread, or else over all threads of its process.
  uint32_t last_ended(TrackId track, TimeNs by_ns) const {
    const auto own = track.valid() ? lane_of_.find(track) : lane_of_.end();
    if (own != lane_of_.end()) {
      if (const uint32_t piece = last_ended(own->second, by_ns); piece != kNothingBefore) {
        return piece;
      }
    }
    uint32_t latest = kNothingBefore;
    for (const auto& [other, lane] : lane_of_) {
      if (track.valid() && trace_.track(other).process != trace_.track(track).process) {
        continue;
      }
      const uint32_t piece = last_ended(lane, by_ns);
      if (piece != kNothingBefore &&
          (latest == kNothingBefore ||
           graph_->pieces[piece].end_ns > graph_->pieces[latest].end_ns)) {
        latest = piece;
      }
    }
    return latest;
  }

  // The gap of a lane around a time, which nothing explains yet; kNothingBefore = none.
  uint32_t open_gap(uint32_t lane, TimeNs at_ns) const {
    const std::vector<uint32_t>& order = graph_->order[lane];
    const auto at = std::ranges::partition_point(
        order, [&](uint32_t p) { return graph_->pieces[p].end_ns < at_ns; });
    if (at == order.end()) {
      return kNothingBefore;
    }
    const Piece& piece = graph_->pieces[*at];
    const bool open = piece.kind == PieceKind::kGap && piece.start_ns < at_ns &&
                      piece.time_ns == piece.end_ns - piece.start_ns;
    return open ? *at : kNothingBefore;
  }

  // The gap that the arrival ended: of the thread that asked, or of another one of its process.
  uint32_t waiting_gap(const Transfer& transfer, TimeNs arrived_ns) const {
    uint32_t found = kNothingBefore;
    for (const auto& [track, lane] : lane_of_) {
      const bool asked = track == transfer.to;
      if (!asked && (!transfer.to.valid() ||
                     trace_.track(track).process != trace_.track(transfer.to).process)) {
        continue;
      }
      const uint32_t gap = open_gap(lane, arrived_ns);
      if (gap == kNothingBefore || graph_->pieces[gap].end_ns - arrived_ns > kMostWakeNs) {
        continue;
      }
      if (asked) {
        return gap;
      }
      found = found == kNothingBefore || graph_->pieces[gap].end_ns < graph_->pieces[found].end_ns
                  ? gap
                  : found;
    }
    return found;
  }

  uint32_t free_lane(const Transfer& transfer, TimeNs start_ns) {
    if (!free_.empty() && free_.top().first <= start_ns) {
      const uint32_t lane = free_.top().second;
      free_.pop();
      return lane;
    }
    const auto lane = static_cast<uint32_t>(graph_->lanes.size());
    graph_->lanes.push_back({trace_.span(transfer.span).track, false});
    graph_->order.emplace_back();
    return lane;
  }

  void join_one(const Transfer& transfer) {
    Piece piece;
    piece.span = transfer.span;
    piece.kind = PieceKind::kTransfer;
    piece.start_ns = time_ns(transfer.began_us());
    piece.end_ns = time_ns(transfer.arrived_us);
    piece.time_ns = piece.end_ns - piece.start_ns;
    const uint32_t producer = last_ended(transfer.from, time_ns(transfer.produced_us));
    const uint32_t asker = transfer.to.valid()
                               ? last_ended(transfer.to, time_ns(transfer.requested_us))
                               : kNothingBefore;
    if (piece.start_ns < 0 || (producer == kNothingBefore && asker == kNothingBefore)) {
      return;  // nothing says what it waited for
    }
    piece.lane = free_lane(transfer, piece.start_ns);
    const auto id = static_cast<uint32_t>(graph_->pieces.size());
    free_.emplace(piece.end_ns, piece.lane);
    graph_->order[piece.lane].push_back(id);
    graph_->pieces.push_back(piece);
    add_cause(producer, id, time_ns(transfer.produced_us));
    add_cause(asker, id, time_ns(transfer.requested_us));
    if (const uint32_t gap = waiting_gap(transfer, piece.end_ns); gap != kNothingBefore) {
      graph_->pieces[gap].time_ns = graph_->pieces[gap].end_ns - piece.end_ns;
      graph_->edges.push_back({id, gap, 0, PieceEdgeKind::kTransfer});
    }
  }

  void add_cause(uint32_t from, uint32_t to, TimeNs at_ns) {
    if (from != kNothingBefore && at_ns <= graph_->pieces[to].start_ns) {
      graph_->edges.push_back(
          {from, to, at_ns - graph_->pieces[from].end_ns, PieceEdgeKind::kTransfer});
    }
  }

  // The thread that ran a session goes on after the last operator of the session.
  void join_sessions() {
    if (trace_.format != "ctf") {
      return;  // ranges of other formats say nothing of what waited for them
    }
    for (const Span& session : trace_.spans) {
      const auto own = lane_of_.find(session.track);
      if (session.kind != SpanKind::kAnnotation || own == lane_of_.end()) {
        continue;
      }
      const TimeNs end_ns = time_ns(session.end_us);
      const uint32_t gap = open_gap(own->second, end_ns);
      if (gap == kNothingBefore) {
        continue;
      }
      uint32_t last = kNothingBefore;
      for (const auto& [track, lane] : lane_of_) {
        const uint32_t piece = lane == own->second ? kNothingBefore : last_ended(lane, end_ns);
        if (piece != kNothingBefore &&
            (last == kNothingBefore ||
             graph_->pieces[piece].end_ns > graph_->pieces[last].end_ns)) {
          last = piece;
        }
      }
      Piece& waits = graph_->pieces[gap];
      if (last != kNothingBefore && graph_->pieces[last].end_ns > waits.start_ns &&
          graph_->pieces[last].end_ns >= time_ns(session.start_us)) {
        waits.time_ns = waits.end_ns - graph_->pieces[last].end_ns;
        graph_->edges.push_back({last, gap, 0, PieceEdgeKind::kHandover});
      }
    }
  }

  const Trace& trace_;
  ReplayGraph* graph_;
  std::map<TrackId, uint32_t> lane_of_;      // of host threads
  using Free = std::pair<TimeNs, uint32_t>;  // end of the lane's last transfer, lane
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free_;
};

}  // namespace

void join_transfers(const Trace& trace, ReplayGraph* graph) { TransferJoiner(trace, graph).join(); }

}  // namespace dfsim::inline study
