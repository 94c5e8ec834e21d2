// Ranks the rows of a sweep under constraints and finds Pareto fronts in one pass over the rows.
#include "study/sweep/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMillion = 1e6;
constexpr double kBytesPerGb = 1e9;

bool is_allowed(const SweepPoint& point, const SweepFigures& figures,
                const SweepConstraints& constraints) {
  const auto latency_ms = static_cast<double>(figures.latency_ns) / static_cast<double>(kNsPerMs);
  const std::optional<double> price = hourly_price(point, constraints.prices);
  return (constraints.max_latency_ms <= 0 || latency_ms <= constraints.max_latency_ms) &&
         (constraints.max_memory_gb <= 0 || static_cast<double>(figures.peak_memory_bytes) <=
                                                constraints.max_memory_gb * kBytesPerGb) &&
         (constraints.max_price_per_hour <= 0 ||
          (price.has_value() && *price <= constraints.max_price_per_hour));
}

// The ranking of one model and mode, from rows that come one at a time in order. It keeps no rows
// but those that are best so far or on the front.
class SweepRanking {
 public:
  explicit SweepRanking(const SweepConstraints& constraints) : constraints_(constraints) {}

  void add(size_t row, const SweepPoint& point, const SweepRow& figures, SweepModelReport* report) {
    if (!counts(point, figures, report)) {
      return;
    }
    std::array<double, 3> values = {};
    for (size_t goal = 0; goal < values.size(); ++goal) {
      values[goal] = value(point, figures.figures, static_cast<SweepGoal>(goal));
      if (values[goal] < least_[goal]) {
        least_[goal] = values[goal];
        report->best[goal] = row;
      }
    }
    const SweepGoal other = constraints_.prices.empty() ? SweepGoal::kThroughput : SweepGoal::kCost;
    add_to_front(row, values[0], values[static_cast<size_t>(other)]);
  }

  std::vector<size_t> front() const {
    std::vector<size_t> rows;
    for (const auto& [latency, place] : front_) {
      rows.push_back(place.row);
    }
    return rows;
  }

 private:
  struct Place {
    double other = 0;
    size_t row = 0;
  };

  bool counts(const SweepPoint& point, const SweepRow& row, SweepModelReport* report) const {
    size_t* const reason = !row.error.empty()                              ? &report->failed
                           : is_limit(row.figures)                         ? &report->limits
                           : is_too_large(row.figures)                     ? &report->too_large
                           : !is_allowed(point, row.figures, constraints_) ? &report->excluded
                                                                           : nullptr;
    if (reason != nullptr) {
      ++*reason;
    }
    return reason == nullptr;
  }

  // Less is better; infinite where the goal has no value.
  double value(const SweepPoint& point, const SweepFigures& figures, SweepGoal goal) const {
    if (goal == SweepGoal::kLatency) {
      return static_cast<double>(figures.latency_ns);
    }
    if (goal == SweepGoal::kThroughput) {
      return -figures.throughput_per_s;
    }
    return cost_per_million(point, figures, constraints_.prices)
        .value_or(std::numeric_limits<double>::infinity());
  }

  // Along the front, latency rises and the other goal falls: of the rows that are as fast as the
  // new one, the slowest is the best in the other goal. The first of equal rows stays.
  void add_to_front(size_t row, double latency, double other) {
    const auto above = front_.upper_bound(latency);
    if (other == std::numeric_limits<double>::infinity() ||
        (above != front_.begin() && std::prev(above)->second.other <= other)) {
      return;
    }
    const auto first = front_.lower_bound(latency);
    auto last = first;
    while (last != front_.end() && last->second.other >= other) {
      ++last;
    }
    front_.erase(first, last);
    front_[latency] = {other, row};
  }

  const SweepConstraints& constraints_;
  std::array<double, 3> least_ = {std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::infinity()};
  std::map<double, Place> front_;  // by latency
};

// A file of prices may list more machines than a sweep uses, but not only others.
Status check_prices(const SweepResult& result, const HourlyPrices& prices) {
  std::set<std::string> used;
  for (const SweepPoint point : result.points) {
    used.insert(point.hardware);
  }
  const bool none = std::none_of(prices.begin(), prices.end(),
                                 [&](const auto& entry) { return used.contains(entry.first); });
  if (none && !prices.empty()) {
    const std::vector<std::string> names(used.begin(), used.end());
    return invalid_input(
        fmt::format("--prices: found no machine of the sweep, expected some of: {}; use the names "
                    "that --hw has",
                    printable(join(names, ", "), 200)));
  }
  return ok_status();
}

}  // namespace

std::optional<double> hourly_price(const SweepPoint& point, const HourlyPrices& prices) {
  const auto found = prices.find(point.hardware);
  return found == prices.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> cost_per_million(const SweepPoint& point, const SweepFigures& figures,
                                       const HourlyPrices& prices) {
  const std::optional<double> price = hourly_price(point, prices);
  if (!price.has_value() || figures.throughput_per_s <= 0) {
    return std::nullopt;
  }
  return *price / kSecondsPerHour / figures.throughput_per_s * kMillion;
}

StatusOr<SweepReport> make_sweep_report(const SweepResult& result, SweepConstraints constraints) {
  DFSIM_RETURN_IF_ERROR(check_prices(result, constraints.prices));
  SweepReport report;
  report.constraints = std::move(constraints);
  std::vector<SweepRanking> rankings;  // by model of the report
  std::map<std::pair<std::string, std::string>, size_t> models;
  std::map<std::string, size_t> errors;
  for (size_t r = 0; r < result.points.size(); ++r) {
    const SweepPoint point = result.points[r];
    const SweepRow row = result.rows[r];
    const auto [model, is_new] = models.try_emplace({point.model, point.mode}, rankings.size());
    if (is_new) {
      report.models.push_back({point.model, point.mode});
      rankings.emplace_back(report.constraints);
    }
    rankings[model->second].add(r, point, row, &report.models[model->second]);
    if (!row.error.empty()) {
      const auto error = errors.try_emplace(row.error, report.errors.size());
      if (error.second) {
        report.errors.push_back({row.error, 0, r});
      }
      ++report.errors[error.first->second].points;
    }
  }
  for (size_t m = 0; m < rankings.size(); ++m) {
    report.models[m].front = rankings[m].front();
  }
  return report;
}

}  // namespace dfsim::inline study
