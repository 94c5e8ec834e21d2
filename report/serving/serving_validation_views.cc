// Text and JSON of comparisons with measured deployments, and of fits to them.
#include <fmt/format.h>

#include "base/text_table.h"
#include "report/serving/serving_views.h"
#include "report/text_parts.h"
#include "serving/deployment_checks.h"

namespace dfsim::inline report {
namespace {

JsonTree error_summary_json(const ErrorSummary& e) {
  return {{"group", e.group},
          {"rows", e.rows},
          {"tpot",
           {{"mean", e.tpot_mean},
            {"median", e.tpot_median},
            {"bias", e.tpot_bias},
            {"inside_interval", e.tpot_inside}}},
          {"ttft",
           {{"mean", e.ttft_mean},
            {"median", e.ttft_median},
            {"bias", e.ttft_bias},
            {"inside_interval", e.ttft_inside}}},
          {"e2e", {{"mean", e.e2e_mean}, {"median", e.e2e_median}, {"bias", e.e2e_bias}}}};
}

}  // namespace

std::string serving_validation_text(const ServingValidation& v) {
  // One table for each metric, so that the names of groups of rows fit 80 columns.
  const auto metric_table = [](const char* metric) {
    return TextTable({{"rows of"},
                      {"rows", Align::kRight},
                      {std::string(metric) + " mean", Align::kRight},
                      {"median", Align::kRight},
                      {"bias", Align::kRight},
                      {"inside", Align::kRight}});
  };
  TextTable tpot = metric_table("TPOT");
  TextTable ttft = metric_table("TTFT");
  TextTable e2e({{"rows of"},
                 {"rows", Align::kRight},
                 {"TTFT + (OSL - 1) TPOT mean", Align::kRight},
                 {"median", Align::kRight},
                 {"bias", Align::kRight}});
  for (const ErrorSummary& e : v.groups) {
    e2e.add_row({e.group, std::to_string(e.rows), percent_text(e.e2e_mean),
                 percent_text(e.e2e_median), percent_text(e.e2e_bias)});
    tpot.add_row({e.group, std::to_string(e.rows), percent_text(e.tpot_mean),
                  percent_text(e.tpot_median), percent_text(e.tpot_bias),
                  percent_text(e.tpot_inside)});
    ttft.add_row({e.group, std::to_string(e.rows), percent_text(e.ttft_mean),
                  percent_text(e.ttft_median), percent_text(e.ttft_bias),
                  percent_text(e.ttft_inside)});
  }
  std::string text = "Errors of simulated servers against measured ones (bias is signed)\n\n" +
                     tpot.render(text_width(), 0) + "\n" + ttft.render(text_width(), 0) + "\n" +
                     e2e.render(text_width(), 0) + "\n";
  for (const Contradiction& c : v.contradictions) {
    text += c.first == c.second
                ? fmt::format("contradiction: line {}: {}\n", v.rows[c.first].run.line, c.what)
                : fmt::format("contradiction: lines {} and {}: {}\n", v.rows[c.first].run.line,
                              v.rows[c.second].run.line, c.what);
  }
  for (const RunPrediction& row : v.rows) {
    if (!row.failure.empty()) {
      text += fmt::format("line {}: {}\n", row.run.line, row.failure);
    }
  }
  return text;
}

std::string serving_validation_json(const ServingValidation& v) {
  JsonTree rows = JsonTree::array();
  for (const RunPrediction& row : v.rows) {
    JsonTree one = {{"line", row.run.line},
                    {"id", row.run.id},
                    {"model", row.run.model},
                    {"framework", row.run.framework},
                    {"tp", row.run.tp},
                    {"users", row.run.users},
                    {"client", row.client},
                    {"fitted_on", row.fit_half},
                    {"contradicted", row.contradicted}};
    if (!row.failure.empty()) {
      one["failure"] = row.failure;
    } else {
      one["e2e_error"] = row.e2e_error();
      one["ttft_ms"] = estimate_json(row.ttft_ms);
      one["tpot_ms"] = estimate_json(row.tpot_ms);
      one["measured_ttft_ms"] = row.run.ttft_ms;
      one["measured_tpot_ms"] = row.run.tpot_ms;
    }
    rows.push_back(std::move(one));
  }
  JsonTree groups = JsonTree::array();
  for (const ErrorSummary& e : v.groups) {
    groups.push_back(error_summary_json(e));
  }
  JsonTree contradictions = JsonTree::array();
  for (const Contradiction& c : v.contradictions) {
    contradictions.push_back({{"first_line", v.rows[c.first].run.line},
                              {"second_line", v.rows[c.second].run.line},
                              {"what", c.what}});
  }
  return JsonTree{{"schema", "dfsim.llm-validate/1"},
                  {"groups", std::move(groups)},
                  {"rows", std::move(rows)},
                  {"contradictions", std::move(contradictions)}}
      .text();
}

std::string serving_fit_text(const ServingFitReport& report) {
  std::string text;
  for (const ServingFit& fit : report.fits) {
    text += fmt::format("{}: {}, loss {:.4f} before and {:.4f} after {}\n",
                        framework_name(fit.profile.framework), counted(fit.rows, "row"),
                        fit.loss_before, fit.loss_after, counted(fit.evaluations, "evaluation"));
    TextTable table({{"parameter"}, {"before", Align::kRight}, {"fitted", Align::kRight}});
    for (const FitParameter& parameter : fit_parameters()) {
      table.add_row({parameter.name, fmt::format("{:g}", parameter.of(fit.before)),
                     fmt::format("{:g}", parameter.of(fit.profile))});
    }
    table.add_row({"interval of TTFT", fmt::format("{:.3f}", fit.before.errors.ttft),
                   fmt::format("{:.3f}", fit.profile.errors.ttft)});
    table.add_row({"interval of TPOT", fmt::format("{:.3f}", fit.before.errors.tpot),
                   fmt::format("{:.3f}", fit.profile.errors.tpot)});
    table.add_row({"TTFT, other models", fmt::format("{:.3f}", fit.before.foreign_errors.ttft),
                   fmt::format("{:.3f}", fit.profile.foreign_errors.ttft)});
    table.add_row({"TPOT, other models", fmt::format("{:.3f}", fit.before.foreign_errors.tpot),
                   fmt::format("{:.3f}", fit.profile.foreign_errors.tpot)});
    text += table.render(text_width(), 2) + "\n";
  }
  TextTable errors({{"fit half"},
                    {"rows", Align::kRight},
                    {"TPOT mean", Align::kRight},
                    {"median", Align::kRight},
                    {"TTFT mean", Align::kRight},
                    {"median", Align::kRight}});
  for (const ErrorSummary& e : report.errors) {
    errors.add_row({e.group, std::to_string(e.rows), percent_text(e.tpot_mean),
                    percent_text(e.tpot_median), percent_text(e.ttft_mean),
                    percent_text(e.ttft_median)});
  }
  return text + errors.render(text_width(), 0);
}

std::string serving_fit_json(const ServingFitReport& report) {
  JsonTree fits = JsonTree::array();
  for (const ServingFit& fit : report.fits) {
    JsonTree parameters = JsonTree::object();
    for (const FitParameter& parameter : fit_parameters()) {
      parameters[parameter.name] = parameter.of(fit.profile);
    }
    fits.push_back({{"framework", framework_name(fit.profile.framework)},
                    {"rows", fit.rows},
                    {"loss_before", fit.loss_before},
                    {"loss_after", fit.loss_after},
                    {"evaluations", fit.evaluations},
                    {"parameters", std::move(parameters)},
                    {"ttft_interval", fit.profile.errors.ttft},
                    {"tpot_interval", fit.profile.errors.tpot},
                    {"ttft_interval_other_models", fit.profile.foreign_errors.ttft},
                    {"tpot_interval_other_models", fit.profile.foreign_errors.tpot}});
  }
  JsonTree errors = JsonTree::array();
  for (const ErrorSummary& e : report.errors) {
    errors.push_back(error_summary_json(e));
  }
  return JsonTree{
      {"schema", "dfsim.llm-fit/1"}, {"fits", std::move(fits)}, {"errors", std::move(errors)}}
      .text();
}

}  // namespace dfsim::inline report
