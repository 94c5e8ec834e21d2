// Elimination against brute force.
#include "partition/plans/cost_network.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "base/rng.h"

namespace dfsim {
namespace {

double brute_force_network(const CostNetwork& network) {
  std::vector<uint32_t> choice(network.costs().size(), 0);
  double best = std::numeric_limits<double>::infinity();
  while (true) {
    best = std::min(best, network.cost(choice));
    size_t v = 0;
    while (v < choice.size() && ++choice[v] == network.costs()[v].size()) {
      choice[v++] = 0;
    }
    if (v == choice.size()) {
      return best;
    }
  }
}

std::vector<double> random_costs(Rng& rng, size_t count) {
  std::vector<double> costs;
  for (size_t i = 0; i < count; ++i) {
    costs.push_back(static_cast<double>(rng.below(100)));
  }
  return costs;
}

CostNetwork random_network(Rng& rng, size_t variables, double density) {
  CostNetwork network;
  for (size_t v = 0; v < variables; ++v) {
    network.add_variable(random_costs(rng, 1 + rng.below(3)));
  }
  for (uint32_t a = 0; a < variables; ++a) {
    for (uint32_t b = a + 1; b < variables; ++b) {
      if (static_cast<double>(rng.below(1000)) < 1000 * density) {
        const size_t size = network.costs()[a].size() * network.costs()[b].size();
        network.add_pair(a, b, random_costs(rng, size));
      }
    }
  }
  return network;
}

TEST_CASE("a chain of three by hand") {
  CostNetwork network;
  network.add_variable({0, 5});
  network.add_variable({1, 0});
  network.add_variable({9, 0});
  network.add_pair(0, 1, {0, 9, 9, 0});
  network.add_pair(1, 2, {0, 9, 9, 0});
  // All ones: 5 + 0 + 0; all zeros: 0 + 1 + 9; 0, 1, 1: 9 + 0.
  const CheapestChoice best = minimise(network);
  CHECK(best.cost == 5);
  CHECK(best.choice == std::vector<uint32_t>{1, 1, 1});
  CHECK(best.exact);
  CHECK(best.fixed == 0);
}

TEST_CASE("series-parallel networks need no fixing and are exact") {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    // A ladder of diamonds: 0 - {1, 2} - 3 - {4, 5} - 6, with a shortcut 0 - 6.
    CostNetwork network;
    for (int v = 0; v < 7; ++v) {
      network.add_variable(random_costs(rng, 3));
    }
    for (const auto& [a, b] : std::vector<std::pair<uint32_t, uint32_t>>{
             {0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {4, 6}, {5, 6}, {0, 6}, {0, 1}}) {
      network.add_pair(a, b, random_costs(rng, 9));
    }
    const CheapestChoice best = minimise(network);
    CHECK(best.fixed == 0);
    CHECK(best.exact);
    CHECK(best.cost == brute_force_network(network));
    CHECK(network.cost(best.choice) == best.cost);
  }
}

TEST_CASE("random networks: exact where it says so, never below the optimum") {
  Rng rng(11);
  int exact = 0;
  int fixed = 0;
  for (int round = 0; round < 200; ++round) {
    const CostNetwork network = random_network(rng, 8, 0.15 + 0.1 * (round % 6));
    const CheapestChoice best = minimise(network, 30);
    const double optimum = brute_force_network(network);
    CHECK(best.cost >= optimum);
    CHECK(network.cost(best.choice) == best.cost);
    if (best.exact) {
      ++exact;
      fixed += best.fixed > 0 ? 1 : 0;
      CHECK(best.cost == optimum);
    }
  }
  CHECK(exact > 100);  // the cases mean something
  CHECK(fixed > 10);
}

TEST_CASE("what cannot be tried out is improved and does not claim to be exact") {
  Rng rng(5);
  for (int round = 0; round < 20; ++round) {
    CostNetwork network;
    for (uint32_t v = 0; v < 8; ++v) {
      network.add_variable(random_costs(rng, 3));
    }
    for (uint32_t a = 0; a < 8; ++a) {
      for (uint32_t b = a + 1; b < 8; ++b) {
        network.add_pair(a, b, random_costs(rng, 9));
      }
    }
    const CheapestChoice best = minimise(network, 16);
    CHECK(best.fixed == 5);  // of a clique all but a triangle
    CHECK_FALSE(best.exact);
    CHECK(best.cost >= brute_force_network(network));
    CHECK(network.cost(best.choice) == best.cost);
  }
}

}  // namespace
}  // namespace dfsim
