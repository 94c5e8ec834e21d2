// Earliest times of all pieces, then the way back along what determined them.
#include "study/replay/replay_path.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "study/replay/replay_times.h"

namespace dfsim::inline study {
namespace {

PathClass class_of(PieceKind kind) {
  switch (kind) {
    case PieceKind::kOp:
      return PathClass::kHost;
    case PieceKind::kCall:
      return PathClass::kCall;
    case PieceKind::kGap:
      return PathClass::kHostGap;
    case PieceKind::kKernel:
      return PathClass::kCompute;
    case PieceKind::kTransfer:
    case PieceKind::kCommunication:
      return PathClass::kCommunication;
    case PieceKind::kCopy:
    case PieceKind::kMemset:
      return PathClass::kData;
    case PieceKind::kQueueGap:
      return PathClass::kKernelGap;
  }
  return PathClass::kHost;
}

class ReplayPath {
 public:
  ReplayPath(const ReplayGraph& graph, const ReplayTimes& times)
      : graph_(graph),
        times_(times),
        ends_(times.ends([&](uint32_t p) { return graph.pieces[p].time_ns; })) {}

  TracePath find() {
    TracePath path;
    const std::vector<uint32_t>& order = times_.order();
    if (order.empty()) {
      return path;
    }
    const uint32_t last =
        *std::ranges::max_element(order, {}, [this](uint32_t p) { return ends_[p]; });
    for (uint32_t p = last; p != kNoPiece;) {
      add(&path, graph_.pieces[p]);
      const PieceCause cause = binding_cause(p);
      if (cause.from != kNoPiece) {
        ++path.edges;
        path.class_us[static_cast<size_t>(PathClass::kLaunch)] += us(cause.delay_ns);
      }
      p = cause.from;
    }
    std::ranges::reverse(path.spans);
    std::ranges::reverse(path.weight_us);
    path.length_us = us(ends_[last]);
    return path;
  }

 private:
  static double us(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerUs; }

  // The cause that the piece started right after; work of the device if there are several, since a
  // host that waits for it has nothing of its own to shorten.
  PieceCause binding_cause(uint32_t p) const {
    PieceCause binding;
    const TimeNs start_ns = ends_[p] - graph_.pieces[p].time_ns;
    times_.for_each_cause(p, [&](const PieceCause& cause) {
      if (ends_[cause.from] + cause.delay_ns != start_ns) {
        return;
      }
      const bool device = is_device_piece(graph_.pieces[cause.from].kind);
      if (binding.from == kNoPiece ||
          (device && !is_device_piece(graph_.pieces[binding.from].kind))) {
        binding = cause;
      }
    });
    return binding;
  }

  // Backwards: pieces of one span follow each other, but for what runs between them.
  void add(TracePath* path, const Piece& piece) {
    path->class_us[static_cast<size_t>(class_of(piece.kind))] += us(piece.time_ns);
    if (!piece.span.valid() || piece.time_ns == 0) {
      return;
    }
    const auto [known, is_new] = place_.try_emplace(piece.span.index(), path->spans.size());
    if (is_new) {
      path->spans.push_back(piece.span);
      path->weight_us.push_back(0);
    }
    path->weight_us[known->second] += us(piece.time_ns);
  }

  const ReplayGraph& graph_;
  const ReplayTimes& times_;
  const std::vector<TimeNs> ends_;            // by piece
  std::unordered_map<size_t, size_t> place_;  // of spans in the path
};

}  // namespace

TracePath find_replay_path(const ReplayGraph& graph) {
  const auto times = ReplayTimes::make(graph);
  return times.ok() ? ReplayPath(graph, *times).find() : TracePath();
}

}  // namespace dfsim::inline study
