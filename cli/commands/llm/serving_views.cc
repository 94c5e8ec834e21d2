// Text, JSON and CSV of simulated servers, of searches and of comparisons with measurements.
#include "cli/commands/llm/serving_views.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"

namespace dfsim::cli {
namespace {

StatusOr<double> positive_number(const std::string& place, const std::string& text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !(value > 0) ||
      !std::isfinite(value)) {
    return invalid_input(place + ": '" + printable(text) + "', expected a number above 0");
  }
  return value;
}

std::string estimate_text(const Estimate& e) {
  return fmt::format("{:.4g} ({:.4g} to {:.4g})", e.value, e.low, e.high);
}

JsonTree estimate_json(const Estimate& e) {
  return {{"value", e.value}, {"low", e.low}, {"high", e.high}};
}

JsonTree latency_json(const LatencyEstimate& latency) {
  return {{"count", latency.count},
          {"mean", estimate_json(latency.mean_ms)},
          {"p50", estimate_json(latency.p50_ms)},
          {"p90", estimate_json(latency.p90_ms)},
          {"p99", estimate_json(latency.p99_ms)}};
}

JsonTree error_json(const ErrorSummary& e) {
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
            {"inside_interval", e.ttft_inside}}}};
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace

OptionTable llm_load_options(LlmLoadOptions& o) {
  return {{.names = "--isl", .target = &o.isl, .help = "Tokens of a prompt", .show_default = true},
          {.names = "--osl", .target = &o.osl, .help = "Tokens of an output", .show_default = true},
          {.names = "--length-range",
           .target = &o.range,
           .help = "Lengths are uniform between these factors: 0.8,1.2 is plus or minus 20 %",
           .value = "LOW,HIGH",
           .show_default = true},
          {.names = "--sla",
           .target = &o.sla,
           .help = "Limits in ms: ttft=500,tpot=30,e2e=20000",
           .value = "NAME=MS,..."},
          {.names = "--seed",
           .target = &o.seed,
           .help = "Seed of the random numbers",
           .show_default = true}};
}

Status set_lengths(const LlmLoadOptions& o, WorkloadOptions* workload) {
  const std::vector<std::string> factors = split(o.range, ',');
  if (factors.size() != 2) {
    return invalid_input("--length-range: '" + printable(o.range) +
                         "', expected two factors such as 0.8,1.2");
  }
  DFSIM_ASSIGN_OR_RETURN(const double low, positive_number("--length-range", factors[0]));
  DFSIM_ASSIGN_OR_RETURN(const double high, positive_number("--length-range", factors[1]));
  DFSIM_ASSIGN_OR_RETURN(workload->lengths.prompt, make_length_range("--isl", o.isl, low, high));
  DFSIM_ASSIGN_OR_RETURN(workload->lengths.output, make_length_range("--osl", o.osl, low, high));
  return ok_status();
}

StatusOr<ServiceLevel> parse_service_level(const std::string& text) {
  ServiceLevel level;
  if (text.empty()) {
    return level;
  }
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    DFSIM_ASSIGN_OR_RETURN(const double ms, positive_number("--sla " + name, value));
    if (name == "ttft") {
      level.ttft_ms = ms;
    } else if (name == "tpot") {
      level.tpot_ms = ms;
    } else if (name == "e2e") {
      level.e2e_ms = ms;
    } else {
      return invalid_input(unknown_name_message("limit", name, {"ttft", "tpot", "e2e"}));
    }
  }
  return level;
}

std::string serve_text(const ServeResult& r) {
  std::string text = fmt::format(
      "{} requests in {:.2f} s on {} GPU{}: {} prompt and {} output tokens\n", r.requests,
      r.duration_s, r.gpus, r.gpus == 1 ? "" : "s", r.prompt_tokens, r.output_tokens);
  if (r.overloaded) {
    text += fmt::format(
        "OVERLOADED: {} requests waited when the last one came; latencies grow with the length of "
        "the run\n",
        r.waiting_at_last_arrival);
  }
  if (r.rejected > 0) {
    text +=
        fmt::format("{} requests were refused: longer than the context or the cache\n", r.rejected);
  }
  TextTable table({{"ms"},
                   {"mean (80 % interval)", Align::kRight},
                   {"p50", Align::kRight},
                   {"p90", Align::kRight},
                   {"p99", Align::kRight}});
  const auto add = [&](const char* name, const LatencyEstimate& latency) {
    table.add_row(
        {name, estimate_text(latency.mean_ms), fmt::format("{:.4g}", latency.p50_ms.value),
         fmt::format("{:.4g}", latency.p90_ms.value), fmt::format("{:.4g}", latency.p99_ms.value)});
  };
  add("TTFT", r.ttft);
  add("TPOT", r.tpot);
  add("ITL", r.itl);
  add("end to end", r.e2e);
  text += "\n" + table.render(100, 0) + "\n";
  text += fmt::format("output tokens/s      {}\n", estimate_text(r.output_tokens_per_s));
  text += fmt::format("  per GPU            {}\n", estimate_text(r.output_tokens_per_s_per_gpu));
  text += fmt::format("requests/s           {}\n", estimate_text(r.requests_per_s));
  if (r.goodput_per_s) {
    text += fmt::format("goodput, requests/s  {}, {} of all\n", estimate_text(*r.goodput_per_s),
                        percent(*r.goodput_share));
  }
  if (r.dollars_per_million_tokens) {
    text += fmt::format("dollars per million  {}\n", estimate_text(*r.dollars_per_million_tokens));
  }
  text += fmt::format("\n{} steps, {:.1f} sequences decode in one on average, engine busy {}\n",
                      r.steps, r.mean_decodes, percent(r.busy_share));
  text += fmt::format("cache of {} tokens, at most {} in use, {} preemptions\n", r.cache_tokens,
                      percent(r.peak_cache_share), r.preemptions);
  text += "time by kernel class:";
  for (int i = 0; i < kStepPartCount; ++i) {
    if (r.part_share[static_cast<size_t>(i)] >= 0.0005) {
      text += fmt::format("  {} {}", step_part_name(static_cast<StepPart>(i)),
                          percent(r.part_share[static_cast<size_t>(i)]));
    }
  }
  return text + "\n";
}

std::string serve_json(const ServeResult& r) {
  JsonTree json = {{"schema", "dfsim.llm-serve/1"},
                   {"requests", r.requests},
                   {"rejected", r.rejected},
                   {"overloaded", r.overloaded},
                   {"prompt_tokens", r.prompt_tokens},
                   {"output_tokens", r.output_tokens},
                   {"duration_s", r.duration_s},
                   {"gpus", r.gpus},
                   {"ttft_ms", latency_json(r.ttft)},
                   {"tpot_ms", latency_json(r.tpot)},
                   {"itl_ms", latency_json(r.itl)},
                   {"e2e_ms", latency_json(r.e2e)},
                   {"queue_ms", latency_json(r.queue)},
                   {"output_tokens_per_s", estimate_json(r.output_tokens_per_s)},
                   {"output_tokens_per_s_per_gpu", estimate_json(r.output_tokens_per_s_per_gpu)},
                   {"requests_per_s", estimate_json(r.requests_per_s)}};
  if (r.goodput_per_s) {
    json["goodput_per_s"] = estimate_json(*r.goodput_per_s);
    json["goodput_share"] = *r.goodput_share;
  }
  if (r.dollars_per_million_tokens) {
    json["dollars_per_million_tokens"] = estimate_json(*r.dollars_per_million_tokens);
  }
  json["steps"] = r.steps;
  json["busy_share"] = r.busy_share;
  json["mean_decodes"] = r.mean_decodes;
  json["cache_tokens"] = r.cache_tokens;
  json["peak_cache_share"] = r.peak_cache_share;
  json["prefix_hit_share"] = r.prefix_hit_share;
  json["preemptions"] = r.preemptions;
  JsonTree parts = JsonTree::object();
  for (int i = 0; i < kStepPartCount; ++i) {
    parts[step_part_name(static_cast<StepPart>(i))] = r.part_share[static_cast<size_t>(i)];
  }
  json["part_share"] = std::move(parts);
  JsonTree series = JsonTree::array();
  for (const SeriesPoint& point : r.series) {
    series.push_back({point.time_s, point.values[0], point.values[1], point.values[2],
                      point.values[3], point.values[4]});
  }
  json["series_columns"] = {
      "time_s", "running", "waiting", "cache_share", "output_tokens_per_s", "prompt_tokens_per_s"};
  json["series"] = std::move(series);
  return json.text();
}

std::string serve_series_csv(const ServeResult& r) {
  std::string text = "time_s,running,waiting,cache_share,output_tokens_per_s,prompt_tokens_per_s\n";
  for (const SeriesPoint& point : r.series) {
    text += fmt::format("{:.6g}", point.time_s);
    for (const double value : point.values) {
      text += fmt::format(",{:.6g}", value);
    }
    text += "\n";
  }
  return text;
}

std::string search_text(const DeploymentSearch& search, size_t top) {
  std::string text = fmt::format("{} deployments, {} loads in all; {} could not be served\n\n",
                                 search.deployments, search.candidates.size(), search.failed);
  if (search.front.empty()) {
    return text + "no deployment keeps the limits\n";
  }
  TextTable table({{"deployment"},
                   {"weights"},
                   {"users", Align::kRight},
                   {"TTFT ms", Align::kRight},
                   {"TPOT ms", Align::kRight},
                   {"tokens/s/user", Align::kRight},
                   {"tokens/s/GPU", Align::kRight}});
  for (size_t i = search.front.size(); i > 0 && search.front.size() - i < top; --i) {
    const DeploymentCandidate& c = search.candidates[search.front[i - 1]];
    table.add_row({c.layout(), llm_precision_name(c.precisions.mlp), std::to_string(c.users),
                   fmt::format("{:.4g}", c.ttft_ms.value), fmt::format("{:.4g}", c.tpot_ms.value),
                   fmt::format("{:.4g}", c.tokens_per_s_per_user),
                   fmt::format("{:.4g}", c.tokens_per_s_per_gpu.value)});
  }
  return text + "Pareto front, most tokens per GPU first:\n" + table.render(100, 0);
}

std::string search_json(const DeploymentSearch& search) {
  JsonTree candidates = JsonTree::array();
  for (const DeploymentCandidate& c : search.candidates) {
    JsonTree one = {{"layout", c.layout()},
                    {"precision", llm_precision_name(c.precisions.mlp)},
                    {"disaggregated", c.disaggregated},
                    {"gpus", c.gpus},
                    {"users", c.users}};
    if (!c.failure.empty()) {
      one["failure"] = c.failure;
    } else {
      one["ttft_ms"] = estimate_json(c.ttft_ms);
      one["tpot_ms"] = estimate_json(c.tpot_ms);
      one["tokens_per_s"] = estimate_json(c.tokens_per_s);
      one["tokens_per_s_per_gpu"] = estimate_json(c.tokens_per_s_per_gpu);
      one["tokens_per_s_per_user"] = c.tokens_per_s_per_user;
      one["within_limits"] = c.within_limits;
      one["on_front"] = c.on_front;
    }
    candidates.push_back(std::move(one));
  }
  JsonTree json = {{"schema", "dfsim.llm-search/1"},
                   {"deployments", search.deployments},
                   {"failed", search.failed},
                   {"front", search.front},
                   {"candidates", std::move(candidates)}};
  if (search.best) {
    json["best"] = *search.best;
  }
  return json.text();
}

std::string search_csv(const DeploymentSearch& search) {
  std::string text =
      "layout,precision,gpus,users,ttft_ms,tpot_ms,tokens_per_s,tokens_per_s_per_gpu,"
      "within_limits,on_front,failure\n";
  for (const DeploymentCandidate& c : search.candidates) {
    text +=
        fmt::format("{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:d},{:d},{}\n", csv_field(c.layout()),
                    llm_precision_name(c.precisions.mlp), c.gpus, c.users, c.ttft_ms.value,
                    c.tpot_ms.value, c.tokens_per_s.value, c.tokens_per_s_per_gpu.value,
                    c.within_limits, c.on_front, csv_field(c.failure));
  }
  return text;
}

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
  for (const ErrorSummary& e : v.groups) {
    tpot.add_row({e.group, std::to_string(e.rows), percent(e.tpot_mean), percent(e.tpot_median),
                  percent(e.tpot_bias), percent(e.tpot_inside)});
    ttft.add_row({e.group, std::to_string(e.rows), percent(e.ttft_mean), percent(e.ttft_median),
                  percent(e.ttft_bias), percent(e.ttft_inside)});
  }
  std::string text = "Errors of simulated servers against measured ones (bias is signed)\n\n" +
                     tpot.render(text_width(), 0) + "\n" + ttft.render(text_width(), 0) + "\n";
  for (const Contradiction& c : v.contradictions) {
    text += fmt::format("contradiction: lines {} and {}: {}\n", v.rows[c.first].run.line,
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
      one["ttft_ms"] = estimate_json(row.ttft_ms);
      one["tpot_ms"] = estimate_json(row.tpot_ms);
      one["measured_ttft_ms"] = row.run.ttft_ms;
      one["measured_tpot_ms"] = row.run.tpot_ms;
    }
    rows.push_back(std::move(one));
  }
  JsonTree groups = JsonTree::array();
  for (const ErrorSummary& e : v.groups) {
    groups.push_back(error_json(e));
  }
  return JsonTree{
      {"schema", "dfsim.llm-validate/1"}, {"groups", std::move(groups)}, {"rows", std::move(rows)}}
      .text();
}

}  // namespace dfsim::cli
