// dfsim llm serve: a server of a model under a workload, simulated step by step.
#include <fmt/format.h>

#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/llm/llm_commands.h"
#include "cli/commands/llm/serving_views.h"
#include "serving/deployment_checks.h"
#include "serving/llm_memory.h"
#include "serving/serving_defaults.h"

namespace dfsim::cli {
namespace {

struct LlmServeOptions {
  LlmModelOptions model;
  LlmWidthOptions widths;
  LlmLoadOptions load;
  int64_t users = 0;
  double rate = 0;
  double burstiness = 1;
  std::string trace;
  double speedup = 1;
  int64_t requests = 0;
  int64_t warmup = 0;
  std::string policy;
  int64_t max_sequences = 0;
  int64_t max_tokens = 0;
  bool no_chunks = false;
  bool prefix_caching = false;
  int64_t shared_prefix = 0;
  int32_t replicas = 1;
  double price = -1;
  std::string output = "-";
  bool json = false;
  bool csv = false;
};

Status set_workload(const LlmServeOptions& o, ServeSetup* setup) {
  WorkloadOptions& workload = setup->workload;
  const int given = (o.users > 0 ? 1 : 0) + (o.rate != 0 ? 1 : 0) + (o.trace.empty() ? 0 : 1);
  if (given > 1) {
    return invalid_input(
        "--users, --rate and --trace: more than one is given, expected one of them");
  }
  DFSIM_RETURN_IF_ERROR(set_lengths(o.load, &workload));
  workload.seed = o.load.seed;
  workload.lengths.prefix.tokens = o.shared_prefix;
  if (!o.trace.empty()) {
    workload.kind = WorkloadOptions::Kind::kTrace;
    workload.trace = {o.trace, o.speedup, o.requests};
  } else if (o.rate != 0) {
    workload.kind = WorkloadOptions::Kind::kRate;
    workload.rate = {o.rate, o.burstiness, o.requests > 0 ? o.requests : 1000};
  } else {
    const int64_t users = o.users > 0 ? o.users : 64;
    workload.users = {users, o.requests > 0 ? o.requests : users * 10, 0, 0};
  }
  return ok_status();
}

Status run_llm_serve(const LlmServeOptions& o) {
  DFSIM_ASSIGN_OR_RETURN(const LlmDeployment deployment, llm_deployment(o.model, o.widths));
  const FrameworkProfile& profile = framework_profile(deployment.framework);
  ServeSetup setup;
  DFSIM_RETURN_IF_ERROR(set_workload(o, &setup));
  setup.engine.policy = o.policy.empty() ? framework_name(deployment.framework) : o.policy;
  setup.engine.limits.max_sequences = o.max_sequences;
  setup.engine.limits.max_tokens = o.max_tokens;
  setup.engine.limits.chunked_prefill = !o.no_chunks;
  setup.engine.prefix_caching = o.prefix_caching || o.shared_prefix > 0;
  setup.engine.frontend = profile.frontend;
  setup.errors = profile.errors;
  setup.replicas = o.replicas;
  setup.gpus_per_replica = deployment.parallelism.gpus();
  setup.max_request_tokens = deployment.model.max_positions;
  setup.warmup_requests = o.warmup;
  DFSIM_ASSIGN_OR_RETURN(setup.level, parse_service_level(o.load.sla));
  if (o.price >= 0) {
    setup.dollars_per_gpu_hour = o.price;
  }
  LlmMemoryOptions memory;
  memory.utilization = profile.memory_share;
  if (o.max_tokens > 0) {
    memory.max_step_tokens = o.max_tokens;
  }
  DFSIM_ASSIGN_OR_RETURN(const LlmMemory room, llm_memory(deployment, memory));
  setup.cache_tokens = room.cache_tokens;
  constexpr int64_t kDefaultGraphs = 512;
  DFSIM_ASSIGN_OR_RETURN(
      const std::unique_ptr<StepCostModel> costs,
      make_step_cost_model(deployment, runtime_for(profile, o.max_sequences > 0 ? o.max_sequences
                                                                                : kDefaultGraphs)));
  setup.costs = costs.get();
  DFSIM_ASSIGN_OR_RETURN(const ServeResult result, simulate_serving(setup));
  return write_file(o.output, o.json  ? serve_json(result)
                              : o.csv ? serve_series_csv(result)
                                      : fit_lines(serve_text(result)));
}

OptionTable llm_serve_options(LlmServeOptions& o) {
  return {
      {.names = "--users",
       .target = &o.users,
       .help = "A closed loop of so many users, each with one request in flight; default: 64",
       .range = {1, 1e6}},
      {.names = "--rate", .target = &o.rate, .help = "Requests per second, at random times"},
      {.names = "--burstiness",
       .target = &o.burstiness,
       .help = "With --rate: below 1 in bursts, 1 as a Poisson process, above more regularly",
       .show_default = true,
       .needs = "--rate"},
      {.names = "--trace",
       .target = &o.trace,
       .help = "Replay a trace: CSV of Azure or BurstGPT, JSON Lines of Mooncake",
       .value = "FILE"},
      {.names = "--speedup",
       .target = &o.speedup,
       .help = "With --trace: how much faster",
       .needs = "--trace"},
      {.names = "--requests",
       .target = &o.requests,
       .help = "Number of requests; default: 10 per user, 1000 with --rate, all of a trace",
       .range = {1, 1e9}},
      {.names = "--warmup", .target = &o.warmup, .help = "Leave the first N requests out"},
      {.names = "--policy",
       .target = &o.policy,
       .help = "Batching: sglang, static, trtllm or vllm; default: the framework's"},
      {.names = "--max-num-seqs", .target = &o.max_sequences, .help = "Sequences that run at once"},
      {.names = "--max-tokens", .target = &o.max_tokens, .help = "Token budget of a step"},
      {.names = "--no-chunked-prefill", .target = &o.no_chunks, .help = "Compute prompts whole"},
      {.names = "--prefix-caching", .target = &o.prefix_caching, .help = "Reuse equal beginnings"},
      {.names = "--shared-prefix",
       .target = &o.shared_prefix,
       .help = "Prompts begin with the same N tokens; implies --prefix-caching",
       .value = "N"},
      {.names = "--replicas",
       .target = &o.replicas,
       .help = "Servers side by side",
       .show_default = true,
       .range = {1, 1024}},
      {.names = "--price", .target = &o.price, .help = "Dollars per GPU and hour"},
      {.names = "--json", .target = &o.json, .help = "JSON instead of text"},
      {.names = "--csv", .target = &o.csv, .help = "The time series as CSV", .excludes = "--json"},
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Write to this file; - is stdout",
       .show_default = true},
  };
}

}  // namespace

CommandSpec llm_serve_command() {
  const auto options = std::make_shared<LlmServeOptions>();
  return {.name = "serve",
          .summary = "A server under load: TTFT, TPOT, throughput, simulated step by step",
          .options = joined({llm_model_options(options->model), llm_width_options(options->widths),
                             llm_load_options(options->load), llm_serve_options(*options)}),
          .examples = {{"dfsim llm serve config.json --system h100_sxm --tp 2 --users 64",
                        "latencies and throughput for 64 users on 2 GPUs"},
                       {"dfsim llm serve config.json --rate 5 --sla ttft=500,tpot=30",
                        "how many of 5 requests per second meet both limits"}},
          .run = [options](const GlobalOptions&) { return run_llm_serve(*options); }};
}

}  // namespace dfsim::cli
