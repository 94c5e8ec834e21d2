// Ranks the rows of a sweep under constraints and finds Pareto fronts by one sorted pass.
#include "study/sweep/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
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

class SweepRanking {
 public:
  SweepRanking(const SweepResult& result, const SweepConstraints& constraints)
      : result_(result), constraints_(constraints) {}

  void rank(const std::vector<size_t>& rows, SweepModelReport* report) const {
    std::vector<size_t> counting;
    for (const size_t row : rows) {
      if (counts(row, report)) {
        counting.push_back(row);
      }
    }
    for (size_t goal = 0; goal < report->best.size(); ++goal) {
      report->best[goal] = best_of(counting, static_cast<SweepGoal>(goal));
    }
    report->front = front_of(counting);
  }

 private:
  bool counts(size_t row, SweepModelReport* report) const {
    const SweepFigures& figures = result_.rows[row].figures;
    size_t* const reason = !result_.rows[row].error.empty() ? &report->failed
                           : is_limit(figures)              ? &report->limits
                           : is_too_large(figures)          ? &report->too_large
                           : !is_allowed(result_.points[row], figures, constraints_)
                               ? &report->excluded
                               : nullptr;
    if (reason != nullptr) {
      ++*reason;
    }
    return reason == nullptr;
  }

  // Less is better; infinite where the goal has no value.
  double value(size_t row, SweepGoal goal) const {
    const SweepFigures& figures = result_.rows[row].figures;
    if (goal == SweepGoal::kLatency) {
      return static_cast<double>(figures.latency_ns);
    }
    if (goal == SweepGoal::kThroughput) {
      return -figures.throughput_per_s;
    }
    return cost_per_million(result_.points[row], figures, constraints_.prices)
        .value_or(std::numeric_limits<double>::infinity());
  }

  // The first of those that are best.
  std::optional<size_t> best_of(const std::vector<size_t>& rows, SweepGoal goal) const {
    std::optional<size_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (const size_t row : rows) {
      if (value(row, goal) < least) {
        least = value(row, goal);
        best = row;
      }
    }
    return best;
  }

  // By latency, then by the other goal: a row is on the front when no row before it is as good in
  // the other goal.
  std::vector<size_t> front_of(std::vector<size_t> rows) const {
    const SweepGoal other = constraints_.prices.empty() ? SweepGoal::kThroughput : SweepGoal::kCost;
    std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
      return std::pair(value(a, SweepGoal::kLatency), value(a, other)) <
             std::pair(value(b, SweepGoal::kLatency), value(b, other));
    });
    std::vector<size_t> front;
    double least = std::numeric_limits<double>::infinity();
    for (const size_t row : rows) {
      if (value(row, other) < least) {
        least = value(row, other);
        front.push_back(row);
      }
    }
    return front;
  }

  const SweepResult& result_;
  const SweepConstraints& constraints_;
};

// A file of prices may list more machines than a sweep uses, but not only others.
Status check_prices(const SweepResult& result, const HourlyPrices& prices) {
  std::set<std::string> used;
  for (const SweepPoint& point : result.points) {
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
  std::vector<std::vector<size_t>> rows;  // by model of the report
  std::map<std::pair<std::string, std::string>, size_t> models;
  std::map<std::string, size_t> errors;
  for (size_t row = 0; row < result.points.size(); ++row) {
    const SweepPoint& point = result.points[row];
    const auto [model, is_new] = models.try_emplace({point.model, point.mode}, rows.size());
    if (is_new) {
      report.models.push_back({point.model, point.mode});
      rows.emplace_back();
    }
    rows[model->second].push_back(row);
    const std::string& text = result.rows[row].error;
    if (!text.empty()) {
      const auto error = errors.try_emplace(text, report.errors.size());
      if (error.second) {
        report.errors.push_back({text, 0, row});
      }
      ++report.errors[error.first->second].points;
    }
  }
  const SweepRanking ranking(result, report.constraints);
  for (size_t m = 0; m < rows.size(); ++m) {
    ranking.rank(rows[m], &report.models[m]);
  }
  return report;
}

}  // namespace dfsim::inline study
