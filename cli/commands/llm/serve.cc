// dfsim llm serve: a server of a model under a workload, simulated step by step.
//
// A step trace needs each step on its own; everything else simulates repeated steps in one go.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/llm/llm_commands.h"
#include "cli/commands/llm/load_options.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "report/html/html_page.h"
#include "report/serving/serving_views.h"
#include "report/trace/serving_trace.h"
#include "report/trace/trace_file.h"
#include "serving/deployment_checks.h"
#include "serving/llm_memory.h"
#include "serving/serving_defaults.h"

namespace dfsim::cli {
namespace {

constexpr double kLinkLatencyUs = 20;  // of one cache transfer, as RDMA between servers

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
  int32_t decode_replicas = 0;
  int32_t decode_tp = 0;
  double link_gb_per_s = 50;
  int64_t block_size = 0;
  double memory_share = 0;
  double price = -1;
  std::string html;
  std::string trace_file;
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

// One deployment made ready to be simulated.
struct PreparedReplica {
  std::unique_ptr<StepCostModel> costs;
  LlmMemory room;
};

StatusOr<PreparedReplica> prepare(const LlmServeOptions& o, const LlmDeployment& deployment,
                                  const FrameworkProfile& profile, int64_t sequence_tokens) {
  constexpr int64_t kDefaultGraphs = 512;
  LlmMemoryOptions memory;
  memory.utilization = o.memory_share > 0 ? o.memory_share : profile.memory_share;
  memory.sequence_tokens = sequence_tokens;
  if (o.max_tokens > 0) {
    memory.max_step_tokens = o.max_tokens;
  }
  PreparedReplica ready;
  DFSIM_ASSIGN_OR_RETURN(ready.room, llm_memory(deployment, memory));
  DFSIM_ASSIGN_OR_RETURN(
      ready.costs,
      make_step_cost_model(deployment, runtime_for(profile, o.max_sequences > 0 ? o.max_sequences
                                                                                : kDefaultGraphs)));
  return ready;
}

std::string width_text(const LlmParallelism& w) {
  return fmt::format("tp {}{}{}{}", w.tp, w.pp > 1 ? fmt::format(" pp {}", w.pp) : "",
                     w.dp > 1 ? fmt::format(" dp {}", w.dp) : "",
                     w.moe_ep > 1 ? fmt::format(" ep {}", w.moe_ep) : "");
}

std::string layout_text(const LlmServeOptions& o, const LlmParallelism& first,
                        const LlmParallelism& second) {
  if (o.decode_replicas > 0) {
    return fmt::format("prefill {} x ({}), decode {} x ({})", o.replicas, width_text(first),
                       o.decode_replicas, width_text(second));
  }
  return o.replicas > 1 ? fmt::format("{} x ({})", o.replicas, width_text(first))
                        : width_text(first);
}

std::string workload_text(const WorkloadOptions& workload) {
  if (workload.kind == WorkloadOptions::Kind::kTrace) {
    return "requests of " + workload.trace.path;
  }
  const SyntheticLengths& lengths = workload.lengths;
  const std::string arrivals = workload.kind == WorkloadOptions::Kind::kUsers
                                   ? fmt::format("{} users", workload.users.users)
                                   : fmt::format("{:g} requests/s", workload.rate.requests_per_s);
  const auto range = [](const LengthRange& r) {
    return r.low == r.high ? std::to_string(r.low) : fmt::format("{} to {}", r.low, r.high);
  };
  return fmt::format("{}, prompts of {} and outputs of {} tokens", arrivals, range(lengths.prompt),
                     range(lengths.output));
}

// Requests that will be served; 0 = not known before the end of a trace.
int64_t requests_of(const WorkloadOptions& workload) {
  return workload.kind == WorkloadOptions::Kind::kUsers  ? workload.users.requests
         : workload.kind == WorkloadOptions::Kind::kRate ? workload.rate.requests
                                                         : workload.trace.requests;
}

// The decode step that the simulated server ran on average.
StatusOr<StepTimeline> typical_step(const ServeResult& result, StepCostModel* costs) {
  const int64_t requests = std::max<int64_t>(1, result.requests);
  const int64_t context =
      (result.prompt_tokens + result.output_tokens / 2) / requests;  // halfway through an output
  StepBatch batch;
  batch.decode.assign(std::max<size_t>(1, static_cast<size_t>(std::lround(result.mean_decodes))),
                      {1, std::max<int64_t>(1, context)});
  return step_timeline(costs, batch);
}

void set_engine(const LlmServeOptions& o, const FrameworkProfile& profile, ServeSetup* setup) {
  setup->engine.policy = o.policy.empty() ? framework_name(profile.framework) : o.policy;
  setup->engine.limits.max_sequences = o.max_sequences;
  setup->engine.limits.max_tokens = o.max_tokens;
  setup->engine.limits.chunked_prefill = !o.no_chunks;
  setup->engine.block_tokens = o.block_size;
  setup->engine.prefix_caching = o.prefix_caching || o.shared_prefix > 0;
  setup->engine.frontend = profile.frontend;
  setup->engine.fast_forward = o.trace_file.empty();  // a slice of the trace is one step
}

Status simulate_and_write(const LlmServeOptions& o, const ServeSetup& setup, ServeView* view,
                          bool quiet) {
  std::unique_ptr<ServingTrace> trace;
  if (!o.trace_file.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<std::string> engines, engine_names(setup));
    DFSIM_ASSIGN_OR_RETURN(trace, ServingTrace::open(o.trace_file, engines));
  }
  {
    ProgressLine line(quiet);
    const auto expected = static_cast<double>(requests_of(setup.workload));
    DFSIM_RETURN_IF_ERROR(line.stage("simulating the server"));
    const auto served = [&](int64_t done, int64_t /*total*/) {
      line.advance(static_cast<double>(done), expected, "requests");
      return true;
    };
    DFSIM_ASSIGN_OR_RETURN(view->result, simulate_serving(setup, trace.get(), served));
  }
  if (trace != nullptr) {
    DFSIM_RETURN_IF_ERROR(trace->close());
  }
  if (!o.html.empty()) {
    StepCostModel* const costs = setup.decode_costs != nullptr ? setup.decode_costs : setup.costs;
    DFSIM_ASSIGN_OR_RETURN(view->step, typical_step(view->result, costs));
    DFSIM_ASSIGN_OR_RETURN(const std::string page, html_page(o.html, serve_json(*view)));
    DFSIM_RETURN_IF_ERROR(write_file(o.html, page));
  }
  return write_result(o.output, o.json  ? serve_json(*view)
                                : o.csv ? serve_series_csv(view->result)
                                        : fit_lines(serve_text(*view)));
}

Status run_llm_serve(const LlmServeOptions& o, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const LlmDeployment deployment, llm_deployment(o.model, o.widths));
  const FrameworkProfile& profile = framework_profile(deployment.framework);
  ServeSetup setup;
  DFSIM_RETURN_IF_ERROR(set_workload(o, &setup));
  set_engine(o, profile, &setup);
  setup.errors = errors_for(profile, deployment.model);
  const SyntheticLengths& lengths = setup.workload.lengths;
  const bool synthetic = setup.workload.kind != WorkloadOptions::Kind::kTrace;
  const int64_t tokens = synthetic ? lengths.prompt.high + lengths.output.high : 0;
  setup.replicas = o.replicas;
  setup.gpus_per_replica = deployment.parallelism.gpus();
  setup.stages = deployment.parallelism.pp;
  setup.ranks = deployment.parallelism.dp;
  setup.max_request_tokens = deployment.model.max_positions;
  setup.warmup_requests = o.warmup;
  DFSIM_ASSIGN_OR_RETURN(setup.level, parse_service_level(o.load.sla));
  if (o.price >= 0) {
    setup.dollars_per_gpu_hour = o.price;
  }
  DFSIM_ASSIGN_OR_RETURN(const PreparedReplica first, prepare(o, deployment, profile, tokens));
  setup.costs = first.costs.get();
  setup.cache_tokens = first.room.cache_tokens;
  LlmDeployment decode = deployment;
  PreparedReplica second;
  if (o.decode_replicas > 0) {
    decode.parallelism.tp = o.decode_tp > 0 ? o.decode_tp : deployment.parallelism.tp;
    DFSIM_ASSIGN_OR_RETURN(second, prepare(o, decode, profile, tokens));
    setup.decode_replicas = o.decode_replicas;
    setup.decode_costs = second.costs.get();
    setup.decode_cache_tokens = second.room.cache_tokens;
    setup.gpus_per_decode_replica = decode.parallelism.gpus();
    setup.decode_stages = decode.parallelism.pp;
    setup.decode_ranks = decode.parallelism.dp;
    setup.link = {o.link_gb_per_s * 1e9, kLinkLatencyUs,
                  first.room.cache_bytes_per_token *
                      static_cast<double>(deployment.parallelism.tp * deployment.parallelism.pp)};
  }
  ServeView view;
  view.model = deployment.model.name;
  view.system = deployment.system;
  view.framework = framework_name(deployment.framework);
  view.layout = layout_text(o, deployment.parallelism, decode.parallelism);
  view.workload = workload_text(setup.workload);
  return simulate_and_write(o, setup, &view, quiet);
}

// Replicas, prefill and decode apart, memory.
OptionTable llm_layout_options(LlmServeOptions& o) {
  return {
      {.names = "--replicas",
       .target = &o.replicas,
       .help = "Servers that share the requests",
       .show_default = true,
       .range = {1, 1024}},
      {.names = "--decode-replicas",
       .target = &o.decode_replicas,
       .help = "Disaggregated: --replicas compute prompts, N others decode",
       .value = "N",
       .range = {1, 1024}},
      {.names = "--decode-tp",
       .target = &o.decode_tp,
       .help = "Tensor parallelism of decode replicas; default: --tp",
       .range = {1, 1024},
       .needs = "--decode-replicas"},
      {.names = "--link",
       .target = &o.link_gb_per_s,
       .help = "GB/s of the link from prefill to decode replicas",
       .show_default = true,
       .range = {0.001, 100000},
       .needs = "--decode-replicas"},
      {.names = "--block-size",
       .target = &o.block_size,
       .help = "Tokens of a cache block; default: the framework's",
       .range = {1, 4096}},
      {.names = "--memory-share",
       .target = &o.memory_share,
       .help = "Share of a GPU's memory that the server takes; default: the framework's",
       .range = {0.01, 1}},
  };
}

OptionTable llm_serve_options(LlmServeOptions& o) {
  return {
      {.names = "--users",
       .target = &o.users,
       .help = "A closed loop of this many users, each with one request in flight; default: 64",
       .range = {1, 1e6}},
      {.names = "--rate",
       .target = &o.rate,
       .help = "Requests per second, at random times",
       .range = {1e-6, 1e6}},
      {.names = "--burstiness",
       .target = &o.burstiness,
       .help = "With --rate: below 1 in bursts, 1 as a Poisson process, above more regularly",
       .show_default = true,
       .range = {0.001, 1000},
       .needs = "--rate"},
      {.names = "--trace",
       .target = &o.trace,
       .help = "Replay a trace: CSV of Azure or BurstGPT, JSON Lines of Mooncake",
       .value = "FILE"},
      {.names = "--speedup",
       .target = &o.speedup,
       .help = "With --trace: how much faster",
       .range = {1e-6, 1e6},
       .needs = "--trace"},
      {.names = "--requests",
       .target = &o.requests,
       .help = "Number of requests; default: 10 per user, 1000 with --rate, all of a trace",
       .range = {1, 1e9}},
      {.names = "--warmup",
       .target = &o.warmup,
       .help = "Leave the first N requests out",
       .value = "N",
       .range = {0, 1e9}},
      {.names = "--policy",
       .target = &o.policy,
       .help = "Batching: sglang, static, trtllm or vllm; default: the framework's"},
      {.names = "--max-num-seqs",
       .target = &o.max_sequences,
       .help = "Sequences that run at once; default: the policy's",
       .range = {1, 1e6}},
      {.names = "--max-tokens",
       .target = &o.max_tokens,
       .help = "Token budget of a step; default: the policy's",
       .range = {1, 1e7}},
      {.names = "--no-chunked-prefill", .target = &o.no_chunks, .help = "Compute prompts whole"},
      {.names = "--prefix-caching", .target = &o.prefix_caching, .help = "Reuse equal beginnings"},
      {.names = "--shared-prefix",
       .target = &o.shared_prefix,
       .help = "Prompts begin with the same N tokens; implies --prefix-caching",
       .value = "N",
       .range = {1, 1e8}},
      {.names = "--price",
       .target = &o.price,
       .help = "Dollars per GPU and hour",
       .range = {0, 1e6}},
      html_option(&o.html),
      {.names = "--steps-trace",
       .target = &o.trace_file,
       .help = "Also write engine steps and requests " + std::string(kTraceFileHelp),
       .value = "OUT.json"},
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
                             llm_load_options(options->load), llm_layout_options(*options),
                             llm_serve_options(*options)}),
          .examples = {{"dfsim llm serve config.json --system h100_sxm --tp 2 --users 64",
                        "latencies and throughput for 64 users on 2 GPUs"},
                       {"dfsim llm serve config.json --replicas 1 --decode-replicas 3 --rate 20",
                        "prompts on one GPU, outputs on three"},
                       {"dfsim llm serve config.json --rate 5 --sla ttft=500,tpot=30",
                        "how many of 5 requests per second meet both limits"}},
          .run = [options](const GlobalOptions& global) {
            return run_llm_serve(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
