// Stages over all topological orders: a chain of nested downsets (sets that hold the predecessors
// of all their members), each step one stage.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/cancellation.h"
#include "partition/pipeline/stage_load.h"
#include "partition/pipeline/stage_split.h"

namespace dfsim::inline partition {
namespace {

constexpr double kNoPlace = std::numeric_limits<double>::infinity();

struct HashSet {
  size_t operator()(const StageSet& set) const {
    uint64_t hash = 0;
    for (const uint64_t word : set.words()) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

class DownsetSplitter {
 public:
  DownsetSplitter(const StageGraph& graph, const StageLimits& limits)
      : graph_(graph), limits_(limits), loads_(graph, limits), before_(graph.nodes.size()) {
    for (const auto& [from, to] : graph.edges) {
      before_[to].push_back(from);
    }
  }

  // By size, the empty one first. False when there are more than `most`.
  bool enumerate(size_t most) {
    std::unordered_map<StageSet, uint32_t, HashSet> index;
    downsets_.emplace_back(graph_.nodes.size());
    index.emplace(downsets_[0], 0);
    for (size_t i = 0; i < downsets_.size(); ++i) {
      next_.emplace_back();
      for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
        if (!can_follow(downsets_[i], node)) {
          continue;
        }
        StageSet larger = downsets_[i];
        larger.insert(node);
        const auto [it, is_new] = index.try_emplace(larger, downsets_.size());
        if (is_new) {
          if (downsets_.size() == most) {
            return false;
          }
          downsets_.push_back(std::move(larger));
        }
        next_[i].emplace_back(node, it->second);
      }
    }
    return true;
  }

  // `bound`: a load that is known to be possible.
  StatusOr<StageSplit> run(double bound) {
    const size_t kinds = (size_t{limits_.devices} + 1) * (size_t{limits_.cpus} + 1);
    best_.assign(downsets_.size() * kinds, kNoPlace);
    from_.assign(downsets_.size() * kinds, {0, false});
    std::fill(best_.begin(), best_.begin() + static_cast<ptrdiff_t>(kinds), 0);
    stamp_.assign(downsets_.size(), UINT32_MAX);
    load_of_.resize(downsets_.size());
    for (uint32_t i = 0; i < downsets_.size(); ++i) {
      extend(i, bound);
    }
    return result();
  }

 private:
  bool can_follow(const StageSet& set, uint32_t node) const {
    return !set.has(node) && std::all_of(before_[node].begin(), before_[node].end(),
                                         [&](uint32_t other) { return set.has(other); });
  }
  size_t at(uint32_t downset, uint32_t devices, uint32_t cpus) const {
    return (downset * (limits_.devices + 1) + devices) * (limits_.cpus + 1) + cpus;
  }

  // One stage from downset i to every larger one that is not hopeless.
  void extend(uint32_t i, double bound) {
    std::vector<uint32_t> open = {i};
    load_of_[i] = RunningLoad();
    stamp_[i] = i;
    for (size_t k = 0; k < open.size(); ++k) {
      cancellation_point();
      const uint32_t current = open[k];
      const StageSet members = downsets_[current].minus(downsets_[i]);
      for (const auto& [node, larger] : next_[current]) {
        if (stamp_[larger] == i) {
          continue;
        }
        stamp_[larger] = i;
        RunningLoad load = load_of_[current];
        loads_.add(members, node, &load);
        load_of_[larger] = load;
        const bool accelerator = accelerator_may(load) && load.compute <= bound;
        const bool cpu = limits_.cpus > 0 && load.cpu <= bound;
        if (accelerator || cpu) {
          open.push_back(larger);
          improve(i, larger, load);
        }
      }
    }
  }

  bool accelerator_may(const RunningLoad& load) const {
    return load.cpu_only == 0 && (limits_.capacity <= 0 || load.bytes <= limits_.capacity);
  }

  void improve(uint32_t from, uint32_t to, const RunningLoad& load) {
    const double on_device = accelerator_may(load) ? load.total(limits_.overlap) : kNoPlace;
    for (uint32_t d = 0; d <= limits_.devices; ++d) {
      for (uint32_t c = 0; c <= limits_.cpus; ++c) {
        double& best = best_[at(to, d, c)];
        if (d > 0 && std::max(best_[at(from, d - 1, c)], on_device) < best) {
          best = std::max(best_[at(from, d - 1, c)], on_device);
          from_[at(to, d, c)] = {from, false};
        }
        if (c > 0 && std::max(best_[at(from, d, c - 1)], load.cpu) < best) {
          best = std::max(best_[at(from, d, c - 1)], load.cpu);
          from_[at(to, d, c)] = {from, true};
        }
      }
    }
  }

  StatusOr<StageSplit> result() const {
    auto set = static_cast<uint32_t>(downsets_.size() - 1);
    uint32_t d = limits_.devices;
    uint32_t c = limits_.cpus;
    StageSplit split;
    split.max_load = best_[at(set, d, c)];
    if (split.max_load == kNoPlace) {
      return failed(
          fmt::format("stages: the nodes do not fit into {} devices of {:.0f} bytes; use "
                      "more devices",
                      limits_.devices, limits_.capacity));
    }
    std::vector<std::pair<StageSet, bool>> stages;  // last first
    while (set != 0) {
      const auto [before, cpu] = from_[at(set, d, c)];
      stages.emplace_back(downsets_[set].minus(downsets_[before]), cpu);
      set = before;
      (cpu ? c : d) -= 1;
    }
    std::reverse(stages.begin(), stages.end());
    split.stage_of.assign(graph_.nodes.size(), 0);
    split.replicas.assign(stages.size(), 1);
    for (uint32_t s = 0; s < stages.size(); ++s) {
      split.on_cpu.push_back(stages[s].second);
      for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
        split.stage_of[node] = stages[s].first.has(node) ? s : split.stage_of[node];
      }
    }
    return split;
  }

  const StageGraph& graph_;
  const StageLimits& limits_;
  StageLoads loads_;
  std::vector<std::vector<uint32_t>> before_;
  std::vector<StageSet> downsets_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> next_;  // node added, larger downset
  std::vector<double> best_;                     // by downset, devices and CPUs used
  std::vector<std::pair<uint32_t, bool>> from_;  // the downset before, and whether on a CPU
  std::vector<uint32_t> stamp_;                  // reached in this round
  std::vector<RunningLoad> load_of_;             // in this round
};

// Joins each node that takes no time with its only neighbour, if all its results come from there or
// go there: wherever a split has it, it may as well be in the neighbour's stage, whose load does
// not grow. The stage's bytes must not matter either. Such leaves would double the number of
// downsets each.
class LeafJoiner {
 public:
  LeafJoiner(const StageGraph& graph, const StageLimits& limits)
      : graph_(graph), neighbours_(graph.nodes.size()), joined_(graph.nodes.size()) {
    double bytes = 0;
    for (const StageNode& node : graph.nodes) {
      bytes += node.bytes;
    }
    fits_ = limits.capacity <= 0 || bytes <= limits.capacity;
    for (const auto& [from, to] : graph.edges) {
      neighbours_[from].insert(to);
      neighbours_[to].insert(from);
    }
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
      joined_[node] = node;
    }
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
      if (is_idle_leaf(node)) {
        const uint32_t other = *neighbours_[node].begin();
        joined_[node] = other;
        neighbours_[other].erase(node);
      }
    }
  }

  // The graph without the leaves; `index` receives each node's place in it.
  StageGraph join(std::vector<uint32_t>* index) const {
    StageGraph smaller;
    index->assign(graph_.nodes.size(), 0);
    for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
      if (joined_[node] == node) {
        (*index)[node] = static_cast<uint32_t>(smaller.nodes.size());
        smaller.nodes.push_back(graph_.nodes[node]);
      }
    }
    for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
      (*index)[node] = (*index)[root(node)];
      if (joined_[node] != node) {
        smaller.nodes[(*index)[node]].bytes += graph_.nodes[node].bytes;
      }
    }
    for (const auto& [from, to] : graph_.edges) {
      if ((*index)[from] != (*index)[to]) {
        smaller.edges.emplace_back((*index)[from], (*index)[to]);
      }
    }
    for (StageResult result : graph_.results) {
      result.source = (*index)[result.source];
      for (uint32_t& reader : result.readers) {
        reader = (*index)[reader];
      }
      smaller.results.push_back(std::move(result));
    }
    return smaller;
  }

 private:
  uint32_t root(uint32_t node) const {
    while (joined_[node] != node) {
      node = joined_[node];
    }
    return node;
  }

  bool is_idle_leaf(uint32_t node) const {
    const StageNode& own = graph_.nodes[node];
    if (own.time != 0 || own.cpu_time != 0 || own.cpu_only || (own.bytes != 0 && !fits_) ||
        neighbours_[node].size() != 1 || joined_[node] != node) {
      return false;
    }
    const uint32_t other = *neighbours_[node].begin();
    const auto near = [&](uint32_t at) { return root(at) == node || root(at) == other; };
    return std::all_of(
        graph_.results.begin(), graph_.results.end(), [&](const StageResult& result) {
          const bool reads = std::any_of(result.readers.begin(), result.readers.end(),
                                         [&](uint32_t reader) { return root(reader) == node; });
          return root(result.source) == node
                     ? std::all_of(result.readers.begin(), result.readers.end(), near)
                     : !reads || near(result.source);
        });
  }

  const StageGraph& graph_;
  std::vector<std::set<uint32_t>> neighbours_;
  std::vector<uint32_t> joined_;  // by node: itself, or the neighbour that it goes with
  bool fits_ = true;
};

}  // namespace

StatusOr<StageSplit> split_downsets(const StageGraph& graph, const StageLimits& limits,
                                    size_t max_downsets) {
  DFSIM_RETURN_IF_ERROR(check_stage_graph(graph, limits));
  std::vector<uint32_t> index;
  const StageGraph smaller = LeafJoiner(graph, limits).join(&index);
  DownsetSplitter splitter(smaller, limits);
  if (!splitter.enumerate(max_downsets)) {
    return unsupported(fmt::format(
        "stages: the graph has more than {} downsets; cut one order of it instead", max_downsets));
  }
  StageLimits simple = limits;
  simple.replicate = false;
  const auto contiguous = split_contiguous(graph, simple);
  DFSIM_ASSIGN_OR_RETURN(StageSplit split,
                         splitter.run(contiguous.ok() ? contiguous->max_load : kNoPlace));
  const std::vector<uint32_t> stages = std::exchange(split.stage_of, {});
  for (const uint32_t place : index) {
    split.stage_of.push_back(stages[place]);
  }
  return split;
}

}  // namespace dfsim::inline partition
