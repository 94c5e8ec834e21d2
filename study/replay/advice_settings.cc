// Rules about how the run was set up: activations that are computed again, and the number of
// threads that run operators at once.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/counted.h"
#include "base/text.h"
#include "opmodel/train/profile_ops.h"
#include "study/analysis/analysis_parts.h"
#include "study/replay/advice.h"

namespace dfsim::inline study {
namespace {

constexpr double kUsableDeviceMemory = 0.9;  // of the device's

void set_piece_time(Piece* piece, TimeNs time_ns) {
  piece->time_ns = piece->low_ns = piece->high_ns = time_ns;
}

// Belong to the run and its device; 0 where the trace does not record them.
struct RoomUse {
  Bytes peak = 0;
  Bytes capacity = 0;
};

RoomUse memory_use(const AdviceInput& input) {
  RoomUse use;
  for (const AllocatorUse& allocator : input.analysis.memory) {
    use.peak = std::max(use.peak, allocator.device >= 0 ? allocator.peak_bytes : 0);
  }
  if (!input.trace.device_name.empty()) {
    const auto device = find_device(input.trace.device_name);
    use.capacity = device.ok() ? device->memory_bytes : 0;
  }
  return use;
}

TimeNs median_of(std::vector<TimeNs> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Operators of a run of several host threads, with the time that each takes when nothing else runs.
struct SharedOps {
  std::vector<uint32_t> ops;    // pieces, by start
  std::vector<bool> beside;     // of each: another lane's operator runs at the same time
  std::vector<TimeNs> alone;    // of each: median of similar ones alone; -1 = none ran alone
  std::vector<uint32_t> lanes;  // that run operators
};

void mark_overlaps(const ReplayGraph& graph, SharedOps* shared) {
  shared->beside.assign(shared->ops.size(), false);
  std::map<uint32_t, size_t> last;  // in each lane: what is before it has ended
  for (size_t i = 0; i < shared->ops.size(); ++i) {
    const Piece& piece = graph.pieces[shared->ops[i]];
    for (const auto& [lane, other] : last) {
      if (lane != piece.lane &&
          graph.pieces[shared->ops[other]].end_ns > piece.start_ns + kRoundingNs) {
        shared->beside[i] = shared->beside[other] = true;
      }
    }
    last[piece.lane] = i;
  }
}

SharedOps shared_ops(const AdviceInput& input) {
  SharedOps shared;
  const std::vector<Piece>& pieces = input.graph.pieces;
  for (uint32_t p = 0; p < pieces.size(); ++p) {
    if (is_device_piece(pieces[p].kind)) {
      return SharedOps();
    }
    if (pieces[p].kind == PieceKind::kOp) {
      shared.ops.push_back(p);
      shared.lanes.push_back(pieces[p].lane);
    }
  }
  std::sort(shared.lanes.begin(), shared.lanes.end());
  shared.lanes.erase(std::unique(shared.lanes.begin(), shared.lanes.end()), shared.lanes.end());
  std::sort(shared.ops.begin(), shared.ops.end(), [&pieces](uint32_t a, uint32_t b) {
    return std::pair(pieces[a].start_ns, a) < std::pair(pieces[b].start_ns, b);
  });
  mark_overlaps(input.graph, &shared);
  std::map<std::pair<NameId, NameId>, std::vector<TimeNs>> times;
  const auto key = [&](size_t i) {
    const Span& span = input.trace.span(pieces[shared.ops[i]].span);
    return std::pair(span.name, span.detail);
  };
  for (size_t i = 0; i < shared.ops.size(); ++i) {
    if (!shared.beside[i]) {
      times[key(i)].push_back(pieces[shared.ops[i]].time_ns);
    }
  }
  for (size_t i = 0; i < shared.ops.size(); ++i) {
    const auto found = times.find(key(i));
    shared.alone.push_back(found == times.end() ? -1 : median_of(found->second));
  }
  return shared;
}

// Everything in one lane, in order of start. Keeps only those gaps of threads in which no thread
// does anything.
void run_on_one_thread(ReplayGraph* graph) {
  std::vector<uint32_t> all;
  for (uint32_t p = 0; p < graph->pieces.size(); ++p) {
    all.push_back(p);
  }
  std::sort(all.begin(), all.end(), [graph](uint32_t a, uint32_t b) {
    return std::pair(graph->pieces[a].start_ns, a) < std::pair(graph->pieces[b].start_ns, b);
  });
  TimeNs busy_until_ns = 0;
  uint32_t gap = UINT32_MAX;  // the last one that has begun
  for (const uint32_t p : all) {
    Piece& piece = graph->pieces[p];
    piece.lane = graph->pieces[all.front()].lane;
    if (piece.kind == PieceKind::kGap) {
      set_piece_time(&piece, 0);
      gap = p;
      continue;
    }
    if (piece.start_ns > busy_until_ns && gap != UINT32_MAX) {
      Piece& idle = graph->pieces[gap];
      set_piece_time(&idle, idle.time_ns + piece.start_ns - busy_until_ns);
    }
    busy_until_ns = std::max(busy_until_ns, piece.end_ns);
  }
  const uint32_t lane = graph->pieces[all.front()].lane;
  graph->edges.clear();  // between threads; one thread's order keeps them
  graph->order.assign(graph->lanes.size(), {});
  graph->order[lane] = std::move(all);
}

}  // namespace

// Keeps the activations that checkpointing computes again.
Finding find_recomputation(const AdviceInput& input) {
  Finding finding;
  if (input.analysis.recompute.items == 0) {
    return finding;
  }
  const RoomUse memory = memory_use(input);
  if (memory.capacity > 0 && static_cast<double>(memory.peak) >
                                 kUsableDeviceMemory * static_cast<double>(memory.capacity)) {
    return finding;  // there is no room for what would be kept
  }
  finding.changed = input.graph;
  const std::vector<bool> again = recomputed_spans(input.trace);
  for (Piece& piece : finding.changed.pieces) {
    if (!piece.span.valid()) {
      continue;
    }
    const Span& span = input.trace.span(piece.span);
    const SpanId caller = !is_device_piece(piece.kind) ? piece.span
                          : span.launch.valid()        ? span.launch
                                                       : span.op;
    if (caller.valid() && again[caller.index()]) {
      set_piece_time(&piece, 0);
    }
  }
  const Breakdown& b = input.analysis.recompute.again;
  finding.insight =
      fmt::format("{} again for the backward pass ({})",
                  counted(static_cast<uint64_t>(input.analysis.recompute.items),
                          "piece of the forward pass runs", "pieces of the forward pass run"),
                  format_time(ns_from_seconds(b.busy_us() / 1e6)));
  const std::string room =
      memory.capacity > 0 && memory.peak > 0
          ? fmt::format(": {} of the device's {} are in use at most", format_bytes(memory.peak),
                        format_bytes(memory.capacity))
          : std::string(" where memory allows it");
  finding.action = "keep activations, checkpoint fewer layers" + room;
  return finding;
}

// Operators that run side by side and slow each other down run one after the other.
Finding find_thread_settings(const AdviceInput& input) {
  Finding finding;
  const SharedOps shared = shared_ops(input);
  if (shared.lanes.size() < 2) {
    return finding;
  }
  finding.changed = input.graph;
  int64_t slowed = 0;
  TimeNs taken_ns = 0;
  TimeNs alone_ns = 0;
  for (size_t i = 0; i < shared.ops.size(); ++i) {
    Piece& piece = finding.changed.pieces[shared.ops[i]];
    if (shared.beside[i] && shared.alone[i] >= 0 && shared.alone[i] < piece.time_ns) {
      ++slowed;
      taken_ns += piece.time_ns;
      alone_ns += shared.alone[i];
      set_piece_time(&piece, shared.alone[i]);
    }
  }
  if (slowed == 0) {
    return finding;
  }
  run_on_one_thread(&finding.changed);
  finding.insight = fmt::format(
      "{} operators take {} next to others on {} threads, {} where similar operators run alone",
      slowed, format_time(taken_ns), shared.lanes.size(), format_time(alone_ns));
  finding.action =
      "run one operator at a time (inter-op threads 1) and leave the cores to its intra-op threads";
  return finding;
}

}  // namespace dfsim::inline study
