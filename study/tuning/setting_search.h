// The search behind `dfsim tune -- COMMAND`: which setting of a command to run next, so that a
// tenth of the runs of an exhaustive search finds a setting near its best.
//
// The first runs repeat the default and show the noise. An exhaustive search needs so many repeats
// of each setting as tell kWorthwhile apart in that noise; the budget is a share of those runs.
// Then come the setting that a scaling model likes best, settings that are far apart, and those
// with the greatest expected improvement on a response surface (setting_surface.h; Jones, Schonlau
// and Welch 1998, doi:10.1023/A:1008306431147). The last runs repeat the settings that noise may
// have put in the wrong order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "study/tuning/setting_surface.h"

namespace dfsim::inline study {

struct SearchLimits {
  size_t budget = 0;   // runs; 0 = `share` of an exhaustive search's
  double share = 0.1;  // of an exhaustive search's runs
  size_t spent = 0;    // runs of that share that others need, such as a comparison afterwards
  size_t least = 12;   // runs, when the share is fewer; a search of fewer settings runs each
};

// Deterministic: the same costs give the same runs.
class SettingSearch {
 public:
  static constexpr double kWorthwhile = 0.05;  // a difference that people care about
  static constexpr size_t kFirstRuns = 3;      // of the default, to see the noise
  static constexpr size_t kMostRepeats = 5;

  // `settings` holds the default at index 0; `priors` the logarithm of each one's expected cost, up
  // to a constant. The axes must outlive the search.
  SettingSearch(const std::vector<SearchAxis>& axes, std::vector<SettingIndex> settings,
                std::vector<double> priors, SearchLimits limits);

  // Index of the setting to run next; none when the search is over.
  std::optional<size_t> next();
  // The cost of one run, above 0.
  void add(size_t setting, double cost);
  // The setting does not work: it is not run again and never the best.
  void add_failure(size_t setting);

  // The setting with the least mean cost.
  size_t best() const;
  size_t runs() const { return runs_; }
  size_t measured() const;
  // Standard deviation of a run over its mean.
  double noise() const { return noise_; }
  // Repeats of a setting that an exhaustive search needs in this noise.
  size_t repeats() const;
  size_t exhaustive_runs() const { return settings_.size() * repeats(); }
  size_t budget() const;
  const std::vector<SettingIndex>& settings() const { return settings_; }
  const std::vector<double>& costs(size_t setting) const { return costs_[setting]; }
  bool failed(size_t setting) const { return failed_[setting]; }
  double mean_cost(size_t setting) const;

 private:
  bool fresh(size_t setting) const { return costs_[setting].empty() && !failed_[setting]; }
  double distance(size_t a, size_t b) const;
  void note_noise();
  void fit();
  std::optional<size_t> farthest() const;
  std::optional<size_t> most_promising() const;
  std::optional<size_t> neighbour() const;
  std::optional<size_t> undecided() const;

  const std::vector<SearchAxis>& axes_;
  std::vector<SettingIndex> settings_;
  std::vector<double> priors_;
  SearchLimits limits_;
  std::vector<std::vector<double>> costs_;
  std::vector<bool> failed_;
  SettingSurface surface_;
  size_t runs_ = 0;
  double noise_ = 0;
  double planned_noise_ = 0;  // the greatest seen: a budget never falls
  bool confirming_ = false;
};

// The mean of at least one number.
double mean_of(const std::vector<double>& values);
// The standard deviation of a run that groups of runs show together; 0 without repeats.
double pooled_deviation(const std::vector<std::vector<double>>& groups);

}  // namespace dfsim::inline study
