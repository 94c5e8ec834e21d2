// Bayesian search over discrete settings: a smooth surface is fitted to the logarithm of
// measured costs, and the next run is where it promises the largest improvement, next to the
// best, or where it knows least. Runs repeat where noise decides.
#include "study/tuning/setting_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace dfsim::inline study {
namespace {

constexpr double kNoImprovement = 0.002;  // expected: not worth a run
constexpr double kNearlyAsGood = 0.15;    // of logarithms: a neighbour of the best is worth a run
constexpr size_t kRanked = 300;           // settings whose variance is computed, best means first
constexpr double kFailureFactor = 2;      // a failed setting looks this much worse than the worst

double standard_normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * M_PI); }
double standard_normal_share(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

// Expected fall of the logarithm below `best`.
double expected_improvement(const SettingSurface::Estimate& estimate, double best) {
  const double deviation = std::sqrt(estimate.variance);
  if (deviation < 1e-9) {
    return std::max(best - estimate.mean, 0.0);
  }
  const double z = (best - estimate.mean) / deviation;
  return deviation * (z * standard_normal_share(z) + standard_normal_density(z));
}

}  // namespace

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double pooled_deviation(const std::vector<std::vector<double>>& groups) {
  double squares = 0;
  size_t freedom = 0;
  for (const std::vector<double>& group : groups) {
    if (group.size() < 2) {
      continue;
    }
    const double mean = mean_of(group);
    for (const double value : group) {
      squares += (value - mean) * (value - mean);
    }
    freedom += group.size() - 1;
  }
  return freedom == 0 ? 0 : std::sqrt(squares / static_cast<double>(freedom));
}

SettingSearch::SettingSearch(const std::vector<SearchAxis>& axes,
                             std::vector<SettingIndex> settings, std::vector<double> priors,
                             SearchLimits limits)
    : axes_(axes),
      settings_(std::move(settings)),
      priors_(std::move(priors)),
      limits_(limits),
      costs_(settings_.size()),
      failed_(settings_.size(), false),
      surface_(axes) {}

size_t SettingSearch::repeats() const {
  // Two means of r runs each differ by kWorthwhile in more than two standard errors when
  // r >= 2 (2 noise / kWorthwhile)^2.
  const double needed = 8 * planned_noise_ * planned_noise_ / (kWorthwhile * kWorthwhile);
  return std::clamp<size_t>(static_cast<size_t>(std::ceil(needed)), 1, kMostRepeats);
}

size_t SettingSearch::budget() const {
  if (limits_.budget > 0) {
    return limits_.budget;
  }
  const auto share =
      static_cast<size_t>(std::floor(limits_.share * static_cast<double>(exhaustive_runs())));
  return std::max(share - std::min(share, limits_.spent), limits_.least);
}

size_t SettingSearch::measured() const {
  return static_cast<size_t>(std::count_if(costs_.begin(), costs_.end(),
                                           [](const auto& costs) { return !costs.empty(); }));
}

double SettingSearch::mean_cost(size_t setting) const { return mean_of(costs_[setting]); }

size_t SettingSearch::best() const {
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < settings_.size(); ++i) {
    if (!costs_[i].empty() && !failed_[i] && mean_cost(i) < least) {
      least = mean_cost(i);
      best = i;
    }
  }
  return best;
}

void SettingSearch::add(size_t setting, double cost) {
  costs_[setting].push_back(cost);
  ++runs_;
  note_noise();
}

void SettingSearch::add_failure(size_t setting) {
  failed_[setting] = true;
  ++runs_;
}

void SettingSearch::note_noise() {
  std::vector<std::vector<double>> relative;
  for (const std::vector<double>& costs : costs_) {
    if (costs.size() > 1) {
      relative.push_back(costs);
      const double mean = mean_of(costs);
      for (double& cost : relative.back()) {
        cost /= mean;
      }
    }
  }
  noise_ = pooled_deviation(relative);
  planned_noise_ = std::max(planned_noise_, noise_);
}

double SettingSearch::distance(size_t a, size_t b) const {
  double sum = 0;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const size_t from = settings_[a][i];
    const size_t to = settings_[b][i];
    const double step =
        axes_[i].ordered ? axes_[i].positions[from] - axes_[i].positions[to] : (from == to ? 0 : 1);
    sum += step * step;
  }
  return sum;
}

void SettingSearch::fit() {
  double worst = 0;
  for (const std::vector<double>& costs : costs_) {
    if (!costs.empty()) {
      worst = std::max(worst, mean_of(costs));
    }
  }
  std::vector<SettingSurface::Point> points;
  for (size_t i = 0; i < settings_.size(); ++i) {
    if (failed_[i]) {
      points.push_back({settings_[i], std::log(worst * kFailureFactor), priors_[i], 1});
    } else if (!costs_[i].empty()) {
      points.push_back({settings_[i], std::log(mean_cost(i)), priors_[i], costs_[i].size()});
    }
  }
  surface_.fit(std::move(points));
}

// The setting that is farthest from all that ran; of equals the one that the prior likes best.
std::optional<size_t> SettingSearch::farthest() const {
  std::optional<size_t> chosen;
  std::pair<double, double> most(-1, 0);
  for (size_t i = 0; i < settings_.size(); ++i) {
    if (!fresh(i)) {
      continue;
    }
    double nearest = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < settings_.size(); ++k) {
      if (!fresh(k)) {
        nearest = std::min(nearest, distance(i, k));
      }
    }
    if (const std::pair rank(nearest, -priors_[i]); rank > most) {
      most = rank;
      chosen = i;
    }
  }
  return chosen;
}

std::optional<size_t> SettingSearch::most_promising() const {
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t i = 0; i < settings_.size(); ++i) {
    if (fresh(i)) {
      ranked.emplace_back(surface_.mean(settings_[i], priors_[i]), i);
    }
  }
  const size_t kept = std::min(ranked.size(), kRanked);
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept),
                    ranked.end());
  const size_t incumbent = best();
  const double best_log = surface_.mean(settings_[incumbent], priors_[incumbent]);
  std::optional<size_t> chosen;
  double most = kNoImprovement;
  for (size_t i = 0; i < kept; ++i) {
    const size_t setting = ranked[i].second;
    const double gain =
        expected_improvement(surface_.predict(settings_[setting], priors_[setting]), best_log);
    if (gain > most) {
      most = gain;
      chosen = setting;
    }
  }
  return chosen;
}

// A setting a step away from the best: one value of a knob without order, or one step of one or two
// others (twice the threads and half the processes). The surface is smooth and hides small dips, so
// such settings run when it expects nearly as much of them.
std::optional<size_t> SettingSearch::neighbour() const {
  const size_t incumbent = best();
  double least = surface_.mean(settings_[incumbent], priors_[incumbent]) + kNearlyAsGood;
  std::optional<size_t> chosen;
  for (size_t i = 0; i < settings_.size(); ++i) {
    if (!fresh(i)) {
      continue;
    }
    size_t steps = 0;
    for (size_t k = 0; k < axes_.size(); ++k) {
      const size_t from = settings_[i][k];
      const size_t to = settings_[incumbent][k];
      const size_t apart = from > to ? from - to : to - from;
      steps += axes_[k].ordered ? (apart > 1 ? 3 : apart) : (apart > 0 ? 2 : 0);
    }
    if (steps > 2) {
      continue;
    }
    if (const double mean = surface_.mean(settings_[i], priors_[i]); mean < least) {
      least = mean;
      chosen = i;
    }
  }
  return chosen;
}

// A setting that noise may have kept from being the best, or the best itself: the one with fewest
// runs. None when the best is decided.
std::optional<size_t> SettingSearch::undecided() const {
  const size_t incumbent = best();
  const size_t most = repeats();
  std::optional<size_t> chosen;
  size_t others = 0;
  for (size_t i = 0; i < settings_.size(); ++i) {
    if (costs_[i].empty() || failed_[i]) {
      continue;
    }
    const double error = noise_ * std::sqrt(1.0 / static_cast<double>(costs_[i].size()) +
                                            1.0 / static_cast<double>(costs_[incumbent].size()));
    if (mean_cost(i) > mean_cost(incumbent) * (1 + 2 * error)) {
      continue;
    }
    others += i == incumbent ? 0 : 1;
    if (costs_[i].size() < most &&
        (!chosen.has_value() || costs_[i].size() < costs_[*chosen].size())) {
      chosen = i;
    }
  }
  return others == 0 ? std::nullopt : chosen;
}

std::optional<size_t> SettingSearch::next() {
  if (failed_[0]) {
    return std::nullopt;  // the command as it is does not work
  }
  const size_t limit = budget();
  if (runs_ >= limit) {
    return std::nullopt;
  }
  if (costs_[0].size() < std::min(kFirstRuns, limit)) {
    return 0;
  }
  const size_t reserved = repeats() == 1 ? 0 : std::max<size_t>(limit / 4, 2);
  if (!confirming_ && runs_ + reserved < limit) {
    const size_t tried =
        measured() + static_cast<size_t>(std::count(failed_.begin(), failed_.end(), true));
    if (tried == 1) {
      const auto liked = std::min_element(priors_.begin(), priors_.end());
      const auto index = static_cast<size_t>(liked - priors_.begin());
      if (fresh(index)) {
        return index;
      }
    }
    if (tried < std::min(axes_.size() + 3, limit / 3)) {
      return farthest();
    }
    fit();
    if (const auto promising = most_promising(); promising.has_value()) {
      return promising;
    }
    if (const auto near = neighbour(); near.has_value()) {
      return near;
    }
    // Nothing promises more: a part of the budget looks where the surface knows least.
    if (tried < std::min(limit * 3 / 5, settings_.size())) {
      return farthest();
    }
  }
  confirming_ = true;
  return undecided();
}

}  // namespace dfsim::inline study
