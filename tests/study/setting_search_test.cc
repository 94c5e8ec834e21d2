// The search on surfaces that it has not seen: models of programs with parameters drawn at random,
// and random polynomials of the knobs. An exhaustive look at each surface is the oracle.
#include "study/tuning/setting_search.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "base/rng.h"
#include "study/tuning/command_knobs.h"

using namespace dfsim;

namespace {

// Threads, processes, placement, batch and inter on a machine of so many cores.
CommandSpace space_of(int cores) {
  std::vector<Cpu> cpus;
  for (int i = 0; i < cores; ++i) {
    cpus.push_back({i, i, i * 2 / cores});
  }
  auto space =
      command_space({"run", "{batch}", "{inter}"}, {"batch=1,2,4,8,16,32,64", "inter=1,2,4"}, cpus);
  REQUIRE(space.ok());
  return *std::move(space);
}

// A program: start-up, Amdahl's law with contention (Gunther's universal law), a memory that
// saturates, a cache that overflows, placements and concurrent operators. The form differs from the
// search's prior.
double program_cost(const CommandSpace& space, const SettingIndex& setting, uint64_t seed) {
  Rng rng(seed);
  const auto threads = static_cast<double>(space.number(setting, "threads", 1));
  const auto processes = static_cast<double>(space.number(setting, "processes", 1));
  const auto batch = static_cast<double>(space.number(setting, "batch", 1));
  const auto inter = static_cast<double>(space.number(setting, "inter", 1));
  const auto cores = static_cast<double>(space.cpus.size());
  const double serial = 0.3 * rng.uniform();
  const double crosstalk = std::pow(10, -4 + 3 * rng.uniform());
  const double saturation = 1 + rng.uniform() * cores;
  const double memory = rng.uniform();
  const double start = std::pow(10, -2 + 2.5 * rng.uniform());
  const double cache = std::pow(2, 8 * rng.uniform());
  const double overflow = 0.5 * rng.uniform();
  double placements[4];
  for (double& placement : placements) {
    placement = 1 + 0.3 * rng.uniform();
  }
  const double inter_best = 2 * rng.uniform();
  const double inter_weight = 0.1 * rng.uniform();
  const double neighbours = 0.5 * rng.uniform();
  const double compute = serial + (1 - serial) / threads + crosstalk * (threads - 1);
  const double bandwidth = std::min(threads, saturation / processes);
  const double sample = ((1 - memory) * compute + memory / bandwidth) *
                        (1 + overflow * std::max(0.0, std::log2(batch * processes / cache)));
  const double inter_off = std::log2(inter) - inter_best;
  const double time = (start * (1 + 0.02 * std::log2(threads * processes)) + batch * sample) *
                      placements[setting[2]] * (1 + inter_weight * inter_off * inter_off) *
                      (1 + neighbours * (processes - 1) / cores);
  return time / (batch * processes);
}

// A polynomial of the knobs' positions, with a factor per name and every pairwise interaction.
double polynomial_cost(const CommandSpace& space, const SettingIndex& setting, uint64_t seed) {
  Rng rng(seed);
  double log_cost = 0;
  std::vector<double> at;
  for (size_t i = 0; i < space.axes.size(); ++i) {
    const SearchAxis& axis = space.axes[i];
    if (axis.ordered) {
      const double position = axis.positions[setting[i]];
      const double optimum = rng.uniform();
      const double curve = 2 * rng.uniform();
      log_cost +=
          curve * (position - optimum) * (position - optimum) + 0.3 * rng.normal() * position;
      at.push_back(position - 0.5);
    } else {
      std::vector<double> names(axis.positions.size());
      std::generate(names.begin(), names.end(), [&rng] { return rng.normal(); });
      log_cost += 0.2 * names[setting[i]];
      at.push_back(names[setting[i]]);
    }
    for (size_t k = 0; k + 1 < at.size(); ++k) {
      log_cost += 0.3 * rng.normal() * at[i] * at[k];
    }
  }
  return std::exp(log_cost);
}

struct Trials {
  std::vector<double> gaps;   // of the setting found, over the best one's cost
  double greatest_share = 0;  // of an exhaustive search's runs
  double within(double gap) const {
    return static_cast<double>(std::count_if(gaps.begin(), gaps.end(),
                                             [gap](double found) { return found <= gap; })) /
           static_cast<double>(gaps.size());
  }
};

template <typename Cost>
Trials trials(int cores, double noise, size_t count, const Cost& cost) {
  const CommandSpace space = space_of(cores);
  Trials result;
  for (size_t seed = 1; seed <= count; ++seed) {
    std::vector<double> costs;
    for (const SettingIndex& setting : space.settings) {
      costs.push_back(cost(space, setting, seed));
    }
    Rng rng(seed * 7919);
    SettingSearch search(space.axes, space.settings, space.priors, {});
    for (auto next = search.next(); next.has_value(); next = search.next()) {
      search.add(*next, costs[*next] * std::exp(noise * rng.normal()));
    }
    result.gaps.push_back(costs[search.best()] / *std::min_element(costs.begin(), costs.end()) - 1);
    result.greatest_share =
        std::max(result.greatest_share, static_cast<double>(search.runs()) /
                                            static_cast<double>(search.exhaustive_runs()));
  }
  std::sort(result.gaps.begin(), result.gaps.end());
  return result;
}

}  // namespace

TEST_CASE("SettingSearch: a tenth of the runs finds 5 % on random programs") {
  const Trials exact = trials(8, 0, 30, program_cost);
  CAPTURE(exact.gaps.back());
  CHECK(exact.within(0.05) == 1);
  CHECK(exact.greatest_share <= 0.1);
  const Trials noisy = trials(8, 0.02, 10, program_cost);
  CAPTURE(noisy.gaps);
  CHECK(noisy.within(0.05) >= 0.9);
  CHECK(noisy.within(0.10) == 1);
  CHECK(noisy.greatest_share <= 0.1);
}

TEST_CASE("SettingSearch: a tenth of the runs finds 5 % on random polynomials") {
  const Trials exact = trials(8, 0, 30, polynomial_cost);
  CAPTURE(exact.gaps);
  CHECK(exact.within(0.05) >= 0.95);
  CHECK(exact.greatest_share <= 0.1);
}

TEST_CASE("SettingSearch: a tenth of the runs finds 5 % on 64 cores") {
  const Trials exact = trials(64, 0, 1, program_cost);
  CAPTURE(exact.gaps);
  CHECK(exact.within(0.05) == 1);
  CHECK(exact.greatest_share <= 0.1);
}

TEST_CASE("SettingSearch: a grid smaller than the least budget is run once each") {
  const std::vector<SearchAxis> axes = {{{0, 0.5, 1}, true}, {{0, 0}, false}};
  const std::vector<SettingIndex> settings = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}};
  SettingSearch search(axes, settings, std::vector<double>(6, 0.0), {});
  while (const auto next = search.next()) {
    search.add(*next, *next == 3 ? 1 : 2);
  }
  CHECK(search.best() == 3);
  CHECK(search.costs(0).size() == SettingSearch::kFirstRuns);
}

TEST_CASE("SettingSearch: a setting that fails is never run again, nor the best") {
  const CommandSpace space = space_of(8);
  SettingSearch search(space.axes, space.settings, space.priors, {});
  std::vector<size_t> failures(space.settings.size(), 0);
  while (const auto next = search.next()) {
    if (space.number(space.settings[*next], "batch", 1) > 8) {
      ++failures[*next];
      search.add_failure(*next);
    } else {
      search.add(*next, program_cost(space, space.settings[*next], 3));
    }
  }
  CHECK(*std::max_element(failures.begin(), failures.end()) <= 1);
  CHECK(space.number(space.settings[search.best()], "batch", 1) <= 8);
}

TEST_CASE("SettingSearch: noise raises the repeats of an exhaustive search, by the formula") {
  const std::vector<SearchAxis> axes = {{{0, 1}, true}};
  SettingSearch search(axes, {{0}, {1}}, {0.0, 0.0}, {});
  CHECK(search.repeats() == 1);
  search.add(0, 0.98);
  search.add(0, 1.02);  // standard deviation 0.0283 of the mean: 8 (0.0283 / 0.05)^2 = 2.56
  CHECK(search.noise() == Approx(0.0283).epsilon(0.01));
  CHECK(search.repeats() == 3);
  CHECK(search.exhaustive_runs() == 6);
}

TEST_CASE("SettingSearch: --budget is kept to") {
  const CommandSpace space = space_of(8);
  for (const size_t budget : {1, 2, 5, 20}) {
    SettingSearch search(space.axes, space.settings, space.priors, {.budget = budget});
    while (const auto next = search.next()) {
      search.add(*next, program_cost(space, space.settings[*next], 4));
    }
    CHECK(search.runs() <= budget);
  }
}
