// Earliest times of all pieces, then the way back along what determined them.
#include "study/replay/replay_path.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

namespace dfsim::inline study {
namespace {

constexpr uint32_t kNoPiece = UINT32_MAX;

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

// A piece waits for the end of `from`, and the delay after it.
struct Cause {
  uint32_t from = kNoPiece;
  TimeNs delay_ns = 0;
};

class ReplayPath {
 public:
  explicit ReplayPath(const ReplayGraph& graph) : graph_(graph) {
    const size_t count = graph.pieces.size();
    first_cause_.assign(count + 1, 0);
    for_each_cause([this](uint32_t to, const Cause&) { ++first_cause_[to + 1]; });
    for (size_t p = 0; p < count; ++p) {
      first_cause_[p + 1] += first_cause_[p];
    }
    causes_.resize(first_cause_[count]);
    std::vector<uint32_t> filled(first_cause_.begin(), first_cause_.end() - 1);
    for_each_cause([&](uint32_t to, const Cause& cause) { causes_[filled[to]++] = cause; });
  }

  TracePath find() {
    TracePath path;
    if (graph_.pieces.empty()) {
      return path;
    }
    if (!find_starts()) {
      return path;
    }
    const auto last = static_cast<uint32_t>(
        std::ranges::max_element(order_, {}, [this](uint32_t p) { return end_ns(p); }) -
        order_.begin());
    for (uint32_t p = order_[last]; p != kNoPiece;) {
      add(&path, graph_.pieces[p]);
      const Cause cause = binding_cause(p);
      if (cause.from != kNoPiece) {
        ++path.edges;
        path.class_us[static_cast<size_t>(PathClass::kLaunch)] += us(cause.delay_ns);
      }
      p = cause.from;
    }
    std::ranges::reverse(path.spans);
    std::ranges::reverse(path.weight_us);
    path.length_us = us(end_ns(order_[last]));
    return path;
  }

 private:
  static double us(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerUs; }
  TimeNs end_ns(uint32_t p) const { return start_ns_[p] + graph_.pieces[p].time_ns; }

  template <typename Visit>
  void for_each_cause(const Visit& visit) const {
    for (const std::vector<uint32_t>& lane : graph_.order) {
      for (size_t i = 1; i < lane.size(); ++i) {
        visit(lane[i], Cause{lane[i - 1], 0});
      }
    }
    for (const PieceEdge& edge : graph_.edges) {
      visit(edge.to, Cause{edge.from, edge.delay_ns});
    }
  }

  std::span<const Cause> causes_of(uint32_t p) const {
    return std::span(causes_).subspan(first_cause_[p], first_cause_[p + 1] - first_cause_[p]);
  }

  // A piece starts when all its causes allow it. Depth first, on a stack of its own: chains are as
  // long as the run. False for a circle, which times that contradict each other may make.
  bool find_starts() {
    const size_t count = graph_.pieces.size();
    start_ns_.assign(count, 0);
    std::vector<uint8_t> state(count, 0);  // 0 = unseen, 1 = on the stack, 2 = done
    std::vector<uint32_t> stack;
    for (uint32_t first = 0; first < count; ++first) {
      stack.push_back(first);
      while (!stack.empty()) {
        const uint32_t p = stack.back();
        if (state[p] == 2) {
          stack.pop_back();
          continue;
        }
        bool waits = false;
        if (state[p] == 0) {
          state[p] = 1;
          for (const Cause& cause : causes_of(p)) {
            if (state[cause.from] == 0) {
              stack.push_back(cause.from);
              waits = true;
            }
            if (state[cause.from] == 1) {
              return false;
            }
          }
        }
        if (!waits) {
          for (const Cause& cause : causes_of(p)) {
            start_ns_[p] = std::max(start_ns_[p], end_ns(cause.from) + cause.delay_ns);
          }
          state[p] = 2;
          order_.push_back(p);
          stack.pop_back();
        }
      }
    }
    return true;
  }

  // The cause that the piece started right after; work of the device if there are several, since a
  // host that waits for it has nothing of its own to shorten.
  Cause binding_cause(uint32_t p) const {
    Cause binding;
    for (const Cause& cause : causes_of(p)) {
      if (end_ns(cause.from) + cause.delay_ns != start_ns_[p]) {
        continue;
      }
      const bool device = is_device_piece(graph_.pieces[cause.from].kind);
      if (binding.from == kNoPiece ||
          (device && !is_device_piece(graph_.pieces[binding.from].kind))) {
        binding = cause;
      }
    }
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
  std::vector<uint32_t> first_cause_;  // by piece, into causes_
  std::vector<Cause> causes_;
  std::vector<TimeNs> start_ns_;
  std::vector<uint32_t> order_;               // causes before what they cause
  std::unordered_map<size_t, size_t> place_;  // of spans in the path
};

}  // namespace

TracePath find_replay_path(const ReplayGraph& graph) { return ReplayPath(graph).find(); }

}  // namespace dfsim::inline study
