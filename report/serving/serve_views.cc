// Text, JSON and CSV of simulated servers.
#include "report/serving/serving_views.h"

#include <fmt/format.h>

#include "base/text_table.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

JsonTree latency_json(const LatencyEstimate& latency) {
  return {{"count", latency.count},
          {"mean", estimate_json(latency.mean_ms)},
          {"p50", estimate_json(latency.p50_ms)},
          {"p90", estimate_json(latency.p90_ms)},
          {"p99", estimate_json(latency.p99_ms)}};
}

// [ms, share of all that took at most that long], for each bucket.
JsonTree distribution_json(const std::vector<TimeHistogram::Bucket>& buckets) {
  int64_t all = 0;
  for (const TimeHistogram::Bucket& bucket : buckets) {
    all += bucket.count;
  }
  JsonTree points = JsonTree::array();
  int64_t before = 0;
  for (const TimeHistogram::Bucket& bucket : buckets) {
    before += bucket.count;
    points.push_back({static_cast<double>(bucket.high_ns) * 1e-6,
                      static_cast<double>(before) / static_cast<double>(all)});
  }
  return points;
}

JsonTree step_timeline_json(const StepTimeline& step) {
  JsonTree spans = JsonTree::array();
  for (const StepSpan& span : step.spans) {
    spans.push_back({{"name", span.name},
                     {"part", step_part_name(span.part)},
                     {"layer", span.layer},
                     {"start_us", span.start_us},
                     {"time_us", span.time_us}});
  }
  return {{"sequences", step.sequences},
          {"context_tokens", step.context_tokens},
          {"time_us", step.time_us},
          {"spans", std::move(spans)}};
}

}  // namespace

std::string estimate_text(const Estimate& e) {
  return fmt::format("{:.4g} ({:.4g} to {:.4g})", e.value, e.low, e.high);
}

JsonTree estimate_json(const Estimate& e) {
  return {{"value", e.value}, {"low", e.low}, {"high", e.high}};
}

std::string serve_text(const ServeView& view) {
  const ServeResult& r = view.result;
  std::string text = fmt::format(
      "{} in {:.2f} s on {}: {} prompt and {}\n", counted(r.requests, "request"), r.duration_s,
      counted(r.gpus, "GPU"), r.prompt_tokens, counted(r.output_tokens, "output token"));
  if (r.overloaded) {
    text += fmt::format(
        "OVERLOADED: {} waited when the last one came; latencies grow with the length of "
        "the run\n",
        counted(r.waiting_at_last_arrival, "request"));
  }
  if (r.rejected > 0) {
    text += counted(r.rejected, "request was refused", "requests were refused") +
            ": longer than the context or the cache\n";
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
                        percent_text(*r.goodput_share));
  }
  if (r.dollars_per_million_tokens) {
    text += fmt::format("dollars per million  {}\n", estimate_text(*r.dollars_per_million_tokens));
  }
  text += fmt::format("\n{}, {:.1f} sequences decode in one on average, engine busy {}\n",
                      counted(r.steps, "step"), r.mean_decodes, percent_text(r.busy_share));
  text += fmt::format("cache of {}, at most {} in use, {}\n", counted(r.cache_tokens, "token"),
                      percent_text(r.peak_cache_share), counted(r.preemptions, "preemption"));
  if (r.transfers > 0) {
    text += fmt::format("{} prompts' caches sent from prefill to decode replicas\n", r.transfers);
  }
  text += "time by kernel class:";
  for (int i = 0; i < kStepPartCount; ++i) {
    if (r.part_share[static_cast<size_t>(i)] >= 0.0005) {
      text += fmt::format("  {} {}", step_part_name(static_cast<StepPart>(i)),
                          percent_text(r.part_share[static_cast<size_t>(i)]));
    }
  }
  return text + "\n";
}

std::string serve_json(const ServeView& view) {
  const ServeResult& r = view.result;
  JsonTree json = {{"schema", "dfsim.llm-serve/1"},
                   {"model", view.model},
                   {"system", view.system},
                   {"framework", view.framework},
                   {"layout", view.layout},
                   {"workload", view.workload},
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
  json["transfers"] = r.transfers;
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
  json["ttft_distribution"] = distribution_json(r.ttft_buckets);
  json["itl_distribution"] = distribution_json(r.itl_buckets);
  json["e2e_distribution"] = distribution_json(r.e2e_buckets);
  if (view.step) {
    json["step"] = step_timeline_json(*view.step);
  }
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

}  // namespace dfsim::inline report
