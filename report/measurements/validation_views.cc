// Text and JSON of a validation: runs by device with the shares of each error, and a summary.
#include "report/measurements/validation_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "report/text_parts.h"
#include "report/unknown_work_json.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string error_percent(double fraction) { return fmt::format("{:+.1f}", fraction * 100); }

Json types_json(const ValidatedRun& run) {
  std::set<std::string> names;
  for (const auto& [name, entry] : run.measured_types) {
    names.insert(name);
  }
  for (const auto& [name, entry] : run.predicted_types) {
    names.insert(name);
  }
  Json types = Json::array();
  for (const std::string& name : names) {
    const auto measured = run.measured_types.find(name);
    const auto predicted = run.predicted_types.find(name);
    const bool was_measured = measured != run.measured_types.end();
    const bool was_predicted = predicted != run.predicted_types.end();
    types.push_back({{"op_type", name},
                     {"measured_ops", was_measured ? measured->second.count : 0},
                     {"predicted_ops", was_predicted ? predicted->second.count : 0},
                     {"measured_ns", was_measured ? measured->second.time_ns : 0},
                     {"predicted_ns", was_predicted ? predicted->second.time_ns : 0}});
  }
  return types;
}

Json run_json(const ValidatedRun& run) {
  const bool complete = run.complete();
  const auto if_complete = [&](auto figure) { return complete ? Json(figure) : Json(nullptr); };
  Json json = {{"complete", complete},
               {"unknown_work", unknown_work_json(run.unknown)},
               {"network", run.network},
               {"batch", run.batch},
               {"dims", run.dims},
               {"device", run.device},
               {"measured_ns", run.measured_ns},
               {"predicted_ns", if_complete(run.predicted_ns)},
               {"predicted_at_least_ns", complete ? Json(nullptr) : Json(run.predicted_ns)},
               {"error", if_complete(run.error())},
               {"low_ns", run.interval.low_ns},
               {"high_ns", if_complete(run.interval.high_ns)},
               {"inside", if_complete(run.inside())},
               {"predicted_ops", run.predicted_ops},
               {"predicted_ops_ns", run.predicted_ops_ns},
               {"predicted_bytes", run.predicted_bytes}};
  if (run.measured_ops >= 0) {
    json["measured_ops"] = run.measured_ops;
  }
  if (const ErrorShares shares = error_shares(run); shares.known && complete) {
    json["measured_ops_ns"] = run.measured_ops_ns;
    json["op_model_error"] = shares.op_model;
    json["host_error"] = shares.host;
    if (shares.types_known) {
      json["fusion_error"] = shares.fusion;
      json["op_types"] = types_json(run);
    }
  }
  if (run.measured_bytes > 0) {
    json["measured_bytes"] = run.measured_bytes;
    json["memory_error"] = run.memory_error();
  }
  return json;
}

std::string summary_text(const ValidationSummary& summary) {
  std::string text = "no run was predicted as a whole\n";
  if (summary.runs > 0) {
    text = fmt::format(
        "{} of {}: mean error {:.1f} %, median {:.1f} %, worst {:.1f} % ({}); bias "
        "{:+.1f} %\n{:.0f} % of the runs are inside their 80 % interval\n",
        counted(summary.runs, "run"), counted(summary.networks, "network"), summary.mean * 100,
        summary.median * 100, summary.worst * 100, summary.worst_run, summary.bias * 100,
        summary.inside * 100);
  }
  if (summary.incomplete > 0) {
    text += fmt::format("not counted: {} of networks of which a part is not known\n",
                        counted(summary.incomplete, "run"));
  }
  if (summary.memory_runs > 0) {
    text += fmt::format("peak memory of activations: mean error {:.1f} % over {}\n",
                        summary.memory_mean * 100, counted(summary.memory_runs, "run"));
  }
  return text;
}

// The runs of one device, which is named above its table.
std::string device_table(const std::vector<ValidatedRun>& runs, const std::string& device) {
  TextTable table({{"network"},
                   {"batch", Align::kRight},
                   {"measured", Align::kRight},
                   {"predicted", Align::kRight},
                   {"error %", Align::kRight},
                   {"ops", Align::kRight},
                   {"fusion", Align::kRight},
                   {"host", Align::kRight},
                   {"in 80 %"},
                   {"operators", Align::kRight}});
  for (const ValidatedRun& run : runs) {
    if (run.device != device) {
      continue;
    }
    const bool complete = run.complete();
    const ErrorShares shares = complete ? error_shares(run) : ErrorShares();
    table.add_row({run.dims.empty() ? run.network : run.network + " " + run.dims,
                   std::to_string(run.batch), format_time(run.measured_ns),
                   (complete ? "" : "≥ ") + format_time(run.predicted_ns),
                   complete ? error_percent(run.error()) : "-",
                   shares.known ? error_percent(shares.op_model) : "",
                   shares.types_known ? error_percent(shares.fusion) : "",
                   shares.known ? error_percent(shares.host) : "",
                   !complete      ? "-"
                   : run.inside() ? "yes"
                                  : "no",
                   run.measured_ops >= 0 && run.measured_ops != run.predicted_ops
                       ? fmt::format("{} for {}", run.predicted_ops, run.measured_ops)
                       : std::to_string(run.predicted_ops)});
  }
  table.drop_empty_columns();
  return fmt::format("{}\n{}\n", device, table.render());
}

std::string fits_text(const std::vector<IntervalFit>& fits) {
  std::string text;
  for (const IntervalFit& fit : fits) {
    text += fmt::format(
        "intervals on {}: now {:.2f} times as wide as the operators' make them, from {} of {}; "
        "with those of the other networks alone {:.0f} % of the runs would be inside\n",
        fit.device, fit.scale, counted(fit.runs, "run"), counted(fit.networks, "network"),
        fit.inside * 100);
  }
  return text;
}

}  // namespace

std::string validation_text(const std::vector<ValidatedRun>& runs, const std::string& cost_model,
                            const std::vector<IntervalFit>& fits) {
  std::string incomplete;
  for (const ValidatedRun& run : runs) {
    if (!run.complete()) {
      incomplete += fmt::format("INCOMPLETE: {}: {}\n", printable(run.network),
                                unknown_work_text(run.unknown));
    }
  }
  std::string tables;
  std::set<std::string> shown;
  for (const ValidatedRun& run : runs) {
    if (shown.insert(run.device).second) {
      tables += device_table(runs, run.device);
    }
  }
  return incomplete + fmt::format(
                          "{}error = predicted / measured - 1; ops, fusion and host add up to it: "
                          "what the operators' "
                          "model, other operators than predicted, and time between operators make "
                          "of it\noperator "
                          "times: {}\n\n{}{}",
                          tables, cost_model, summary_text(summarize(runs)), fits_text(fits));
}

std::string validation_json(const std::vector<ValidatedRun>& runs, const std::string& cost_model,
                            const std::vector<IntervalFit>& fits) {
  Json list = Json::array();
  for (const ValidatedRun& run : runs) {
    list.push_back(run_json(run));
  }
  const ValidationSummary summary = summarize(runs);
  Json total = {{"incomplete", summary.incomplete}, {"runs", summary.runs},
                {"networks", summary.networks},     {"mean_error", summary.mean},
                {"median_error", summary.median},   {"worst_error", summary.worst},
                {"worst_run", summary.worst_run},   {"bias", summary.bias},
                {"inside_interval", summary.inside}};
  if (summary.memory_runs > 0) {
    total["memory_runs"] = summary.memory_runs;
    total["mean_memory_error"] = summary.memory_mean;
  }
  Json json = {{"schema", "dfsim.validate/1"},
               {"cost_model", cost_model},
               {"summary", total},
               {"runs", list}};
  for (const IntervalFit& fit : fits) {
    json["interval_fits"].push_back({{"device", fit.device},
                                     {"runs", fit.runs},
                                     {"networks", fit.networks},
                                     {"scale", fit.scale},
                                     {"inside_left_out", fit.inside}});
  }
  return json.text();
}

}  // namespace dfsim::inline report
