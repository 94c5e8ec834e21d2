// Reads measured collectives, compares them with a platform's predictions, and fits the timings
// again. Each half of the rows is also predicted by a fit to the other half, so that the
// reported error is not that of the fit.
#include "study/training/collective_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/name_pattern.h"
#include "base/text.h"
#include "datasets/importers/collective_tables.h"
#include "hardware/route.h"
#include "partition/collectives/collectives.h"
#include "partition/sharding/device_mesh.h"

namespace dfsim::inline study {
namespace {

constexpr std::string_view kSendRecv = "send_recv";
constexpr size_t kProtocols = 3;  // NCCL has as many: LL, LL128 and Simple

std::optional<CollectiveKind> kind_of(const std::string& operation) {
  for (int k = 0; k < kCollectiveKindCount; ++k) {
    if (collective_kind_name(static_cast<CollectiveKind>(k)) == operation) {
      return static_cast<CollectiveKind>(k);
    }
  }
  return std::nullopt;
}

// The key of rows that are evaluated, or fitted, together.
struct RowGroup {
  std::string operation;
  int64_t devices = 0;
  std::vector<CollectiveSample> samples;
};

class Evaluator {
 public:
  explicit Evaluator(const Platform& platform)
      : platform_(platform), routes_(platform_), fits_(platform.collectives) {}

  Status read(const std::string& path) {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<std::string> tables, find_collective_tables(path));
    const auto there = static_cast<int64_t>(compute_devices(platform_).size());
    std::map<std::pair<std::string, int64_t>, RowGroup> groups;
    for (const std::string& table : tables) {
      DFSIM_ASSIGN_OR_RETURN(const std::vector<MeasuredCollective> rows,
                             read_collective_table(table));
      for (const MeasuredCollective& row : rows) {
        if (!row.one_node) {
          ++across_nodes_;
          continue;
        }
        if (row.devices > there) {
          return invalid_input(
              fmt::format("{}: rows of {} devices, '{}' has {}; choose a larger "
                          "node",
                          table, row.devices, printable(platform_.name), there));
        }
        RowGroup& group = groups[{row.operation, row.devices}];
        group.operation = row.operation;
        group.devices = row.devices;
        group.samples.push_back({kind_of(row.operation).value_or(CollectiveKind::kBroadcast),
                                 row.devices, row.bytes, row.time_ns});
      }
    }
    for (auto& [key, group] : groups) {
      groups_.push_back(std::move(group));
    }
    return groups_.empty() ? invalid_input(path +
                                           ": found only rows across nodes, expected some "
                                           "within one; give other tables")
                           : ok_status();
  }

  // Fits every operation over every kind of link from the rows that `pick` takes, in place of the
  // platform's own fits.
  template <typename Pick>
  std::vector<CollectiveTiming> fit(const Pick& pick) const {
    std::map<std::pair<std::string, std::string>, std::vector<CollectiveSample>> sets;
    for (const RowGroup& group : groups_) {
      auto& set = sets[{links_of(group.devices), group.operation}];
      for (size_t i = 0; i < group.samples.size() && group.operation != kSendRecv; ++i) {
        if (pick(i)) {
          set.push_back(group.samples[i]);
        }
      }
    }
    std::vector<CollectiveTiming> fits;
    for (const auto& [key, samples] : sets) {
      if (!samples.empty()) {
        fits.push_back({key.first, key.second, fit_protocols(samples, kProtocols), ""});
      }
    }
    return fits;
  }

  void use(std::vector<CollectiveTiming> fits) { fits_ = std::move(fits); }

  // Adds the errors of the rows that `pick` takes to `all`.
  template <typename Pick>
  std::vector<CollectiveError> evaluate(const Pick& pick, CollectiveMape* all) const {
    std::vector<CollectiveError> errors;
    std::vector<CollectiveSample> every;
    std::vector<double> every_predicted;
    for (const RowGroup& group : groups_) {
      std::vector<CollectiveSample> samples;
      std::vector<double> predicted;
      const std::vector<DeviceId> devices = first(group.devices);
      GroupCosts costs = group_costs(platform_, routes_, devices);
      costs.timings = find_collective_timings(fits_, platform_, routes_, devices);
      for (size_t i = 0; i < group.samples.size(); ++i) {
        if (pick(i)) {
          samples.push_back(group.samples[i]);
          predicted.push_back(predict(group, group.samples[i], costs, devices));
        }
      }
      const auto kind = kind_of(group.operation);
      const bool fitted = kind && costs.timings[static_cast<size_t>(*kind)] != nullptr;
      errors.push_back({group.operation, group.devices, fitted ? "fit" : "links",
                        collective_mape(samples, predicted)});
      if (kind) {
        every.insert(every.end(), samples.begin(), samples.end());
        every_predicted.insert(every_predicted.end(), predicted.begin(), predicted.end());
      }
    }
    *all = collective_mape(every, every_predicted);
    return errors;
  }

  size_t across_nodes() const { return across_nodes_; }

 private:
  std::vector<DeviceId> first(int64_t devices) const {
    std::vector<DeviceId> group = compute_devices(platform_);
    group.resize(static_cast<size_t>(devices));
    return group;
  }

  double predict(const RowGroup& group, const CollectiveSample& sample, const GroupCosts& costs,
                 const std::vector<DeviceId>& devices) const {
    return static_cast<double>(
        group.operation == kSendRecv
            ? routes_.route(devices[0].value(), devices[1].value()).idle_ns(sample.bytes)
            : collective_time_ns(sample.kind, sample.bytes, costs));
  }

  // The pattern for the links that the slowest route of a group takes: what the hardware file calls
  // them, else what their names begin with.
  std::string links_of(int64_t devices) const {
    const std::vector<DeviceId> group = first(devices);
    const CollectiveTimings fits = find_collective_timings(fits_, platform_, routes_, group);
    for (const CollectiveTiming* fit : fits) {
      if (fit != nullptr) {
        return fit->over;
      }
    }
    const Route* route = slowest_route(routes_, group);
    if (route == nullptr || route->hops.empty()) {
      return "*";
    }
    std::string common = platform_.links[route->hops[0].link.index()].name;
    for (const Hop& hop : route->hops) {
      const std::string& name = platform_.links[hop.link.index()].name;
      const auto end = std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first;
      common.erase(end, common.end());
    }
    return common + "*";
  }

  const Platform& platform_;
  RouteTable routes_;
  std::vector<CollectiveTiming> fits_;
  std::vector<RowGroup> groups_;
  size_t across_nodes_ = 0;
};

bool every_row(size_t /*row*/) { return true; }

// The mean of both halves' errors, each against a fit to the other half.
CollectiveMape held_out(const Evaluator& evaluator) {
  CollectiveMape sum;
  for (const size_t half : {0, 1}) {
    Evaluator other = evaluator;
    other.use(other.fit([half](size_t row) { return row % 2 == half; }));
    CollectiveMape mape;
    other.evaluate([half](size_t row) { return row % 2 != half; }, &mape);
    sum.small += mape.small * static_cast<double>(mape.small_rows);
    sum.large += mape.large * static_cast<double>(mape.large_rows);
    sum.small_rows += mape.small_rows;
    sum.large_rows += mape.large_rows;
  }
  sum.small /= static_cast<double>(std::max<size_t>(1, sum.small_rows));
  sum.large /= static_cast<double>(std::max<size_t>(1, sum.large_rows));
  return sum;
}

}  // namespace

StatusOr<CollectiveEvaluation> evaluate_collectives(const std::string& path,
                                                    const Platform& platform, bool fit) {
  Evaluator evaluator(platform);
  DFSIM_RETURN_IF_ERROR(evaluator.read(path));
  CollectiveEvaluation evaluation;
  evaluation.hardware = platform.name;
  evaluation.file = path;
  evaluation.rows_across_nodes = evaluator.across_nodes();
  if (fit) {
    evaluation.held_out = held_out(evaluator);
    evaluation.fits = evaluator.fit(every_row);
    evaluator.use(evaluation.fits);
  }
  CollectiveMape all;
  evaluation.groups = evaluator.evaluate(every_row, &all);
  if (all.small_rows + all.large_rows > 0) {
    evaluation.groups.push_back({"all", 0, "", all});
  }
  return evaluation;
}

}  // namespace dfsim::inline study
