// The rule about operators that compute on the host in a run of a device. The moved operator's time
// comes from the device's cost model where the trace has its shapes and the device is known, and
// else from a prior on how much faster devices are than hosts; both have intervals.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "study/replay/advice.h"
#include "study/replay/replay_hardware.h"

namespace dfsim::inline study {
namespace {

// Operators that are worth moving take a 30th of the host's time on a GPU; 80 % of them between a
// 200th and a quarter. Elementwise work gains the ratio of the memories' bandwidths (10 to 40),
// matrix products that of the peaks (50 to 300), and branches gain least.
constexpr double kPrior = 1.0 / 30;
constexpr double kPriorLow = 1.0 / 200;
constexpr double kPriorHigh = 1.0 / 4;
constexpr TimeNs kLeastKernelNs = 2 * kNsPerUs;

struct MovedTime {
  TimeNs time_ns = 0;
  TimeNs low_ns = 0;
  TimeNs high_ns = 0;
};

// The cost model of the device that the trace names, if it is one of the built-in ones.
class DeviceCosts {
 public:
  explicit DeviceCosts(const Trace& trace) : trace_(trace) {
    const std::string wanted = to_lower(trace.device_name);
    for (const std::string& name :
         wanted.empty() ? std::vector<std::string>{} : builtin_platforms()) {
      auto platform = load_platform(name);
      if (platform.ok() && platform->devices.size() == 1 &&
          to_lower(platform->devices.front().model) == wanted) {
        auto costs = load_cost_model_for(*platform, "");
        if (costs.ok()) {
          platform_ = std::move(platform).value();
          costs_ = std::move(costs).value();
        }
        return;
      }
    }
  }

  // Nothing when the shapes are not recorded, or only a bound is known.
  std::optional<MovedTime> time_of(SpanId op) const {
    const auto descriptor = costs_ == nullptr ? std::nullopt : describe_for_costs(trace_, op);
    if (!descriptor.has_value() || descriptor->output_extents.empty()) {
      return std::nullopt;
    }
    const std::vector<OpDescriptor> one = {*descriptor};
    std::vector<OpCost> cost(1);
    if (!costs_->predict(one, platform_.devices.front(), cost).ok() ||
        cost[0].source == CostSource::kBoundOnly) {
      return std::nullopt;
    }
    return MovedTime{cost[0].time_ns, cost[0].low_ns, cost[0].high_ns};
  }

 private:
  const Trace& trace_;
  Platform platform_;
  std::unique_ptr<CostModel> costs_;
};

MovedTime prior_time(TimeNs host_ns) {
  const auto part = [host_ns](double share) {
    return std::max(kLeastKernelNs, static_cast<TimeNs>(static_cast<double>(host_ns) * share));
  };
  return {part(kPrior), part(kPriorLow), part(kPriorHigh)};
}

// Marks operators that make calls of the device's runtime or launch work, and those around them.
std::vector<bool> launching_ops(const Trace& trace) {
  std::vector<bool> launches(trace.spans.size(), false);
  for (const Span& span : trace.spans) {
    if (is_device_work(span.kind) || span.kind == SpanKind::kRuntime) {
      for (SpanId at = span.op; at.valid() && !launches[at.index()]; at = trace.span(at).op) {
        launches[at.index()] = true;
      }
    }
  }
  return launches;
}

// The copies that bring an operator's operands to the host, or its result back.
class CopiesAround {
 public:
  explicit CopiesAround(const AdviceInput& input) : input_(input) {
    for (uint32_t p = 0; p < input.graph.pieces.size(); ++p) {
      const Piece& piece = input.graph.pieces[p];
      if (piece.kind == PieceKind::kCopy) {
        copies_.push_back(p);
      }
      if (is_device_piece(piece.kind) && piece.span.valid()) {
        work_.push_back(p);
      }
    }
    const auto by_start = [&input](uint32_t p) { return input.graph.pieces[p].start_ns; };
    std::ranges::stable_sort(copies_, {}, by_start);
    std::ranges::stable_sort(work_, {}, by_start);
  }

  // Copies of the direction among the work that ran last before the time, or first after it.
  std::vector<uint32_t> before(TimeNs at_ns) const {
    std::vector<uint32_t> found;
    auto at = std::ranges::upper_bound(
        work_, at_ns, {}, [this](uint32_t p) { return input_.graph.pieces[p].start_ns; });
    while (at != work_.begin() && is_copy(*std::prev(at), CopyDirection::kDeviceToHost)) {
      found.push_back(*--at);
    }
    return found;
  }
  std::vector<uint32_t> after(TimeNs at_ns) const {
    std::vector<uint32_t> found;
    auto at = std::ranges::lower_bound(
        work_, at_ns, {}, [this](uint32_t p) { return input_.graph.pieces[p].start_ns; });
    for (; at != work_.end() && is_copy(*at, CopyDirection::kHostToDevice); ++at) {
      found.push_back(*at);
    }
    return found;
  }

 private:
  bool is_copy(uint32_t p, CopyDirection direction) const {
    const Piece& piece = input_.graph.pieces[p];
    return piece.kind == PieceKind::kCopy &&
           copy_direction(input_.trace.text(input_.trace.span(piece.span).name)) == direction;
  }

  const AdviceInput& input_;
  std::vector<uint32_t> copies_;
  std::vector<uint32_t> work_;  // of devices, by start
};

// Moves pieces of one operator to the device in `finding->changed`.
class OpMover {
 public:
  OpMover(const AdviceInput& input, TimeNs launch_ns, Finding* finding)
      : input_(input), launch_ns_(launch_ns), copies_(input), finding_(finding) {
    for (const PieceEdge& edge : input.graph.edges) {
      if (edge.kind == PieceEdgeKind::kSync) {
        waits_[edge.from].push_back(edge.to);
      }
    }
    for (uint32_t p = 0; p < input.graph.pieces.size(); ++p) {
      if (input.graph.pieces[p].kind == PieceKind::kCall) {
        calls_[input.graph.pieces[p].span].push_back(p);
      }
    }
  }

  void move(uint32_t p, const MovedTime& time) {
    const Piece& piece = input_.graph.pieces[p];
    std::vector<uint32_t> freed = copies_.before(piece.start_ns);
    const bool has_slot = !freed.empty();
    const std::vector<uint32_t> back = copies_.after(piece.end_ns);
    freed.insert(freed.end(), back.begin(), back.end());
    for (const uint32_t copy : freed) {
      free_copy(copy);
    }
    if (has_slot) {  // the kernel runs where the copy to the host ran, and the host goes on
      set(p, {launch_ns_, launch_ns_, launch_ns_});
      set(freed.front(), time);
      finding_->uncertain.push_back(freed.front());
    } else {
      set(p, {launch_ns_ + time.time_ns, launch_ns_ + time.low_ns, launch_ns_ + time.high_ns});
      finding_->uncertain.push_back(p);
    }
  }

  // After the last move: no call waits for copies that are gone.
  void finish() {
    std::erase_if(finding_->changed.edges, [this](const PieceEdge& edge) {
      return edge.kind == PieceEdgeKind::kSync && freed_.count(edge.from) > 0;
    });
  }

 private:
  void set(uint32_t p, const MovedTime& time) {
    Piece& piece = finding_->changed.pieces[p];
    piece.time_ns = time.time_ns;
    piece.low_ns = time.low_ns;
    piece.high_ns = time.high_ns;
  }

  void free_copy(uint32_t copy) {
    if (!freed_.insert(copy).second) {
      return;
    }
    set(copy, {});
    const auto waits = waits_.find(copy);
    for (const uint32_t wait : waits == waits_.end() ? std::vector<uint32_t>{} : waits->second) {
      set(wait, {});
    }
    const auto calls = calls_.find(input_.trace.span(input_.graph.pieces[copy].span).launch);
    for (const uint32_t call : calls == calls_.end() ? std::vector<uint32_t>{} : calls->second) {
      set(call, {});
    }
  }

  const AdviceInput& input_;
  TimeNs launch_ns_;
  CopiesAround copies_;
  Finding* finding_;
  std::map<uint32_t, std::vector<uint32_t>> waits_;  // by what they wait for
  std::map<SpanId, std::vector<uint32_t>> calls_;
  std::set<uint32_t> freed_;
};

}  // namespace

Finding find_placement(const AdviceInput& input) {
  Finding finding;
  if (input.graph.launched + input.graph.unlaunched == 0) {
    return finding;
  }
  const std::vector<bool> launches = launching_ops(input.trace);
  std::set<std::string_view> waits;  // an operator that only waits computes nothing
  for (const WaitRow& row : input.analysis.waits) {
    waits.insert(row.name);
  }
  std::vector<TimeNs> usual;
  std::map<NameId, TimeNs> own;
  const auto is_op = [](const Piece& piece) { return piece.kind == PieceKind::kOp; };
  for (const Piece& piece : input.graph.pieces) {
    if (is_op(piece) && launches[piece.span.index()]) {
      usual.push_back(piece.time_ns);
    } else if (is_op(piece) &&
               waits.count(input.trace.text(input.trace.span(piece.span).name)) == 0) {
      own[input.trace.span(piece.span).name] += piece.time_ns;
    }
  }
  const auto most = std::max_element(
      own.begin(), own.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (usual.empty() || most == own.end()) {
    return finding;
  }
  std::nth_element(usual.begin(), usual.begin() + static_cast<std::ptrdiff_t>(usual.size() / 2),
                   usual.end());
  const TimeNs launch_ns = usual[usual.size() / 2];
  finding.changed = input.graph;
  const DeviceCosts costs(input.trace);
  OpMover mover(input, launch_ns, &finding);
  int64_t count = 0;
  bool predicted = false;
  for (uint32_t p = 0; p < input.graph.pieces.size(); ++p) {
    const Piece& piece = input.graph.pieces[p];
    if (is_op(piece) && !launches[piece.span.index()] &&
        input.trace.span(piece.span).name == most->first && piece.time_ns > launch_ns) {
      const auto cost = costs.time_of(piece.span);
      predicted |= cost.has_value();
      mover.move(p, cost.value_or(prior_time(piece.time_ns)));
      ++count;
    }
  }
  mover.finish();
  if (count > 0) {
    const std::string name = printable(input.trace.text(most->first), 40);
    finding.insight = fmt::format(
        "{} computes on the host between the device's work ({} in {} "
        "pieces)",
        name, format_time(most->second), count);
    finding.action = fmt::format(
        "place {} on the device, with its operands, or move it out of the step; its time there is "
        "{}",
        name, predicted ? "the cost model's" : "a prior: from a 200th to a quarter of the host's");
  }
  return finding;
}

}  // namespace dfsim::inline study
