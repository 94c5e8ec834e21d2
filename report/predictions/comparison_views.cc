// Comparisons as JSON and CSV.
#include <fmt/format.h>

#include <algorithm>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "report/predictions/comparison_parts.h"
#include "report/predictions/comparison_views.h"
#include "report/text_parts.h"
#include "report/unknown_work_json.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;
double utilisation(const PolicyOutcome& outcome, size_t device) {
  return outcome.makespan_ns == 0 ? 0
                                  : static_cast<double>(outcome.result.devices[device].busy_ns) /
                                        static_cast<double>(outcome.makespan_ns);
}

double mean_utilisation(const PolicyOutcome& outcome) {
  double sum = 0;
  for (size_t d = 0; d < outcome.result.devices.size(); ++d) {
    sum += utilisation(outcome, d);
  }
  return outcome.result.devices.empty() ? 0
                                        : sum / static_cast<double>(outcome.result.devices.size());
}

// A figure that only the time of a whole model can give.
Json if_complete(const Comparison& comparison, double figure) {
  return comparison.unknown.complete() ? Json(figure) : Json(nullptr);
}

Json repeated_json(const PolicyOutcome& outcome) {
  const RepeatResult& runs = *outcome.repeated;
  return {{"runs", runs.makespans_ns.size()},
          {"mean_ms", runs.mean_ns / static_cast<double>(kNsPerMs)},
          {"standard_deviation_ms", runs.standard_deviation_ns / static_cast<double>(kNsPerMs)},
          {"min_ms", in_ms(runs.min_ns)},
          {"p10_ms", in_ms(runs.p10_ns)},
          {"p50_ms", in_ms(runs.p50_ns)},
          {"p90_ms", in_ms(runs.p90_ns)},
          {"max_ms", in_ms(runs.max_ns)},
          {"win_fraction", outcome.win_share}};
}

Json outcome_json(const Comparison& comparison, const PolicyOutcome& outcome) {
  Json json;
  json["name"] = outcome.name;
  if (!outcome.status.ok()) {
    json["error"] = outcome.status.message();
    return json;
  }
  const bool complete = comparison.unknown.complete();
  const bool is_comparable = !comparison.is_limit_among_estimates(outcome);
  json["makespan_ms"] = if_complete(comparison, in_ms(outcome.makespan_ns));
  json["makespan_at_least_ms"] = complete ? Json(nullptr) : Json(in_ms(outcome.makespan_ns));
  json["is_limit"] = !complete || outcome.is_limit();
  json["bound_only_fraction"] = outcome.bound_only_share;
  json["ratio_to_best"] =
      is_comparable ? if_complete(comparison, outcome.ratio_to_best) : Json(nullptr);
  json["gap_to_bound"] = if_complete(comparison, outcome.gap_to_bound);
  json["speedup"] = is_comparable ? if_complete(comparison, outcome.speedup) : Json(nullptr);
  json["slr"] = if_complete(comparison, outcome.slr);
  json["efficiency"] = is_comparable ? if_complete(comparison, outcome.efficiency) : Json(nullptr);
  if (comparison.delays) {
    json["delay_moved_ms"] = in_ms(outcome.result.bytes_moved);
    json["bytes_moved"] = nullptr;
    json["peak_memory_bytes"] = nullptr;
  } else {
    json["bytes_moved"] = outcome.result.bytes_moved;
    json["peak_memory_bytes"] = peak_memory(outcome);
    json["over_capacity"] = !overflow(comparison, outcome).empty();
  }
  json["copies"] = outcome.result.transfers;
  json["schedule_time_ms"] =
      outcome.schedule_time_ms < 0 ? Json(nullptr) : Json(outcome.schedule_time_ms);
  if (outcome.decisions_ns > 0) {
    json["decisions_ms"] = in_ms(outcome.decisions_ns);
  }
  if (outcome.repeated.has_value()) {
    json["repeated"] = repeated_json(outcome);
  }
  Json& utilisations = json["utilisation"] = Json::object();
  for (size_t d = 0; d < comparison.devices.size(); ++d) {
    utilisations[comparison.devices[d]] = utilisation(outcome, d);
  }
  return json;
}

Json split_json(const TriedSplit& split) {
  const bool has_time = !split.policy.empty();
  return {{"pieces", split.operators == 0 ? 1 : split.pieces},
          {"rule", split.rule.empty() ? Json(nullptr) : Json(split.rule)},
          {"operators", split.operators},
          {"tasks", split.tasks},
          {"best", has_time ? Json(split.policy) : Json(nullptr)},
          {"makespan_ms", has_time ? Json(in_ms(split.makespan_ns)) : Json(nullptr)},
          {"chosen", split.chosen}};
}

Json comparison_object(const Comparison& comparison) {
  Json json;
  json["complete"] = comparison.unknown.complete();
  json["unknown_work"] = unknown_work_json(comparison.unknown);
  json["graph"] = comparison.graph;
  json["hardware"] = comparison.hardware;
  json["tasks"] = comparison.tasks;
  json["edges"] = comparison.edges;
  json["unitless"] = comparison.unitless;
  if (!comparison.cost_model.empty()) {
    json["runtime"] = comparison.runtime;
    json["cost_model"] = comparison.cost_model;
    Json& sources = json["cost_sources"] = Json::object();
    for (const auto& [source, tasks] : comparison.cost_sources) {
      sources[source] = tasks;
    }
    json["bound_only_devices"] = comparison.bound_only_devices;
  }
  json["lower_bound_ms"] = in_ms(comparison.lower_bound_ns);
  json["critical_path_ms"] = if_complete(comparison, in_ms(comparison.critical_path_ns));
  json["single_device_ms"] = if_complete(comparison, in_ms(comparison.single_device_ns));
  json["single_device"] = comparison.single_device;
  json["one_device_is_enough"] =
      comparison.names_best() ? Json(comparison.one_device_is_enough()) : Json(nullptr);
  json["best"] = comparison.names_best() ? Json(comparison.best()->name) : Json(nullptr);
  if (!comparison.splits.empty()) {
    Json& splits = json["splits"] = Json::array();
    for (const TriedSplit& split : comparison.splits) {
      splits.push_back(split_json(split));
    }
  }
  Json& policies = json["policies"] = Json::array();
  for (const PolicyOutcome& outcome : comparison.policies) {
    policies.push_back(outcome_json(comparison, outcome));
  }
  return json;
}

Json machine_json(const MachineRank& rank) {
  const bool has_time = !rank.policy.empty();
  const bool complete = rank.unknown.complete();
  const Json time = has_time ? Json(in_ms(rank.makespan_ns)) : Json(nullptr);
  return {{"graph", rank.graph},
          {"hardware", rank.hardware},
          {"policy", has_time ? Json(rank.policy) : Json(nullptr)},
          {"makespan_ms", complete ? time : Json(nullptr)},
          {"makespan_at_least_ms", complete ? Json(nullptr) : time},
          {"is_limit", rank.is_limit()},
          {"ratio_to_best", rank.ratio_to_best > 0 ? Json(rank.ratio_to_best) : Json(nullptr)}};
}

}  // namespace

Bytes peak_memory(const PolicyOutcome& outcome) {
  Bytes peak = 0;
  for (const DeviceUse& device : outcome.result.devices) {
    peak = std::max(peak, device.peak_memory_bytes);
  }
  return peak;
}

std::string overflow(const Comparison& comparison, const PolicyOutcome& outcome) {
  std::string text;
  for (size_t d = 0; d < comparison.devices.size() && !comparison.delays; ++d) {
    const Bytes peak = outcome.result.devices[d].peak_memory_bytes;
    const Bytes capacity = comparison.capacity_bytes[d];
    if (capacity > 0 && peak > capacity) {
      text += fmt::format("{}{} of {} on {}", text.empty() ? "" : ", ", format_bytes(peak),
                          format_bytes(capacity), printable(comparison.devices[d]));
    }
  }
  return text;
}

std::string comparison_json(const std::vector<Comparison>& comparisons,
                            const std::string& drawing) {
  if (comparisons.size() == 1) {
    Json json = {{"schema", "dfsim.compare/1"}};
    json.update(comparison_object(comparisons.front()));
    if (!drawing.empty()) {
      json["drawing"] = drawing;
    }
    return json.text();
  }
  Json json = {{"schema", "dfsim.compare-many/1"}};
  Json& instances = json["instances"] = Json::array();
  for (const Comparison& comparison : comparisons) {
    instances.push_back(comparison_object(comparison));
  }
  json["machines"] = Json::array();
  for (const MachineRank& rank : rank_machines(comparisons)) {
    json["machines"].push_back(machine_json(rank));
  }
  Json& policies = json["summary"] = Json::array();
  for (const PolicySummary& summary : summarise(comparisons)) {
    Json entry;
    entry["name"] = summary.name;
    entry["mean_rank"] = summary.mean_rank;
    entry["wins"] = summary.wins;
    entry["mean_ratio_to_best"] = summary.mean_ratio;
    entry["runs"] = summary.runs;
    policies.push_back(std::move(entry));
  }
  return json.text();
}

std::string comparison_csv(const std::vector<Comparison>& comparisons) {
  std::string out =
      "graph,hardware,policy,makespan_ms,ratio_to_best,gap_to_bound,speedup,slr,efficiency,"
      "utilisation,bytes_moved,copies,peak_memory_bytes,schedule_time_ms,error,"
      "makespan_at_least_ms,bound_only_fraction\n";
  for (const Comparison& comparison : comparisons) {
    for (const PolicyOutcome& outcome : comparison.policies) {
      out += fmt::format("{},{},{},", csv_field(comparison.graph), csv_field(comparison.hardware),
                         csv_field(outcome.name));
      if (!outcome.status.ok()) {
        out += fmt::format(",,,,,,,,,,,{},,\n", csv_field(outcome.status.message()));
        continue;
      }
      const bool complete = comparison.unknown.complete();
      const std::string makespan = fmt::format("{}", in_ms(outcome.makespan_ns));
      const bool is_comparable = complete && !comparison.is_limit_among_estimates(outcome);
      const auto if_comparable = [&](double figure) {
        return is_comparable ? fmt::format("{}", figure) : std::string();
      };
      out += fmt::format("{},{},{},{},{},{},{},", complete ? makespan : "",
                         if_comparable(outcome.ratio_to_best), outcome.gap_to_bound,
                         if_comparable(outcome.speedup), outcome.slr,
                         if_comparable(outcome.efficiency), mean_utilisation(outcome));
      out += comparison.delays ? fmt::format(",{},,", outcome.result.transfers)
                               : fmt::format("{},{},{},", outcome.result.bytes_moved,
                                             outcome.result.transfers, peak_memory(outcome));
      out += outcome.schedule_time_ms < 0 ? ",," : fmt::format("{},,", outcome.schedule_time_ms);
      out += fmt::format("{},{}\n", complete ? "" : makespan, outcome.bound_only_share);
    }
  }
  return out;
}

}  // namespace dfsim::inline report
