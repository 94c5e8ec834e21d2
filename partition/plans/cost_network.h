// CostNetwork: variables with a few states each, a cost for each state, and costs for pairs of
// states of two variables. minimise() finds the cheapest choice of states.
//
// Node elimination removes a variable with at most two neighbours, edge elimination joins the two
// tables of a pair; together they are exact on series-parallel networks. What is left is opened by
// fixing a few variables: all their states are tried where that is cheap (still exact), otherwise
// they are improved one after the other from several starts.
// Paper: Jia, Lin, Qi, Aiken 2018 (arXiv:1802.04924), "OptCNN".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dfsim::inline partition {

class CostNetwork {
 public:
  // A variable with one state per cost; at least one. Infinite costs are allowed.
  uint32_t add_variable(std::vector<double> costs);
  // Adds costs to pairs of states of two different variables: row-major, states of `a` by states
  // of `b`. Several tables of a pair add up.
  void add_pair(uint32_t a, uint32_t b, std::vector<double> table);

  struct Pair {
    uint32_t a = 0;
    uint32_t b = 0;
    std::vector<double> table;
  };
  const std::vector<std::vector<double>>& costs() const { return costs_; }
  const std::vector<Pair>& pairs() const { return pairs_; }
  // Cost of a choice. O(variables + pairs).
  double cost(const std::vector<uint32_t>& choice) const;

 private:
  std::vector<std::vector<double>> costs_;
  std::vector<Pair> pairs_;
};

struct CheapestChoice {
  std::vector<uint32_t> choice;  // a state for each variable
  double cost = 0;
  bool exact = true;  // no choice is cheaper
  size_t fixed = 0;   // variables that elimination could not remove
};

// Tries at most `max_trials` fixings. O(trials * variables * states^3).
CheapestChoice minimise(const CostNetwork& network, size_t max_trials = 16);

}  // namespace dfsim::inline partition
