// Text, JSON and CSV of an evaluation, by operator and by how well shapes are known.
#include "report/measurements/evaluation_views.h"

#include <fmt/format.h>
#include <cmath>
#include <utility>
#include <vector>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "report/measurements/training_views.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

void add_row(TextTable& table, const std::string& op, std::string_view seen,
             const EvaluationCell& cell) {
  table.add_row({op, std::string(seen), std::to_string(cell.n),
                 fmt::format("{:.0f}", cell.coverage * 100), percent_number(cell.model.mape),
                 percent_number(cell.model.median), percent_number(cell.model.p90),
                 percent_number(cell.model.bias), fmt::format("{:.0f}", cell.model.interval * 100),
                 percent_number(cell.baseline.mape)});
}

void add_group(TextTable& table, const EvaluationGroup& group) {
  for (size_t i = 0; i < group.by_seen.size(); ++i) {
    if (group.by_seen[i].n > 0) {
      add_row(table, group.op, seen_name(static_cast<Seen>(i)), group.by_seen[i]);
    }
  }
}

std::string network_table(const Evaluation& evaluation) {
  TextTable table({{"device"},
                   {"network"},
                   {"batch", Align::kRight},
                   {"ops", Align::kRight},
                   {"measured", Align::kRight},
                   {"predicted", Align::kRight},
                   {"error %", Align::kRight}});
  for (const NetworkTotal& total : evaluation.networks) {
    table.add_row({total.device, total.network, std::to_string(total.batch),
                   std::to_string(total.ops),
                   format_time(ns_from_seconds(total.measured_us * 1e-6)),
                   format_time(ns_from_seconds(total.predicted_us * 1e-6)),
                   fmt::format("{:+.2f}", total.error() * 100)});
  }
  return fmt::format("{}Mean absolute error of the totals: {} %\n", table.render(100),
                     percent_number(evaluation.mean_network_error));
}

TextTable errors_table() {
  return TextTable({{"op"},
                    {"split"},
                    {"n", Align::kRight},
                    {"cover %", Align::kRight},
                    {"MAPE %", Align::kRight},
                    {"median", Align::kRight},
                    {"p90", Align::kRight},
                    {"bias", Align::kRight},
                    {"in 80 %", Align::kRight},
                    {"bound", Align::kRight}});
}

Json cell_json(const EvaluationCell& cell) {
  return {{"n", cell.n},
          {"coverage", cell.coverage},
          {"mape", cell.model.mape},
          {"median", cell.model.median},
          {"p90", cell.model.p90},
          {"bias", cell.model.bias},
          {"interval", cell.model.interval},
          {"baseline",
           {{"mape", cell.baseline.mape},
            {"median", cell.baseline.median},
            {"p90", cell.baseline.p90},
            {"bias", cell.baseline.bias}}}};
}

Json group_json(const EvaluationGroup& group) {
  Json json = {{"device", group.device}, {"op", group.op}};
  json.update(cell_json(group.all));
  Json splits = Json::object();
  for (size_t i = 0; i < group.by_seen.size(); ++i) {
    if (group.by_seen[i].n > 0) {
      splits[std::string(seen_name(static_cast<Seen>(i)))] = cell_json(group.by_seen[i]);
    }
  }
  json["splits"] = splits;
  return json;
}

}  // namespace

std::string evaluation_text(const Evaluation& evaluation, bool always_networks) {
  std::vector<std::pair<std::string, TextTable>> devices;
  for (const EvaluationGroup& group : evaluation.groups) {
    if (devices.empty() || devices.back().first != group.device) {
      devices.emplace_back(group.device, errors_table());
    }
    add_group(devices.back().second, group);
  }
  devices.emplace_back("all devices", errors_table());
  add_group(devices.back().second, evaluation.overall);
  add_row(devices.back().second, "all", "all", evaluation.overall.all);
  std::string text;
  for (const auto& [device, table] : devices) {
    text += fmt::format("{}\n\n{}\n", device, table.render(100));
  }
  text +=
      "MAPE, median, p90 of |prediction/measurement - 1|; bias: sum of predictions over sum of "
      "times - 1; cover: answered by a measured shape or a trained class; bound: MAPE of bound x "
      "constant\n";
  if (evaluation.drops.total() > 0) {
    text += fmt::format("Left out, faster than half of their bound: {}\n{}",
                        counted(evaluation.drops.total(), "row"), first_drops(evaluation.drops));
  }
  if (!evaluation.networks.empty() || always_networks) {
    text += '\n';
    text += network_table(evaluation);
  }
  return text;
}

std::string evaluation_json(const Evaluation& evaluation, std::string_view model) {
  Json groups = Json::array();
  for (const EvaluationGroup& group : evaluation.groups) {
    groups.push_back(group_json(group));
  }
  Json networks = Json::array();
  for (const NetworkTotal& total : evaluation.networks) {
    networks.push_back({{"device", total.device},
                        {"network", total.network},
                        {"batch", total.batch},
                        {"ops", total.ops},
                        {"measured_ns", std::llround(total.measured_us * 1000)},
                        {"predicted_ns", std::llround(total.predicted_us * 1000)},
                        {"error", total.error()}});
  }
  const Json json = {{"schema", "dfsim.evaluate/1"},
                     {"model", model},
                     {"groups", groups},
                     {"overall", group_json(evaluation.overall)},
                     {"networks", networks},
                     {"mean_network_error", evaluation.mean_network_error},
                     {"rows_impossible", evaluation.drops.total()}};
  return json.text();
}

std::string evaluated_rows_csv(const Evaluation& evaluation) {
  std::string text = "device,op_type,kind,output_elements,measured_us,predicted_us,split\n";
  for (const EvaluatedRow& row : evaluation.rows) {
    text += fmt::format("{},{},{},{:.0f},{:.3f},{:.3f},{}\n", csv_field(row.device),
                        csv_field(row.op_type), csv_field(row.kind), row.output_elements,
                        row.measured_us, row.predicted_us, seen_name(row.seen));
  }
  return text;
}

}  // namespace dfsim::inline report
