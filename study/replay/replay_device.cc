// Device queues of a replayed run: what each piece of work waited for, and which calls waited for
// it.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>

#include "base/text.h"
#include "datasets/traces/name_memo.h"
#include "study/replay/replay_graph.h"

namespace dfsim::inline study {
namespace {

// A queue that waits for another one goes on within this time.
constexpr TimeNs kMostQueueHandoverNs = 10 * kNsPerUs;
// Work without a recorded launch that follows the host begins within this time.
constexpr TimeNs kMostHostHandoverNs = 500 * kNsPerUs;
constexpr uint32_t kNone = UINT32_MAX;

PieceKind kind_of(const Trace& trace, const Span& span) {
  switch (span.kind) {
    case SpanKind::kCopy:
      return PieceKind::kCopy;
    case SpanKind::kMemset:
      return PieceKind::kMemset;
    default:
      return is_communication(trace.text(span.name)) ? PieceKind::kCommunication
                                                     : PieceKind::kKernel;
  }
}

// Pieces by their end; answers which one ended last before a piece began.
class LastEnded {
 public:
  LastEnded(const ReplayGraph& graph, std::vector<uint32_t> pieces)
      : graph_(graph), by_end_(std::move(pieces)) {
    std::sort(by_end_.begin(), by_end_.end(), [&graph](uint32_t a, uint32_t b) {
      return std::pair(graph.pieces[a].end_ns, a) < std::pair(graph.pieces[b].end_ns, b);
    });
  }

  // kNone when there is none. The earlier of two pieces without a duration counts as before.
  uint32_t before(uint32_t piece) const {
    const TimeNs start_ns = graph_.pieces[piece].start_ns;
    const auto after = std::partition_point(
        by_end_.begin(), by_end_.end(), [this, start_ns, piece](uint32_t other) {
          const TimeNs end_ns = graph_.pieces[other].end_ns;
          return end_ns < start_ns || (end_ns == start_ns && other < piece);
        });
    return after == by_end_.begin() ? kNone : *(after - 1);
  }

 private:
  const ReplayGraph& graph_;
  std::vector<uint32_t> by_end_;
};

class LaunchJoiner {
 public:
  LaunchJoiner(const Trace& trace, const HostPlaces& places, ReplayGraph* graph)
      : trace_(trace), places_(places), graph_(graph) {
    std::map<TrackId, std::vector<uint32_t>> tracks;
    for (uint32_t p = 0; p < graph->pieces.size(); ++p) {
      if (is_device_piece(graph->pieces[p].kind)) {
        tracks[graph->lanes[graph->pieces[p].lane].track].push_back(p);
      }
    }
    std::vector<uint32_t> ops;
    for (uint32_t p = 0; p < graph->pieces.size(); ++p) {
      if (graph->pieces[p].kind == PieceKind::kOp) {
        ops.push_back(p);
      }
    }
    ops_.emplace(*graph, std::move(ops));
    for (auto& [track, pieces] : tracks) {
      ended_.emplace(track, LastEnded(*graph, pieces));
      for (const uint32_t piece : pieces) {
        work_.push_back({piece, track});
      }
    }
    std::sort(work_.begin(), work_.end());
  }

  void join() {
    find_usual_delay();
    for (auto& lane : graph_->order) {
      if (!lane.empty() && is_device_piece(graph_->pieces[lane.front()].kind)) {
        lane.clear();  // rebuilt with gaps
      }
    }
    for (const auto& [piece, track] : work_) {
      join_one(piece, track);
    }
  }

 private:
  struct Launch {
    uint32_t before = kNone;  // the host's piece that ends where the call begins
    TimeNs time_ns = 0;
  };

  // The call, or else the operator that the work belongs to.
  Launch launch_of(const Piece& piece) const {
    const Span& span = trace_.span(piece.span);
    for (const SpanId cause : {span.launch, span.op}) {
      if (!cause.valid()) {
        continue;
      }
      const uint32_t before = places_.before[cause.index()];
      if (before != kNone && graph_->pieces[before].end_ns <= piece.start_ns) {
        return {before, graph_->pieces[before].end_ns};
      }
    }
    return {};
  }

  // Delays of work that was launched into an empty queue: how long the launch takes to the device.
  void find_usual_delay() {
    std::vector<TimeNs> delays;
    for (const auto& [p, track] : work_) {
      const Piece& piece = graph_->pieces[p];
      const Launch launch = launch_of(piece);
      const uint32_t last = ended_.at(track).before(p);
      if (launch.before != kNone &&
          (last == kNone || graph_->pieces[last].end_ns < launch.time_ns)) {
        delays.push_back(piece.start_ns - launch.time_ns);
      }
    }
    if (!delays.empty()) {
      // The lower quartile: the slower ones waited for more than their launch.
      const auto quartile = delays.begin() + static_cast<std::ptrdiff_t>(delays.size() / 4);
      std::nth_element(delays.begin(), quartile, delays.end());
      usual_delay_ns_ = *quartile;
    }
  }

  // Work of another queue of the device that ended just before, later than `from_ns`.
  uint32_t other_queue(uint32_t p, TrackId own, TimeNs from_ns) const {
    uint32_t latest = kNone;
    for (const auto& [track, ended] : ended_) {
      if (track == own || trace_.track(track).device != trace_.track(own).device) {
        continue;
      }
      const uint32_t other = ended.before(p);
      if (other != kNone && graph_->pieces[other].end_ns > from_ns &&
          graph_->pieces[p].start_ns - graph_->pieces[other].end_ns <= kMostQueueHandoverNs &&
          (latest == kNone || graph_->pieces[other].end_ns > graph_->pieces[latest].end_ns)) {
        latest = other;
      }
    }
    return latest;
  }

  // The operator on the host that ended just before work whose launch is not recorded, later than
  // `from_ns`: the work's input comes from it, or its thread launched the work.
  uint32_t host_before(uint32_t p, TimeNs from_ns) const {
    const uint32_t op = ops_->before(p);
    return op != kNone && graph_->pieces[op].end_ns > from_ns &&
                   graph_->pieces[p].start_ns - graph_->pieces[op].end_ns <= kMostHostHandoverNs
               ? op
               : kNone;
  }

  void join_one(uint32_t p, TrackId track) {
    const TimeNs start_ns = graph_->pieces[p].start_ns;
    const Launch launch = launch_of(graph_->pieces[p]);
    const bool launched = launch.before != kNone;
    const uint32_t last = ended_.at(track).before(p);
    const TimeNs last_ns = last == kNone ? 0 : graph_->pieces[last].end_ns;
    TimeNs delay_ns = launched ? std::min(usual_delay_ns_, start_ns - launch.time_ns) : 0;
    const TimeNs explained_ns = std::max(last_ns, launched ? launch.time_ns + delay_ns : 0);
    uint32_t gap = kNone;
    if (explained_ns < start_ns) {
      uint32_t other = other_queue(p, track, explained_ns);
      if (other == kNone && !launched) {
        other = host_before(p, explained_ns);
      }
      if (other != kNone) {
        gap = add_gap(p, other, graph_->pieces[other].end_ns);
      } else if (launched && last_ns <= launch.time_ns) {
        delay_ns = start_ns - launch.time_ns;  // a slow launch
      } else {
        gap = add_gap(p, last, last_ns);
      }
    }
    if (launched) {
      graph_->edges.push_back({launch.before, p, delay_ns, PieceEdgeKind::kLaunch});
    }
    graph_->launched += launched ? 1 : 0;
    graph_->unlaunched += launched ? 0 : 1;
    const Span& span = trace_.span(graph_->pieces[p].span);
    graph_->too_early += !launched && span.launch.valid() ? 1 : 0;
    if (gap == kNone && last != kNone && graph_->pieces[last].lane != graph_->pieces[p].lane) {
      graph_->edges.push_back({last, p, 0, PieceEdgeKind::kQueue});
    }
    graph_->order[graph_->pieces[p].lane].push_back(p);
  }

  // Keeps the time from `from_ns`, when `after` ended, to the begin of the work.
  uint32_t add_gap(uint32_t p, uint32_t after, TimeNs from_ns) {
    Piece gap;
    gap.lane = graph_->pieces[p].lane;
    gap.kind = PieceKind::kQueueGap;
    gap.start_ns = from_ns;
    gap.end_ns = graph_->pieces[p].start_ns;
    gap.time_ns = gap.end_ns - gap.start_ns;
    const auto id = static_cast<uint32_t>(graph_->pieces.size());
    graph_->pieces.push_back(gap);
    graph_->order[gap.lane].push_back(id);
    if (after != kNone && graph_->pieces[after].lane != gap.lane) {
      graph_->edges.push_back({after, id, 0, PieceEdgeKind::kQueue});
    }
    return id;
  }

  const Trace& trace_;
  const HostPlaces& places_;
  ReplayGraph* graph_;
  std::map<TrackId, LastEnded> ended_;
  std::optional<LastEnded> ops_;  // of all host threads
  std::vector<std::pair<uint32_t, TrackId>> work_;
  TimeNs usual_delay_ns_ = 0;
};

// Work that a call of the device's runtime may wait for.
enum class Blocking : uint8_t { kNothing, kOwnWork, kLatest, kEverything };

Blocking blocking_of(const std::string& name) {
  const std::string lower = to_lower(name);
  const auto has = [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  if (has("synchronize")) {
    return has("device") || has("ctx") || has("context") ? Blocking::kEverything
                                                         : Blocking::kLatest;
  }
  return has("memcpy") ? Blocking::kOwnWork : Blocking::kNothing;
}

// Device work of one lane in the order of its launches.
struct Launched {
  TimeNs launch_ns = 0;
  uint32_t piece = 0;
  bool operator<(const Launched& other) const {
    return std::pair(launch_ns, piece) < std::pair(other.launch_ns, other.piece);
  }
};

class SyncJoiner {
 public:
  SyncJoiner(const Trace& trace, ReplayGraph* graph)
      : trace_(trace), graph_(graph), lanes_(graph->lanes.size()) {
    for (uint32_t p = 0; p < graph->pieces.size(); ++p) {
      const Piece& piece = graph->pieces[p];
      if (!is_device_piece(piece.kind) || !piece.span.valid()) {
        continue;
      }
      const Span& span = trace.span(piece.span);
      const double launch_us =
          span.launch.valid() ? trace.span(span.launch).start_us : span.start_us;
      lanes_[piece.lane].push_back({time_ns(launch_us), p});
      if (span.launch.valid()) {
        own_[span.launch] = p;
      }
    }
    for (auto& lane : lanes_) {
      std::sort(lane.begin(), lane.end());
    }
  }

  void join() {
    for (uint32_t p = 0; p < graph_->pieces.size(); ++p) {
      Piece& piece = graph_->pieces[p];
      if (piece.kind == PieceKind::kCall &&
          piece.end_ns == time_ns(trace_.span(piece.span).end_us)) {
        wait(p, blocking_.of(trace_, trace_.span(piece.span).name, blocking_of));
      }
    }
  }

 private:
  TimeNs time_ns(double us) const { return std::llround((us - graph_->start_us) * kNsPerUs); }

  void wait(uint32_t p, Blocking blocking) {
    std::vector<uint32_t> awaited;
    if (blocking == Blocking::kOwnWork) {
      const auto own = own_.find(graph_->pieces[p].span);
      if (own != own_.end()) {
        awaited.push_back(own->second);
      }
    } else if (blocking != Blocking::kNothing) {
      awaited = last_launched(graph_->pieces[p]);
    }
    // A wait cannot have been for what ended later.
    std::erase_if(awaited, [this, p](uint32_t w) {
      return graph_->pieces[w].end_ns > graph_->pieces[p].end_ns + kRoundingNs;
    });
    if (blocking != Blocking::kEverything && awaited.size() > 1) {
      awaited = {*std::max_element(awaited.begin(), awaited.end(), [this](uint32_t a, uint32_t b) {
        return graph_->pieces[a].end_ns < graph_->pieces[b].end_ns;
      })};
    }
    Piece& piece = graph_->pieces[p];
    TimeNs from_ns = piece.start_ns;
    for (const uint32_t w : awaited) {
      end_before(piece.end_ns, &graph_->pieces[w]);
      from_ns = std::max(from_ns, graph_->pieces[w].end_ns);
      graph_->edges.push_back({w, p, 0, PieceEdgeKind::kSync});
    }
    piece.time_ns = std::max<TimeNs>(0, piece.end_ns - from_ns);
  }

  // Each lane contributes the last work that was launched before the call.
  std::vector<uint32_t> last_launched(const Piece& call) const {
    std::vector<uint32_t> found;
    for (const auto& lane : lanes_) {
      const auto after = std::lower_bound(lane.begin(), lane.end(), Launched{call.start_ns, 0});
      if (after != lane.begin()) {
        found.push_back((after - 1)->piece);
      }
    }
    return found;
  }

  const Trace& trace_;
  ReplayGraph* graph_;
  std::vector<std::vector<Launched>> lanes_;
  std::unordered_map<SpanId, uint32_t> own_;
  NameMemo<Blocking> blocking_;
};

}  // namespace

void add_device_pieces(const Trace& trace, ReplayGraph* graph) {
  using Free = std::pair<TimeNs, uint32_t>;  // end of the lane's last piece, lane
  std::map<TrackId, std::priority_queue<Free, std::vector<Free>, std::greater<>>> tracks;
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    if (!is_device_work(span.kind)) {
      continue;
    }
    Piece piece;
    piece.span = SpanId(i);
    piece.kind = kind_of(trace, span);
    piece.start_ns = std::llround((span.start_us - graph->start_us) * kNsPerUs);
    piece.end_ns = std::llround((span.end_us - graph->start_us) * kNsPerUs);
    piece.time_ns = piece.end_ns - piece.start_ns;
    auto& lanes = tracks[span.track];
    // Work that overlaps the one before only by rounding follows it.
    if (!lanes.empty() && lanes.top().first > piece.start_ns &&
        lanes.top().first <= piece.start_ns + kRoundingNs) {
      piece.start_ns = lanes.top().first;
      piece.end_ns = std::max(piece.end_ns, piece.start_ns);
      piece.time_ns = piece.end_ns - piece.start_ns;
    }
    if (lanes.empty() || lanes.top().first > piece.start_ns) {
      piece.lane = static_cast<uint32_t>(graph->lanes.size());
      graph->lanes.push_back({span.track, true});
      graph->order.emplace_back();
    } else {
      piece.lane = lanes.top().second;
      lanes.pop();
    }
    lanes.emplace(piece.end_ns, piece.lane);
    graph->order[piece.lane].push_back(static_cast<uint32_t>(graph->pieces.size()));
    graph->pieces.push_back(piece);
  }
}

void join_launches(const Trace& trace, const HostPlaces& places, ReplayGraph* graph) {
  LaunchJoiner(trace, places, graph).join();
}

void join_syncs(const Trace& trace, ReplayGraph* graph) { SyncJoiner(trace, graph).join(); }

}  // namespace dfsim::inline study
