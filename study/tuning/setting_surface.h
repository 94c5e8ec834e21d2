// A response surface over settings: what measured settings say about the others.
//
// Purpose: Gaussian-process regression of the logarithm of a cost over a grid of settings
// (Rasmussen
//   and Williams 2006, ISBN 026218253X). The kernel is a sum over the knobs plus their product,
//   both of Matern 5/2 kernels with a length of their own per knob, so that it learns knobs that
//   act alone and knobs that act together.
// Units: costs are logarithms; a knob's positions are between 0 and 1.
// Complexity: fit() is O(n^3) in the measured settings, times 20 trials per knob whenever their
// number
//   has grown by a fifth; predict() is O(n^2).
#pragma once

#include <cstddef>
#include <vector>

namespace dfsim::inline study {

// The values of one knob. `positions` has a number in [0, 1] per value, in order of the knob's
// scale; for names, which have no order, `ordered` is false and all are equally far apart.
struct SearchAxis {
  std::vector<double> positions;
  bool ordered = true;
};

// A setting: per knob, the index of its value.
using SettingIndex = std::vector<size_t>;

class SettingSurface {
 public:
  struct Point {
    SettingIndex setting;
    double log_cost = 0;  // mean over its runs
    double prior = 0;     // logarithm of the expected cost, up to a constant
    size_t runs = 1;
  };
  struct Estimate {
    double mean = 0;      // of the logarithm of the cost
    double variance = 0;  // of the surface there, without the noise of a run
  };

  explicit SettingSurface(const std::vector<SearchAxis>& axes);

  // Learns from the points, of which there must be one at least. Keeps the parameters of an earlier
  // call as the start. Deterministic.
  void fit(std::vector<Point> points);
  Estimate predict(const SettingIndex& setting, double prior) const;
  // The mean alone: O(n).
  double mean(const SettingIndex& setting, double prior) const;

 private:
  struct Parameters {
    std::vector<double> lengths;
    double product = 0.5;  // the product's share of the kernel
    double nugget = 1e-3;  // variance of a run over that of the surface
    double trust = 1;      // in the prior: what a factor of e in it is expected to be
  };

  void tabulate(size_t axis);
  double kernel(const SettingIndex& a, const SettingIndex& b) const;
  // Decomposes the kernel of all points; gives minus twice the logarithm of the likelihood.
  double decompose();
  void improve();
  std::vector<double> solve_lower(std::vector<double> values) const;
  std::vector<double> kernels_to(const SettingIndex& setting) const;

  const std::vector<SearchAxis>& axes_;
  Parameters parameters_;
  std::vector<std::vector<double>> tables_;  // per axis, the kernel of each two values
  size_t improved_at_ = 0;                   // points when the parameters were chosen
  std::vector<Point> points_;
  std::vector<double> factor_;   // lower Cholesky factor, row by row
  std::vector<double> weights_;  // of the points, in the mean
  double level_ = 0;             // mean over the surface
  double scale_ = 1;             // variance of the surface
};

}  // namespace dfsim::inline study
