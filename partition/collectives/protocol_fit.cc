// A seeded random search on the logarithms of the parameters, from several starts. The error is
// a sum of absolute percentages, which has no useful gradient where protocols take turns.
#include "partition/collectives/protocol_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/check.h"
#include "base/rng.h"

namespace dfsim::inline partition {
namespace {

constexpr size_t kPerProtocol = 3;  // log of start, step and ns per byte
constexpr int kStarts = 12;
constexpr int kSteps = 6000;
constexpr size_t kMostSamples = 600;  // more are thinned out evenly
constexpr double kSmallWeight = 0.5;

struct Point {
  double steps = 0;
  double bytes = 0;
  double time_ns = 0;
  double weight = 0;
};

using Parameters = std::vector<double>;

std::vector<Point> points_of(const std::vector<CollectiveSample>& samples) {
  const size_t stride = (samples.size() + kMostSamples - 1) / kMostSamples;
  std::vector<Point> points;
  std::vector<bool> small;
  for (size_t i = 0; i < samples.size(); ++i) {
    const CollectiveSample& sample = samples[i];
    const bool is_small = sample.bytes <= kSmallCollective;
    if (!is_small && i % stride != 0) {
      continue;
    }
    const CollectiveShape shape = collective_shape(sample.kind, sample.bytes, sample.ranks);
    points.push_back({shape.steps, shape.bytes, sample.time_ns, 0});
    small.push_back(is_small);
  }
  const auto count = static_cast<double>(std::count(small.begin(), small.end(), true));
  for (size_t i = 0; i < points.size(); ++i) {
    points[i].weight =
        small[i] ? kSmallWeight / count : 1 / (static_cast<double>(points.size()) - count);
  }
  return points;
}

double error_of(const Parameters& parameters, const std::vector<Point>& points) {
  std::vector<CollectiveProtocol> ways;
  for (size_t i = 0; i < parameters.size(); i += kPerProtocol) {
    ways.push_back(
        {std::exp(parameters[i]), std::exp(parameters[i + 1]), std::exp(parameters[i + 2])});
  }
  double error = 0;
  for (const Point& point : points) {
    double least = std::numeric_limits<double>::infinity();
    for (const CollectiveProtocol& way : ways) {
      least =
          std::min(least, way.start_ns + point.steps * way.step_ns + point.bytes * way.bytes_per_s);
    }
    error += point.weight * std::abs(least / point.time_ns - 1);
  }
  return error;
}

// Somewhere between 1 and 50 us to start, 0.05 and 5 us a step, 1 and 500 GB/s.
Parameters random_start(size_t protocols, Rng* rng) {
  Parameters parameters;
  for (size_t i = 0; i < protocols; ++i) {
    parameters.push_back(std::log(1e3) + rng->uniform() * std::log(50.0));
    parameters.push_back(std::log(50.0) + rng->uniform() * std::log(100.0));
    parameters.push_back(-rng->uniform() * std::log(500.0));
  }
  return parameters;
}

// Steps in random directions, larger after one that helped, smaller after one that did not.
double improve(Parameters* best, const std::vector<Point>& points, Rng* rng) {
  constexpr double kGrow = 1.6;
  constexpr double kShrink = 0.94;
  constexpr double kFinest = 1e-4;
  double least = error_of(*best, points);
  double scale = 0.5;
  for (int step = 0; step < kSteps; ++step) {
    Parameters moved = *best;
    const bool one = rng->below(2) == 0;
    const size_t only = rng->below(moved.size());
    for (size_t i = 0; i < moved.size(); ++i) {
      moved[i] += !one || i == only ? scale * rng->normal() : 0;
    }
    const double error = error_of(moved, points);
    if (error < least) {
      least = error;
      *best = std::move(moved);
      scale = std::min(1.0, scale * kGrow);
    } else {
      scale = std::max(kFinest, scale * kShrink);
    }
  }
  return least;
}

double rounded(double value, double digits) { return std::round(value * digits) / digits; }

}  // namespace

CollectiveMape collective_mape(const std::vector<CollectiveSample>& samples,
                               const std::vector<double>& predicted_ns) {
  CollectiveMape mape;
  for (size_t i = 0; i < samples.size(); ++i) {
    const bool small = samples[i].bytes <= kSmallCollective;
    ++(small ? mape.small_rows : mape.large_rows);
    (small ? mape.small : mape.large) += std::abs(predicted_ns[i] / samples[i].time_ns - 1);
  }
  mape.small /= static_cast<double>(std::max<size_t>(1, mape.small_rows));
  mape.large /= static_cast<double>(std::max<size_t>(1, mape.large_rows));
  return mape;
}

std::vector<CollectiveProtocol> fit_protocols(const std::vector<CollectiveSample>& samples,
                                              size_t protocols) {
  DFSIM_CHECK(!samples.empty() && protocols > 0);
  const std::vector<Point> points = points_of(samples);
  Parameters best;
  double least = std::numeric_limits<double>::infinity();
  for (int start = 0; start < kStarts; ++start) {
    Rng rng = Rng(1).split(static_cast<uint64_t>(start));
    Parameters parameters = random_start(protocols, &rng);
    const double error = improve(&parameters, points, &rng);
    if (error < least) {
      least = error;
      best = std::move(parameters);
    }
  }
  // As hardware files write them: whole nanoseconds and 0.001 GB/s.
  std::vector<CollectiveProtocol> fitted;
  for (size_t i = 0; i < best.size(); i += kPerProtocol) {
    fitted.push_back({std::round(std::exp(best[i])), std::round(std::exp(best[i + 1])),
                      std::max(0.001, rounded(std::exp(-best[i + 2]), 1000)) *
                          static_cast<double>(kNsPerSecond)});
  }
  std::sort(fitted.begin(), fitted.end(),
            [](const CollectiveProtocol& a, const CollectiveProtocol& b) {
              return a.bytes_per_s < b.bytes_per_s;
            });
  return fitted;
}

}  // namespace dfsim::inline partition
