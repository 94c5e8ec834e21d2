// dfsim llm search: which widths, precision and load serve best within limits.
#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/llm/llm_commands.h"
#include "cli/commands/llm/load_options.h"
#include "cli/progress.h"
#include "cli/terminal_text.h"
#include "report/serving/serving_views.h"
#include "report/svg/front_svg.h"

namespace dfsim::cli {
namespace {

constexpr size_t kListedFront = 20;

struct LlmSearchOptions {
  LlmModelOptions model;
  LlmWidthOptions widths;  // system and framework
  LlmLoadOptions load;
  int32_t gpus = 8;
  std::string precisions;
  std::string batch_limits;
  bool aggregated_only = false;
  double price = -1;
  std::string svg;
  std::string output = "-";
  bool json = false;
  bool csv = false;
};

StatusOr<DeploymentSearch> search_with_progress(const DeploymentSearchOptions& options,
                                                bool quiet) {
  ProgressLine line(quiet);
  DFSIM_RETURN_IF_ERROR(line.stage("simulating deployments"));
  return search_deployments(options, [&line](int64_t done, int64_t total) {
    line.advance(static_cast<double>(done), static_cast<double>(total), "deployments");
    return true;
  });
}

Status run_llm_search(const LlmSearchOptions& o, bool quiet) {
  DeploymentSearchOptions search;
  DFSIM_ASSIGN_OR_RETURN(search.base, llm_deployment(o.model, o.widths));
  search.gpus = o.gpus;
  if (!o.precisions.empty()) {
    for (const std::string& name : split(o.precisions, ',')) {
      DFSIM_ASSIGN_OR_RETURN(const LlmPrecision precision, llm_precision_from_name(name));
      search.precisions.push_back(precision);
    }
  }
  if (!o.batch_limits.empty()) {
    for (const std::string& text : split(o.batch_limits, ',')) {
      int64_t limit = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), limit);
      if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || limit < 1) {
        return invalid_input("--batch-limits: '" + printable(text) +
                             "', expected whole numbers above 0 such as 64,256");
      }
      search.batch_limits.push_back(limit);
    }
  }
  WorkloadOptions workload;
  DFSIM_RETURN_IF_ERROR(set_lengths(o.load, &workload));
  search.prompt = workload.lengths.prompt;
  search.output = workload.lengths.output;
  search.seed = o.load.seed;
  DFSIM_ASSIGN_OR_RETURN(search.level, parse_service_level(o.load.sla));
  search.disaggregated = !o.aggregated_only;
  if (o.price >= 0) {
    search.dollars_per_gpu_hour = o.price;
  }
  DFSIM_ASSIGN_OR_RETURN(const DeploymentSearch found, search_with_progress(search, quiet));
  if (!o.svg.empty()) {
    const std::string title =
        fmt::format("{} on up to {} GPUs {}, {}: {} deployments", search.base.model.name, o.gpus,
                    o.widths.system, o.widths.framework, found.deployments);
    DFSIM_RETURN_IF_ERROR(write_file(o.svg, front_svg(found, title)));
  }
  DFSIM_RETURN_IF_ERROR(write_result(o.output, o.json ? search_json(found)
                                               : o.csv
                                                   ? search_csv(found)
                                                   : fit_lines(search_text(found, kListedFront))));
  return found.best ? ok_status() : failed(found.why_none());
}

OptionTable llm_search_options(LlmSearchOptions& o) {
  return {
      {.names = "--gpus",
       .target = &o.gpus,
       .help = "Number of GPUs to use",
       .show_default = true,
       .range = {1, 64}},
      {.names = "--precisions",
       .target = &o.precisions,
       .help = "Weights to try: bf16,fp8; default: that of --precision",
       .value = "NAME,..."},
      {.names = "--aggregated-only",
       .target = &o.aggregated_only,
       .help = "Leave out layouts that separate prefill and decode"},
      {.names = "--batch-limits",
       .target = &o.batch_limits,
       .help = "Limits on sequences at once to try: 64,256; default: the framework's",
       .value = "N,..."},
      {.names = "--price",
       .target = &o.price,
       .help = "Dollars per GPU and hour",
       .range = {0, 1e6}},
      {.names = "--svg",
       .target = &o.svg,
       .help = "Also draw the Pareto front to this file",
       .value = "OUT.svg"},
      {.names = "--json", .target = &o.json, .help = "JSON instead of text"},
      {.names = "--csv", .target = &o.csv, .help = "All candidates as CSV", .excludes = "--json"},
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Write to this file; - is stdout",
       .show_default = true},
  };
}

}  // namespace

CommandSpec llm_search_command() {
  const auto options = std::make_shared<LlmSearchOptions>();
  return {.name = "search",
          .summary = "Deployments that meet limits on latency, and the best of them",
          .options = joined({llm_model_options(options->model), llm_width_options(options->widths),
                             llm_load_options(options->load), llm_search_options(*options)}),
          .examples = {{"dfsim llm search config.json --gpus 8 --sla ttft=1000,tpot=30",
                        "the Pareto front over widths, loads and layouts on 8 GPUs"}},
          .run = [options](const GlobalOptions& global) {
            return run_llm_search(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
