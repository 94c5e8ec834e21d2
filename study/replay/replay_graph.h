// A recorded run as a task graph: what ran on each host thread and device queue, in order, what
// each piece waited for, and what it took itself. Simulated as it is, it takes the time that was
// measured; changed, it says what the run would have taken.
//
// After Zhu, Phanishayee, Pekhimenko, "Daydream", USENIX ATC 2020: host spans are cut into pieces
// that belong to the innermost operator or call; device work starts when its launch has reached the
// device and the work before it in its queue is done; calls that wait for the device end when it is
// done, after a rest of their own. Time on a host thread between its operators is kept as measured,
// unless another thread handed over to it; so is what no dependency explains of a queue's idle
// time. Every dependency leads from the end of a piece to the start of a later one, so there are no
// cycles, and the earliest times that satisfy all of them are the measured ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline study {

enum class PieceKind : uint8_t {
  kOp,        // an operator's own time on the host
  kCall,      // of the device's runtime
  kGap,       // a host thread between its operators
  kTransfer,  // a tensor between workers
  kKernel,
  kCommunication,
  kCopy,
  kMemset,
  kQueueGap,  // a device queue that waits for what the trace does not tell
};
inline constexpr int kPieceKindCount = static_cast<int>(PieceKind::kQueueGap) + 1;
std::string_view piece_kind_name(PieceKind kind);

// Profilers round starts and durations apart, so that neighbours seem to overlap by so much.
inline constexpr TimeNs kRoundingNs = 2;

constexpr bool is_device_piece(PieceKind kind) { return kind >= PieceKind::kKernel; }

// A host thread, or a queue of a device (or a part of one whose work overlaps itself).
struct Lane {
  TrackId track;
  bool device = false;
};

struct Piece {
  SpanId span;  // none for gaps
  uint32_t lane = 0;
  PieceKind kind = PieceKind::kOp;
  TimeNs start_ns = 0;  // as measured, from the run's start
  TimeNs end_ns = 0;
  TimeNs time_ns = 0;  // its own, without waiting for the device
  TimeNs low_ns = 0;   // as wide as 80 % of the pieces like it, around its own time
  TimeNs high_ns = 0;
  bool modelled = false;  // a cost model's time and interval: equal pieces share its error
};

enum class PieceEdgeKind : uint8_t { kLaunch, kSync, kQueue, kHandover, kTransfer };

// `to` starts at the end of `from` plus the delay at the earliest.
struct PieceEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  TimeNs delay_ns = 0;
  PieceEdgeKind kind = PieceEdgeKind::kLaunch;
};

struct ReplayGraph {
  std::vector<Lane> lanes;
  std::vector<Piece> pieces;                 // of each lane in order of start
  std::vector<std::vector<uint32_t>> order;  // by lane: its pieces as they run
  std::vector<PieceEdge> edges;
  TimeNs span_ns = 0;      // measured: first to last
  double start_us = 0;     // of the run, on the trace's clock
  int64_t launched = 0;    // pieces of device work with a launch
  int64_t unlaunched = 0;  // without: they follow the work before them as measured
  int64_t too_early = 0;   // began before their launch: clocks that differ
};

// Errors (kInvalidInput): nothing that could be replayed; times too far apart for a clock of
// nanoseconds. O(n log n) over spans. Without `spreads`, which take a third of the time, low_ns and
// high_ns are the piece's own time.
StatusOr<ReplayGraph> make_replay_graph(const Trace& trace, bool spreads = true);

// A piece that seems to end after what waits for it, by rounding alone, ends with it.
void end_before(TimeNs end_ns, Piece* piece);

// Steps of make_replay_graph(). Device work of each queue; launches and gaps are added once host
// pieces exist.
void add_device_pieces(const Trace& trace, ReplayGraph* graph);
// Pieces of host threads. `before` receives, by span, the piece that ended where the span begins
// (UINT32_MAX: not on a host thread).
struct HostPlaces {
  std::vector<uint32_t> before;
};
void add_host_pieces(const Trace& trace, ReplayGraph* graph, HostPlaces* places);
// Transfers between workers: after the operator that produced the tensor and the thread that asked
// for it, before the thread that waited for it. And the ends of sessions, which wait for all
// operators of the session. Before join_threads(), which explains what is left.
void join_transfers(const Trace& trace, ReplayGraph* graph);
void join_threads(const Trace& trace, ReplayGraph* graph);
void join_launches(const Trace& trace, const HostPlaces& places, ReplayGraph* graph);
void join_copies(const Trace& trace, ReplayGraph* graph);
void join_syncs(const Trace& trace, ReplayGraph* graph);
// Fills low_ns and high_ns from pieces of the same kind, name and detail.
void add_spreads(const Trace& trace, ReplayGraph* graph);

}  // namespace dfsim::inline study
