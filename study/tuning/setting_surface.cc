// Regression with a mean that is a constant plus a share of the prior. The constant is the
// generalised least-squares estimate, and the variance has a closed form, so only lengths, the
// share of the product, the nugget and the trust in the prior are searched: one after the other
// over a few values each, which suits a dozen points better than a gradient does.
#include "study/tuning/setting_surface.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dfsim::inline study {
namespace {

constexpr std::array kLengths = {0.25, 0.5, 1.0, 2.0, 5.0, 20.0};
constexpr std::array kProducts = {0.1, 0.5, 0.9};
constexpr std::array kNuggets = {1e-6, 1e-4, 1e-2, 1e-1};
constexpr std::array kTrusts = {0.0, 0.5, 1.0};
// A variance of 0.1 (a factor of 1.4) that weighs as much as two points: a few equal costs do not
// prove that all are equal.
constexpr double kUsualVariance = 0.1;
constexpr double kUsualWeight = 2;

double axis_kernel(const SearchAxis& axis, size_t a, size_t b, double length) {
  if (a == b) {
    return 1;
  }
  if (!axis.ordered) {
    return std::exp(-1 / length);
  }
  const double distance = std::sqrt(5.0) * std::abs(axis.positions[a] - axis.positions[b]) / length;
  return (1 + distance + distance * distance / 3) * std::exp(-distance);
}

}  // namespace

SettingSurface::SettingSurface(const std::vector<SearchAxis>& axes) : axes_(axes) {
  parameters_.lengths.assign(axes.size(), 1.0);
  tables_.resize(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    tabulate(i);
  }
}

void SettingSurface::tabulate(size_t axis) {
  const size_t values = axes_[axis].positions.size();
  tables_[axis].resize(values * values);
  for (size_t a = 0; a < values; ++a) {
    for (size_t b = 0; b < values; ++b) {
      tables_[axis][a * values + b] = axis_kernel(axes_[axis], a, b, parameters_.lengths[axis]);
    }
  }
}

double SettingSurface::kernel(const SettingIndex& a, const SettingIndex& b) const {
  double sum = 0;
  double product = 1;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const double one = tables_[i][a[i] * axes_[i].positions.size() + b[i]];
    sum += one;
    product *= one;
  }
  return (1 - parameters_.product) * sum / static_cast<double>(axes_.size()) +
         parameters_.product * product;
}

std::vector<double> SettingSurface::solve_lower(std::vector<double> values) const {
  const size_t n = points_.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) {
      values[i] -= factor_[i * n + k] * values[k];
    }
    values[i] /= factor_[i * n + i];
  }
  return values;
}

double SettingSurface::decompose() {
  const size_t n = points_.size();
  factor_.assign(n * n, 0);
  double log_determinant = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double value = kernel(points_[i].setting, points_[j].setting);
      if (i == j) {
        value += parameters_.nugget / static_cast<double>(points_[i].runs) + 1e-9;
      }
      for (size_t k = 0; k < j; ++k) {
        value -= factor_[i * n + k] * factor_[j * n + k];
      }
      factor_[i * n + j] = i == j ? std::sqrt(std::max(value, 1e-12)) : value / factor_[j * n + j];
    }
    log_determinant += 2 * std::log(factor_[i * n + i]);
  }
  std::vector<double> rest(n);
  for (size_t i = 0; i < n; ++i) {
    rest[i] = points_[i].log_cost - parameters_.trust * points_[i].prior;
  }
  const std::vector<double> ones = solve_lower(std::vector<double>(n, 1.0));
  std::vector<double> solved = solve_lower(rest);
  double ones_rest = 0;
  double ones_ones = 0;
  for (size_t i = 0; i < n; ++i) {
    ones_rest += ones[i] * solved[i];
    ones_ones += ones[i] * ones[i];
  }
  level_ = ones_rest / ones_ones;
  double squares = 0;
  for (size_t i = 0; i < n; ++i) {
    solved[i] -= level_ * ones[i];
    squares += solved[i] * solved[i];
  }
  const double count = static_cast<double>(n) + kUsualWeight;
  scale_ = (squares + kUsualWeight * kUsualVariance) / count;
  // Backwards: weights = L^-T L^-1 (rest - level).
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) {
      solved[i] -= factor_[k * n + i] * solved[k];
    }
    solved[i] /= factor_[i * n + i];
  }
  weights_ = std::move(solved);
  return count * std::log(scale_) + log_determinant;
}

void SettingSurface::improve() {
  double best = decompose();
  const auto choose = [&](double& parameter, const auto& values, const auto& changed) {
    double chosen = parameter;
    for (const double value : values) {
      parameter = value;
      changed();
      if (const double found = decompose(); found < best - 1e-9) {
        best = found;
        chosen = value;
      }
    }
    parameter = chosen;
    changed();
  };
  const auto nothing = [] {};
  for (int sweep = 0; sweep < 2; ++sweep) {
    choose(parameters_.trust, kTrusts, nothing);
    for (size_t i = 0; i < axes_.size(); ++i) {
      choose(parameters_.lengths[i], kLengths, [this, i] { tabulate(i); });
    }
    choose(parameters_.product, kProducts, nothing);
    choose(parameters_.nugget, kNuggets, nothing);
  }
  decompose();
}

void SettingSurface::fit(std::vector<Point> points) {
  points_ = std::move(points);
  // The parameters settle as points are added: few trials then suffice, at growing distances.
  if (static_cast<double>(points_.size()) >= 1.2 * static_cast<double>(improved_at_)) {
    improved_at_ = points_.size();
    improve();
  } else {
    decompose();
  }
}

std::vector<double> SettingSurface::kernels_to(const SettingIndex& setting) const {
  std::vector<double> kernels(points_.size());
  for (size_t i = 0; i < points_.size(); ++i) {
    kernels[i] = kernel(points_[i].setting, setting);
  }
  return kernels;
}

double SettingSurface::mean(const SettingIndex& setting, double prior) const {
  double result = level_ + parameters_.trust * prior;
  for (size_t i = 0; i < points_.size(); ++i) {
    result += weights_[i] * kernel(points_[i].setting, setting);
  }
  return result;
}

SettingSurface::Estimate SettingSurface::predict(const SettingIndex& setting, double prior) const {
  const std::vector<double> solved = solve_lower(kernels_to(setting));
  double known = 0;
  for (const double value : solved) {
    known += value * value;
  }
  return {mean(setting, prior), scale_ * std::max(1 - known, 0.0)};
}

}  // namespace dfsim::inline study
