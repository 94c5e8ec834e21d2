// The report of a sweep: the best configurations of each model under constraints, and the Pareto
// front.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_file.h"

namespace dfsim::inline study {

// 0 = no limit. Configurations that need more memory than the device has never count.
struct SweepConstraints {
  double max_latency_ms = 0;
  double max_memory_gb = 0;       // 1e9 bytes
  double max_price_per_hour = 0;  // machines without a price do not count then
  HourlyPrices prices;            // empty = no costs
};

enum class SweepGoal : uint8_t { kLatency, kThroughput, kCost };
inline constexpr std::array<std::string_view, 3> kSweepGoalNames = {"latency", "throughput",
                                                                    "cost"};

// The configurations of one model and mode. Numbers are indices of rows.
struct SweepModelReport {
  std::string model;  // file
  std::string mode;
  std::array<std::optional<size_t>, 3> best = {};  // by SweepGoal
  // No other configuration is at least as good in latency and in throughput (or, with prices, in
  // cost per sample) and better in one. By latency; the first of equal ones.
  std::vector<size_t> front = {};
  // Rows that do not count, and why.
  size_t failed = 0;
  size_t limits = 0;     // a lower limit of the latency is not an estimate
  size_t too_large = 0;  // more memory than the device has
  size_t excluded = 0;   // by the constraints
};

struct SweepError {
  std::string text;
  size_t points = 0;
  size_t first = 0;  // index of a row
};

struct SweepReport {
  SweepConstraints constraints;
  std::vector<SweepModelReport> models;  // in order of the plan
  std::vector<SweepError> errors;        // in order of their first point
};

// The price of the machine of a point, per hour.
std::optional<double> hourly_price(const SweepPoint& point, const HourlyPrices& prices);
// The cost of a million samples at the row's throughput.
std::optional<double> cost_per_million(const SweepPoint& point, const SweepFigures& figures,
                                       const HourlyPrices& prices);
// Error: prices, but none of a machine that a point uses.
StatusOr<SweepReport> make_sweep_report(const SweepResult& result, SweepConstraints constraints);

}  // namespace dfsim::inline study
