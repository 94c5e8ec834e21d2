// Eliminates variables with at most two neighbours and joins parallel edges, exactly, until a
// core is left; then tries every state of the core's variables. Where those are more than
// `max_trials`, the core starts with each variable's cheapest state and changes one at a time
// while that helps.
#include "partition/plans/cost_network.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace dfsim::inline partition {
namespace {

using Table = std::vector<double>;
constexpr uint32_t kFree = UINT32_MAX;

// Neighbours only: finds the variables to fix so that the rest can be eliminated.
std::vector<uint32_t> find_core(const CostNetwork& network) {
  std::vector<std::map<uint32_t, bool>> near(network.costs().size());
  for (const auto& pair : network.pairs()) {
    near[pair.a][pair.b] = true;
    near[pair.b][pair.a] = true;
  }
  std::vector<bool> gone(near.size(), false);
  std::vector<uint32_t> open;
  for (uint32_t v = 0; v < near.size(); ++v) {
    open.push_back(v);
  }
  const auto remove = [&](uint32_t v, bool join) {
    std::vector<uint32_t> others;
    for (const auto& [other, there] : near[v]) {
      others.push_back(other);
      near[other].erase(v);
      open.push_back(other);
    }
    if (join && others.size() == 2) {
      near[others[0]][others[1]] = true;
      near[others[1]][others[0]] = true;
    }
    near[v].clear();
    gone[v] = true;
  };
  std::vector<uint32_t> core;
  while (true) {
    while (!open.empty()) {
      const uint32_t v = open.back();
      open.pop_back();
      if (!gone[v] && near[v].size() <= 2) {
        remove(v, true);
      }
    }
    uint32_t most = kFree;
    for (uint32_t v = 0; v < near.size(); ++v) {
      if (!gone[v] && (most == kFree || near[v].size() > near[most].size())) {
        most = v;
      }
    }
    if (most == kFree) {
      return core;
    }
    core.push_back(most);
    remove(most, false);
  }
}

// One elimination with some variables fixed.
class Elimination {
 public:
  Elimination(const CostNetwork& network, const std::vector<uint32_t>& fixed)
      : costs_(network.costs()), near_(costs_.size()), fixed_(fixed) {
    for (const auto& pair : network.pairs()) {
      add(pair.a, pair.b, pair.table);
    }
  }

  std::vector<uint32_t> run() {
    choice_.assign(costs_.size(), kFree);
    gone_.assign(costs_.size(), false);
    for (uint32_t v = 0; v < costs_.size(); ++v) {
      if (fixed_[v] != kFree) {
        fix(v, fixed_[v]);
      }
    }
    std::vector<uint32_t> open;
    for (auto v = static_cast<uint32_t>(costs_.size()); v-- > 0;) {
      open.push_back(v);
    }
    while (!open.empty()) {
      const uint32_t v = open.back();
      open.pop_back();
      if (!gone_[v] && near_[v].size() <= 2) {
        for (const auto& [other, table] : near_[v]) {
          open.push_back(other);
        }
        eliminate(v);
      }
    }
    for (size_t i = steps_.size(); i-- > 0;) {
      const Step& step = steps_[i];
      size_t row = 0;
      for (const uint32_t other : step.others) {
        row = row * costs_[other].size() + choice_[other];
      }
      choice_[step.variable] = step.best[row];
    }
    for (const uint32_t state : choice_) {
      DFSIM_CHECK(state != kFree);  // the fixed variables were all that stood in the way
    }
    return std::move(choice_);
  }

 private:
  struct Step {
    uint32_t variable;
    std::vector<uint32_t> others;
    std::vector<uint32_t> best;  // by the states of the others, row-major
  };

  // Tables are kept twice, each side's own states first.
  void add(uint32_t a, uint32_t b, const Table& table) {
    const size_t rows = costs_[a].size();
    const size_t columns = costs_[b].size();
    Table& forward = near_[a][b];
    Table& backward = near_[b][a];
    forward.resize(rows * columns, 0);
    backward.resize(rows * columns, 0);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) {
        forward[r * columns + c] += table[r * columns + c];
        backward[c * rows + r] += table[r * columns + c];
      }
    }
  }

  void drop(uint32_t v) {
    for (const auto& [other, table] : near_[v]) {
      near_[other].erase(v);
    }
    near_[v].clear();
    gone_[v] = true;
  }

  void fix(uint32_t v, uint32_t state) {
    for (const auto& [other, table] : near_[v]) {
      const size_t columns = costs_[other].size();
      for (size_t c = 0; c < columns; ++c) {
        costs_[other][c] += table[state * columns + c];
      }
    }
    choice_[v] = state;
    drop(v);
  }

  void eliminate(uint32_t v) {
    Step step{v, {}, {}};
    std::vector<const Table*> tables;
    for (const auto& [other, table] : near_[v]) {
      step.others.push_back(other);
      tables.push_back(&table);
    }
    const size_t rows = tables.empty() ? 1 : costs_[step.others[0]].size();
    const size_t columns = tables.size() < 2 ? 1 : costs_[step.others[1]].size();
    Table joined(rows * columns);
    step.best.resize(rows * columns);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) {
        double least = std::numeric_limits<double>::infinity();
        uint32_t best = 0;
        for (uint32_t s = 0; s < costs_[v].size(); ++s) {
          const double cost = costs_[v][s] + (tables.empty() ? 0 : (*tables[0])[s * rows + r]) +
                              (tables.size() < 2 ? 0 : (*tables[1])[s * columns + c]);
          if (cost < least) {
            least = cost;
            best = s;
          }
        }
        joined[r * columns + c] = least;
        step.best[r * columns + c] = best;
      }
    }
    drop(v);
    if (step.others.size() == 1) {
      for (size_t r = 0; r < rows; ++r) {
        costs_[step.others[0]][r] += joined[r];
      }
    } else if (step.others.size() == 2) {
      add(step.others[0], step.others[1], joined);
    }
    steps_.push_back(std::move(step));
  }

  std::vector<std::vector<double>> costs_;
  std::vector<std::map<uint32_t, Table>> near_;
  const std::vector<uint32_t>& fixed_;
  std::vector<bool> gone_;
  std::vector<Step> steps_;
  std::vector<uint32_t> choice_;
};

}  // namespace

uint32_t CostNetwork::add_variable(std::vector<double> costs) {
  DFSIM_CHECK(!costs.empty());
  costs_.push_back(std::move(costs));
  return static_cast<uint32_t>(costs_.size() - 1);
}

void CostNetwork::add_pair(uint32_t a, uint32_t b, std::vector<double> table) {
  DFSIM_CHECK(a != b && table.size() == costs_[a].size() * costs_[b].size());
  pairs_.push_back({a, b, std::move(table)});
}

double CostNetwork::cost(const std::vector<uint32_t>& choice) const {
  double sum = 0;
  for (size_t v = 0; v < costs_.size(); ++v) {
    sum += costs_[v][choice[v]];
  }
  for (const Pair& pair : pairs_) {
    sum += pair.table[choice[pair.a] * costs_[pair.b].size() + choice[pair.b]];
  }
  return sum;
}

CheapestChoice minimise(const CostNetwork& network, size_t max_trials) {
  const std::vector<uint32_t> core = find_core(network);
  std::vector<uint32_t> fixed(network.costs().size(), kFree);
  CheapestChoice best;
  best.fixed = core.size();
  best.cost = std::numeric_limits<double>::infinity();
  size_t trials = 0;
  const auto attempt = [&] {
    std::vector<uint32_t> choice = Elimination(network, fixed).run();
    const double cost = network.cost(choice);
    ++trials;
    if (best.choice.empty() || cost < best.cost) {
      best.choice = std::move(choice);
      best.cost = cost;
      return true;
    }
    return false;
  };
  double combinations = 1;
  for (const uint32_t v : core) {
    combinations *= static_cast<double>(network.costs()[v].size());
    fixed[v] = 0;
  }
  if (combinations <= static_cast<double>(max_trials)) {
    while (true) {  // all combinations, like an odometer
      attempt();
      size_t i = 0;
      while (i < core.size() && ++fixed[core[i]] == network.costs()[core[i]].size()) {
        fixed[core[i++]] = 0;
      }
      if (i == core.size()) {
        return best;
      }
    }
  }
  // Start where each is cheapest on its own, then change one at a time.
  best.exact = false;
  for (const uint32_t v : core) {
    const auto& costs = network.costs()[v];
    fixed[v] = static_cast<uint32_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  }
  attempt();
  bool improved = true;
  while (improved && trials < max_trials) {
    improved = false;
    for (size_t i = 0; i < core.size() && trials < max_trials; ++i) {
      const uint32_t before = fixed[core[i]];
      uint32_t keep = before;
      for (uint32_t s = 0; s < network.costs()[core[i]].size() && trials < max_trials; ++s) {
        fixed[core[i]] = s;
        if (s != before && attempt()) {
          keep = s;
          improved = true;
        }
      }
      fixed[core[i]] = keep;
    }
  }
  return best;
}

}  // namespace dfsim::inline partition
