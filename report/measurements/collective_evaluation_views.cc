// How far collectives are off, as text and JSON.
#include <fmt/format.h>

#include "base/counted.h"
#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "report/measurements/collective_evaluation_views.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string rows_percent(size_t rows, double error) {
  return rows == 0 ? "-" : fmt::format("{:.2f}", 100 * error);
}

double collective_us(double time_ns) { return time_ns / static_cast<double>(kNsPerUs); }

// As a hardware file has it.
std::string fits_yaml(const std::vector<CollectiveTiming>& fits) {
  std::string text = "collectives:\n";
  for (const CollectiveTiming& fit : fits) {
    text += fmt::format("  - over: \"{}\"\n    operation: {}\n    protocols:\n", fit.over,
                        fit.operation);
    for (const CollectiveProtocol& protocol : fit.protocols) {
      text +=
          fmt::format("      - {{start_us: {:.3f}, step_us: {:.3f}, bandwidth_gb_per_s: {:.3f}}}\n",
                      collective_us(protocol.start_ns), collective_us(protocol.step_ns),
                      protocol.bytes_per_s / 1e9);
    }
  }
  return text;
}

Json fits_json(const std::vector<CollectiveTiming>& fits) {
  Json json = Json::array();
  for (const CollectiveTiming& fit : fits) {
    Json protocols = Json::array();
    for (const CollectiveProtocol& protocol : fit.protocols) {
      protocols.push_back({{"start_ns", protocol.start_ns},
                           {"step_ns", protocol.step_ns},
                           {"bytes_per_s", protocol.bytes_per_s}});
    }
    json.push_back(
        {{"over", fit.over}, {"collective", fit.operation}, {"protocols", std::move(protocols)}});
  }
  return json;
}

}  // namespace

std::string collective_evaluation_text(const CollectiveEvaluation& evaluation) {
  TextTable table({{"collective"},
                   {"devices", Align::kRight},
                   {"by"},
                   {"n up to 64 KiB", Align::kRight},
                   {"MAPE %", Align::kRight},
                   {"n above", Align::kRight},
                   {"MAPE %", Align::kRight}});
  for (const CollectiveError& group : evaluation.groups) {
    const CollectiveMape& mape = group.mape;
    table.add_row({group.operation, group.devices == 0 ? "all" : std::to_string(group.devices),
                   group.priced, std::to_string(mape.small_rows),
                   rows_percent(mape.small_rows, mape.small), std::to_string(mape.large_rows),
                   rows_percent(mape.large_rows, mape.large)});
  }
  std::string text = fmt::format("{} against {}\n{}", printable(evaluation.hardware),
                                 printable(evaluation.file), table.render(100));
  if (evaluation.rows_across_nodes > 0) {
    text +=
        fmt::format("left out: {} across nodes\n", counted(evaluation.rows_across_nodes, "row"));
  }
  if (evaluation.held_out) {
    const CollectiveMape& mape = *evaluation.held_out;
    text += fmt::format("each half of the rows by a fit to the other half: {} and {} %\n\n{}",
                        rows_percent(mape.small_rows, mape.small),
                        rows_percent(mape.large_rows, mape.large), fits_yaml(evaluation.fits));
  }
  return text;
}

std::string collective_evaluation_json(const CollectiveEvaluation& evaluation) {
  Json json;
  json["schema"] = "dfsim.evaluate-collectives/1";
  json["hardware"] = evaluation.hardware;
  json["file"] = evaluation.file;
  auto& groups = json["groups"] = Json::array();
  for (const CollectiveError& group : evaluation.groups) {
    groups.push_back({{"collective", group.operation},
                      {"devices", group.devices},
                      {"by", group.priced},
                      {"rows_to_64_kib", group.mape.small_rows},
                      {"mape_to_64_kib", group.mape.small},
                      {"rows_above_64_kib", group.mape.large_rows},
                      {"mape_above_64_kib", group.mape.large}});
  }
  json["rows_across_nodes"] = evaluation.rows_across_nodes;
  if (evaluation.held_out) {
    json["fits"] = fits_json(evaluation.fits);
    json["held_out"] = {{"mape_to_64_kib", evaluation.held_out->small},
                        {"mape_above_64_kib", evaluation.held_out->large}};
  }
  return json.text();
}

}  // namespace dfsim::inline report
