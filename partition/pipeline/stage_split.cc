// Two splitters over the loads of stage_load.h. split_contiguous() is a dynamic program over
// places of one order: the best maximum of the first k stages up to each place. split_downsets()
// has the same recurrence over downsets instead of places.
#include "partition/pipeline/stage_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/units.h"
#include "partition/pipeline/stage_load.h"

namespace dfsim::inline partition {
namespace {

constexpr size_t kMaxPlaces = 256;
constexpr double kNever = std::numeric_limits<double>::infinity();

// Cuts of one order: loads of all runs between two places, then the best chain of runs.
class ContiguousSplitter {
 public:
  ContiguousSplitter(const StageGraph& graph, const StageLimits& limits)
      : graph_(graph), limits_(limits), loads_of_sets_(graph, limits) {
    choose_places();
  }

  StatusOr<StageSplit> run() {
    const size_t places = places_.size();
    loads_.assign(places * places, kNever);
    for (size_t i = 0; i + 1 < places; ++i) {
      fill_loads(i);
    }
    const size_t devices = limits_.devices;
    best_.assign(places * (devices + 1), kNever);
    from_.assign(places * (devices + 1), {0, 0});
    for (size_t d = 0; d <= devices; ++d) {
      best_[d] = 0;
    }
    for (size_t j = 1; j < places; ++j) {
      for (size_t d = 1; d <= devices; ++d) {
        improve(j, d);
      }
    }
    return result();
  }

 private:
  // Cost of all results that cross each position.
  std::vector<double> crossings() const {
    const size_t n = graph_.nodes.size();
    std::vector<double> change(n + 2, 0);
    for (const StageResult& result : graph_.results) {
      uint32_t first = result.source;
      uint32_t last = result.source;
      for (const uint32_t reader : result.readers) {
        first = std::min(first, reader);
        last = std::max(last, reader);
      }
      change[first + 1] += result.cost;
      change[last + 1] -= result.cost;
    }
    std::partial_sum(change.begin(), change.end(), change.begin());
    return change;
  }

  // Places are positions between nodes: 0 is before all, nodes.size() behind all.
  void choose_places() {
    const size_t n = graph_.nodes.size();
    if (n + 1 <= kMaxPlaces) {
      places_.resize(n + 1);
      std::iota(places_.begin(), places_.end(), 0);
      return;
    }
    const std::vector<double> crossing = crossings();
    double total = 0;
    for (const StageNode& node : graph_.nodes) {
      total += node.time;
    }
    // The least crossing in each of as many stretches of equal time.
    const double stretch = total / static_cast<double>(kMaxPlaces - 1);
    places_ = {0};
    double passed = 0;
    size_t candidate = 0;
    for (size_t i = 0; i < n; ++i) {
      passed += graph_.nodes[i].time;
      candidate = candidate == 0 || crossing[i + 1] <= crossing[candidate] ? i + 1 : candidate;
      if (passed >= stretch && candidate < n) {
        places_.push_back(candidate);
        candidate = 0;
        passed = 0;
      }
    }
    places_.push_back(n);
    exact_ = false;
  }

  void fill_loads(size_t i) {
    StageSet set(graph_.nodes.size());
    RunningLoad load;
    size_t next = i + 1;
    for (size_t node = places_[i]; node < graph_.nodes.size(); ++node) {
      loads_of_sets_.add(set, static_cast<uint32_t>(node), &load);
      set.insert(static_cast<uint32_t>(node));
      if (load.cpu_only > 0 || (limits_.capacity > 0 && load.bytes > limits_.capacity)) {
        return;
      }
      if (places_[next] == node + 1) {
        loads_[i * places_.size() + next++] = load.total(limits_.overlap);
      }
    }
  }

  void improve(size_t j, size_t d) {
    double& best = best_[j * (limits_.devices + 1) + d];
    const size_t most = limits_.replicate ? d : 1;
    for (size_t i = 0; i < j; ++i) {
      const double load = loads_[i * places_.size() + j];
      for (size_t r = 1; r <= most && load < kNever; ++r) {
        const double worst =
            std::max(best_[i * (limits_.devices + 1) + d - r], load / static_cast<double>(r));
        if (worst < best) {
          best = worst;
          from_[j * (limits_.devices + 1) + d] = {i, r};
        }
      }
    }
  }

  StatusOr<StageSplit> result() const {
    StageSplit split;
    split.exact = exact_;
    size_t j = places_.size() - 1;
    size_t d = limits_.devices;
    split.max_load = best_[j * (limits_.devices + 1) + d];
    if (split.max_load == kNever) {
      double bytes = 0;
      for (const StageNode& node : graph_.nodes) {
        bytes += node.bytes;
      }
      return failed(
          fmt::format("stages: {} of weights do not fit into {} devices of {} each in runs of the "
                      "graph; use at least {:.0f} devices, or ones with more memory",
                      format_bytes(std::llround(bytes)), limits_.devices,
                      format_bytes(std::llround(limits_.capacity)),
                      std::max(std::ceil(bytes / limits_.capacity), limits_.devices + 1.0)));
    }
    std::vector<size_t> begins;
    while (j > 0) {
      const auto [i, r] = from_[j * (limits_.devices + 1) + d];
      begins.push_back(places_[i]);
      split.replicas.push_back(static_cast<uint32_t>(r));
      j = i;
      d -= r;
    }
    std::reverse(begins.begin(), begins.end());
    std::reverse(split.replicas.begin(), split.replicas.end());
    for (size_t node = 0; node < graph_.nodes.size(); ++node) {
      const auto stage = std::upper_bound(begins.begin(), begins.end(), node) - begins.begin() - 1;
      split.stage_of.push_back(static_cast<uint32_t>(stage));
    }
    split.on_cpu.assign(begins.size(), false);
    return split;
  }

  const StageGraph& graph_;
  const StageLimits& limits_;
  StageLoads loads_of_sets_;
  std::vector<size_t> places_;
  bool exact_ = true;
  std::vector<double> loads_;                    // by two places
  std::vector<double> best_;                     // by place and devices: of all nodes before it
  std::vector<std::pair<size_t, size_t>> from_;  // the place before, and the devices between
};

}  // namespace

double stage_load(const StageGraph& graph, const StageLimits& limits,
                  const std::vector<bool>& members) {
  const StageLoads loads(graph, limits);
  StageSet set(graph.nodes.size());
  RunningLoad load;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (members[i]) {
      loads.add(set, i, &load);
      set.insert(i);
    }
  }
  return load.total(limits.overlap);
}

StatusOr<StageSplit> split_contiguous(const StageGraph& graph, const StageLimits& limits) {
  DFSIM_RETURN_IF_ERROR(check_stage_graph(graph, limits));
  return ContiguousSplitter(graph, limits).run();
}

}  // namespace dfsim::inline partition
