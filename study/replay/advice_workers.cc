// The rule about distributed runs: operators that wait for a tensor of another worker would run
// there, next to the operator that makes it.
//
// The moved operators keep their measured times, since workers of one job are alike; they queue
// behind the sender's own work, and a tensor that they also need from their old worker, or that
// their old worker needs from them, travels like the one that is saved.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/counted.h"
#include "base/text.h"
#include "study/replay/advice.h"

namespace dfsim::inline study {
namespace {

constexpr uint32_t kNoSuchPiece = UINT32_MAX;

// One transfer of the run and what is around it.
struct Arrival {
  uint32_t transfer = kNoSuchPiece;
  uint32_t producer = kNoSuchPiece;
  uint32_t gap = kNoSuchPiece;      // of the receiver, which ends with the arrival
  std::vector<uint32_t> consumers;  // the receiver's work until it waits or pauses again
};

class WorkerMoves {
 public:
  explicit WorkerMoves(const AdviceInput& input) : input_(input) {
    place_.assign(input.graph.pieces.size(), 0);
    waits_.assign(input.graph.pieces.size(), false);
    for (const std::vector<uint32_t>& order : input.graph.order) {
      for (size_t i = 0; i < order.size(); ++i) {
        place_[order[i]] = i;
      }
    }
    std::map<uint32_t, Arrival> arrivals;
    for (const PieceEdge& edge : input.graph.edges) {
      waits_[edge.to] =
          waits_[edge.to] || edge.kind == PieceEdgeKind::kTransfer ||
          (edge.kind == PieceEdgeKind::kHandover && piece(edge.to).kind == PieceKind::kGap);
      const bool into = piece(edge.to).kind == PieceKind::kTransfer;
      if (edge.kind != PieceEdgeKind::kTransfer) {
        continue;
      }
      Arrival& arrival = arrivals[into ? edge.to : edge.from];
      if (!into) {
        arrival.gap = edge.to;
      } else if (arrival.producer == kNoSuchPiece ||
                 piece(edge.from).end_ns > piece(arrival.producer).end_ns) {
        arrival.producer = edge.from;
      }
    }
    for (auto& [transfer, arrival] : arrivals) {
      arrival.transfer = transfer;  // all waits are known by now
      if (arrival.gap == kNoSuchPiece || arrival.producer == kNoSuchPiece) {
        continue;
      }
      find_consumers(&arrival);
      if (!arrival.consumers.empty()) {
        by_key_[input.trace.span(piece(transfer).span).detail].push_back(arrival);
      }
    }
  }

  // The key whose move saves most when simulated.
  std::optional<Finding> best() const {
    std::optional<Finding> best;
    TimeNs least_ns = 0;
    for (const auto& [key, arrivals] : by_key_) {
      Finding finding = move(arrivals);
      const auto span_ns = replay_span(finding.changed);
      if (span_ns.ok() && (!best.has_value() || *span_ns < least_ns)) {
        least_ns = *span_ns;
        best = std::move(finding);
      }
    }
    return best;
  }

 private:
  const Piece& piece(uint32_t p) const { return input_.graph.pieces[p]; }

  // From the gap on: operators until the next gap that waits for something.
  void find_consumers(Arrival* arrival) const {
    const std::vector<uint32_t>& order = input_.graph.order[piece(arrival->gap).lane];
    for (size_t i = place_[arrival->gap] + 1; i < order.size() && !waits_[order[i]]; ++i) {
      const Piece& next = piece(order[i]);
      if (next.kind == PieceKind::kGap && next.time_ns > kNsPerMs) {
        break;  // the next step
      }
      arrival->consumers.push_back(order[i]);
    }
  }

  // Whether the consumers' old worker has operators of its own that end before them, or begin after
  // them, within the same step, on other threads: these share data with them.
  bool shares_data(const Arrival& arrival, bool before) const {
    const Piece& first = piece(arrival.consumers.front());
    const TimeNs end_ns = piece(arrival.consumers.back()).end_ns;
    const TimeNs from_ns = before ? piece(arrival.producer).start_ns : end_ns;
    const TimeNs to_ns = before ? first.start_ns : end_ns + kNsPerMs;
    const std::string& process = process_of(first.lane);
    for (uint32_t lane = 0; lane < input_.graph.lanes.size(); ++lane) {
      if (lane == first.lane || input_.graph.lanes[lane].device || process_of(lane) != process) {
        continue;
      }
      const std::vector<uint32_t>& order = input_.graph.order[lane];
      auto at = std::ranges::partition_point(
          order, [&](uint32_t p) { return piece(p).start_ns < from_ns; });
      for (; at != order.end() && piece(*at).start_ns < to_ns; ++at) {
        if (piece(*at).kind == PieceKind::kOp && (!before || piece(*at).end_ns <= to_ns)) {
          return true;
        }
      }
    }
    return false;
  }

  const std::string& process_of(uint32_t lane) const {
    return input_.trace.track(input_.graph.lanes[lane].track).process;
  }

  Finding move(const std::vector<Arrival>& arrivals) const {
    Finding finding;
    finding.changed = input_.graph;
    TimeNs saved_ns = 0;
    std::map<std::string, TimeNs> moved;
    for (const Arrival& arrival : arrivals) {
      move_one(arrival, &finding);
      saved_ns += piece(arrival.transfer).time_ns;
      for (const uint32_t p : arrival.consumers) {
        if (piece(p).kind == PieceKind::kOp) {
          moved[input_.trace.text(input_.trace.span(piece(p).span).name)] += piece(p).time_ns;
        }
      }
    }
    const auto most = std::ranges::max_element(
        moved, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == moved.end()) {
      return finding;
    }
    const Arrival& one = arrivals.front();
    const std::string from = process_of(piece(one.gap).lane);
    const std::string to = process_of(piece(one.producer).lane);
    const std::string name =
        printable(most->first, 40) +
        (moved.size() > 1 ? fmt::format(" and {} more",
                                        counted(static_cast<int64_t>(moved.size() - 1), "operator"))
                          : "");
    finding.insight =
        fmt::format("{} on {} waits {} for a tensor of {} ({})", printable(most->first, 40),
                    printable(from, 30), counted(static_cast<int64_t>(arrivals.size()), "time"),
                    printable(to, 30), format_time(saved_ns));
    finding.action = fmt::format("place {} on {}, where the tensor is", name, printable(to, 30));
    return finding;
  }

  void move_one(const Arrival& arrival, Finding* finding) const {
    ReplayGraph& graph = finding->changed;
    Piece& transfer = graph.pieces[arrival.transfer];
    const TimeNs travel_ns = transfer.time_ns;
    const bool needs_old = shares_data(arrival, true);
    const bool gives_old = shares_data(arrival, false);
    // Another operand would have to travel the other way while the sender works.
    transfer.time_ns = transfer.low_ns = transfer.high_ns = needs_old ? travel_ns : 0;
    std::vector<uint32_t>& old_order = graph.order[piece(arrival.gap).lane];
    const std::set<uint32_t> moved(arrival.consumers.begin(), arrival.consumers.end());
    std::erase_if(old_order, [&moved](uint32_t p) { return moved.count(p) > 0; });
    const uint32_t lane = piece(arrival.producer).lane;
    std::vector<uint32_t>& new_order = graph.order[lane];
    auto at = std::ranges::find(new_order, arrival.producer);
    new_order.insert(at == new_order.end() ? at : at + 1, arrival.consumers.begin(),
                     arrival.consumers.end());
    for (const uint32_t p : arrival.consumers) {
      graph.pieces[p].lane = lane;
      finding->uncertain.push_back(p);
    }
    if (needs_old) {
      graph.edges.push_back(
          {arrival.transfer, arrival.consumers.front(), 0, PieceEdgeKind::kTransfer});
    }
    if (gives_old) {
      // The next operator on the old worker waits for the result.
      const auto next = std::ranges::find_if(old_order, [&](uint32_t p) {
        return piece(p).start_ns >= piece(arrival.consumers.back()).end_ns;
      });
      if (next != old_order.end()) {
        graph.edges.push_back(
            {arrival.consumers.back(), *next, travel_ns, PieceEdgeKind::kTransfer});
      }
    }
  }

  const AdviceInput& input_;
  std::vector<size_t> place_;  // by piece: its place in its lane's order
  std::vector<bool> waits_;    // by piece: it is a gap that waits for a transfer or another thread
  std::map<NameId, std::vector<Arrival>> by_key_;
};

}  // namespace

Finding find_worker_moves(const AdviceInput& input) {
  if (input.trace.transfers.empty()) {
    return {};
  }
  std::optional<Finding> best = WorkerMoves(input).best();
  return best.has_value() ? std::move(*best) : Finding();
}

}  // namespace dfsim::inline study
