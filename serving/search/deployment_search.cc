// The search: layouts are enumerated, each is simulated under rising load by one task (one cost
// model, shared by its loads), and a load that breaks the limit on TPOT ends the layout: more users
// never make tokens come faster. Replicas behind a fair router are alike, so an aggregated layout
// is simulated as one replica with its share of the users; disaggregated ones in full.
#include "serving/search/deployment_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "base/cancellation.h"
#include "serving/deployment_checks.h"
#include "serving/llm_memory.h"

namespace dfsim::inline serving {
namespace {

constexpr int64_t kMaxSearchUsers = 512;

// A layout without its load.
struct Layout {
  DeploymentCandidate candidate;
  LlmDeployment deployment;         // of the (prefill) replica
  LlmDeployment decode_deployment;  // of the decode replica
};

std::vector<int> powers_up_to(int limit) {
  std::vector<int> values;
  for (int value = 1; value <= limit; value *= 2) {
    values.push_back(value);
  }
  return values;
}

LlmPrecisions precisions_of(const DeploymentSearchOptions& options, LlmPrecision weights) {
  LlmPrecisions precisions = options.base.precisions;
  precisions.attention = precisions.mlp = precisions.experts = weights;
  const bool eight_bits = weights == LlmPrecision::kFp8 || weights == LlmPrecision::kFp8Block;
  precisions.kv_cache = eight_bits && options.base.framework == LlmFramework::kTrtllm
                            ? LlmPrecision::kFp8
                            : LlmPrecision::kBf16;
  return precisions;
}

std::vector<LlmParallelism> widths_of(const DeploymentSearchOptions& options) {
  std::vector<LlmParallelism> all;
  const bool moe = options.base.model.experts.experts > 0;
  for (const int tp : powers_up_to(options.gpus)) {
    for (const int pp : powers_up_to(std::min(2, options.gpus / tp))) {
      for (const int dp : powers_up_to(moe ? options.gpus / (tp * pp) : 1)) {
        for (const int ep : moe ? powers_up_to(tp * dp) : std::vector<int>{1}) {
          if (dp == 1 || ep == tp * dp) {  // data-parallel attention goes with expert parallelism
            all.push_back({tp, pp, dp, 0, ep});
          }
        }
      }
    }
  }
  return all;
}

std::vector<Layout> enumerate_layouts(const DeploymentSearchOptions& options) {
  std::vector<LlmPrecisions> precisions;
  for (const LlmPrecision weights : options.precisions) {
    precisions.push_back(precisions_of(options, weights));
  }
  if (precisions.empty()) {
    precisions.push_back(options.base.precisions);
  }
  std::vector<Layout> layouts;
  for (const LlmPrecisions& precision : precisions) {
    for (const LlmParallelism& widths : widths_of(options)) {
      Layout layout;
      layout.deployment = options.base;
      layout.deployment.parallelism = widths;
      layout.deployment.precisions = precision;
      layout.candidate.widths = widths;
      layout.candidate.precisions = precision;
      layout.candidate.replicas = options.gpus / widths.gpus();
      layout.candidate.gpus = layout.candidate.replicas * widths.gpus();
      layouts.push_back(layout);
      if (!options.disaggregated || widths.dp > 1 || widths.pp > 1) {
        continue;
      }
      for (const LlmParallelism& decode : widths_of(options)) {
        const int prefill_gpus = widths.gpus();
        if (decode.dp > 1 || decode.pp > 1 || (decode.moe_ep > 1) != (widths.moe_ep > 1)) {
          continue;
        }
        // One prefill replica per `share` of the GPUs; the rest decodes.
        for (const int prefills : powers_up_to(options.gpus / prefill_gpus)) {
          const int decodes = (options.gpus - prefills * prefill_gpus) / decode.gpus();
          if (decodes < 1) {
            continue;
          }
          Layout apart = layout;
          apart.decode_deployment = layout.deployment;
          apart.decode_deployment.parallelism = decode;
          apart.candidate.disaggregated = true;
          apart.candidate.replicas = prefills;
          apart.candidate.decode_replicas = decodes;
          apart.candidate.decode_widths = decode;
          apart.candidate.gpus = prefills * prefill_gpus + decodes * decode.gpus();
          layouts.push_back(apart);
        }
      }
    }
  }
  return layouts;
}

// Each layout under each limit on sequences at once.
std::vector<Layout> with_batch_limits(std::vector<Layout> layouts,
                                      const std::vector<int64_t>& limits) {
  if (limits.empty()) {
    return layouts;
  }
  std::vector<Layout> all;
  for (const Layout& layout : layouts) {
    for (const int64_t limit : limits) {
      all.push_back(layout);
      all.back().candidate.max_sequences = limit;
    }
  }
  return all;
}

// One layout made ready: its cost models and cache.
struct ReadyLayout {
  std::unique_ptr<StepCostModel> costs;
  std::unique_ptr<StepCostModel> decode_costs;
  ServeSetup setup;
};

StatusOr<ReadyLayout> make_ready(const DeploymentSearchOptions& options, const Layout& layout) {
  const FrameworkProfile& profile = framework_profile(options.base.framework);
  ReadyLayout ready;
  ServeSetup& setup = ready.setup;
  const ServingRuntime runtime = runtime_for(profile, kMaxSearchUsers);
  LlmMemoryOptions memory;
  memory.utilization = profile.memory_share;
  memory.sequence_tokens = options.prompt.high + options.output.high;
  DFSIM_ASSIGN_OR_RETURN(const LlmMemory room, llm_memory(layout.deployment, memory));
  DFSIM_ASSIGN_OR_RETURN(ready.costs, make_step_cost_model(layout.deployment, runtime));
  setup.cache_tokens = room.cache_tokens;
  setup.gpus_per_replica = layout.candidate.widths.gpus();
  setup.stages = layout.candidate.widths.pp;
  setup.ranks = layout.candidate.widths.dp;
  if (layout.candidate.disaggregated) {
    DFSIM_ASSIGN_OR_RETURN(const LlmMemory other, llm_memory(layout.decode_deployment, memory));
    DFSIM_ASSIGN_OR_RETURN(ready.decode_costs,
                           make_step_cost_model(layout.decode_deployment, runtime));
    setup.replicas = layout.candidate.replicas;
    setup.decode_replicas = layout.candidate.decode_replicas;
    setup.decode_cache_tokens = other.cache_tokens;
    setup.gpus_per_decode_replica = layout.candidate.decode_widths.gpus();
    setup.decode_stages = layout.candidate.decode_widths.pp;
    setup.link = options.link;
    setup.link.bytes_per_token =
        room.cache_bytes_per_token * static_cast<double>(layout.candidate.widths.tp);
  }
  setup.costs = ready.costs.get();
  setup.decode_costs = ready.decode_costs.get();
  setup.engine.policy = framework_name(options.base.framework);
  setup.engine.frontend = profile.frontend;
  setup.engine.limits.chunked_prefill = true;
  setup.engine.limits.max_sequences = layout.candidate.max_sequences;
  setup.errors = errors_for(profile, options.base.model);
  setup.max_request_tokens = options.base.model.max_positions;
  setup.level = options.level;
  setup.dollars_per_gpu_hour = options.dollars_per_gpu_hour;
  setup.workload.lengths.prompt = options.prompt;
  setup.workload.lengths.output = options.output;
  setup.workload.seed = options.seed;
  return ready;
}

bool keeps(const std::optional<double>& limit, const Estimate& estimate) {
  return !limit || estimate.value <= *limit;
}

// The layout's candidates, from few users to many.
std::vector<DeploymentCandidate> try_layout(const DeploymentSearchOptions& options,
                                            const Layout& layout,
                                            const std::vector<int64_t>& loads) {
  std::vector<DeploymentCandidate> candidates;
  StatusOr<ReadyLayout> ready = make_ready(options, layout);
  if (!ready.ok()) {
    candidates.push_back(layout.candidate);
    candidates.back().failure = ready.status().message();
    return candidates;
  }
  ServeSetup& setup = ready->setup;
  const bool apart = layout.candidate.disaggregated;
  for (const int64_t load : loads) {
    DeploymentCandidate candidate = layout.candidate;
    // Disaggregated: so many users per decode replica, over all of them.
    const int64_t simulated = apart ? load * candidate.decode_replicas : load;
    candidate.users = apart ? simulated : load * candidate.replicas;
    setup.workload.users.users = simulated;
    setup.workload.users.requests = simulated * options.requests_per_user;
    setup.warmup_requests = simulated;
    const StatusOr<ServeResult> result = simulate_serving(setup);
    if (!result.ok()) {
      candidate.failure = result.status().message();
      candidates.push_back(candidate);
      break;
    }
    const double copies = apart ? 1 : candidate.replicas;
    candidate.ttft_ms = result->ttft.mean_ms;
    candidate.tpot_ms = result->tpot.mean_ms;
    candidate.e2e_ms = result->e2e.mean_ms;
    const Estimate& rate = result->output_tokens_per_s;
    candidate.tokens_per_s = {rate.value * copies, rate.low * copies, rate.high * copies};
    candidate.tokens_per_s_per_gpu = result->output_tokens_per_s_per_gpu;
    candidate.tokens_per_s_per_user =
        candidate.tpot_ms.value > 0 ? 1000 / candidate.tpot_ms.value : 0;
    candidate.dollars_per_million_tokens = result->dollars_per_million_tokens;
    candidate.within_limits = keeps(options.level.ttft_ms, candidate.ttft_ms) &&
                              keeps(options.level.tpot_ms, candidate.tpot_ms) &&
                              keeps(options.level.e2e_ms, candidate.e2e_ms);
    candidates.push_back(candidate);
    if (!keeps(options.level.tpot_ms, candidate.tpot_ms)) {
      break;
    }
  }
  return candidates;
}

void find_front(DeploymentSearch* search) {
  std::vector<size_t> order;
  for (size_t i = 0; i < search->candidates.size(); ++i) {
    const DeploymentCandidate& candidate = search->candidates[i];
    if (candidate.failure.empty() && candidate.within_limits) {
      order.push_back(i);
    }
    search->failed += candidate.failure.empty() ? 0 : 1;
  }
  const auto& all = search->candidates;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return all[a].tokens_per_s_per_user != all[b].tokens_per_s_per_user
               ? all[a].tokens_per_s_per_user > all[b].tokens_per_s_per_user
               : all[a].tokens_per_s_per_gpu.value > all[b].tokens_per_s_per_gpu.value;
  });
  double most = -1;
  for (const size_t i : order) {
    if (all[i].tokens_per_s_per_gpu.value > most) {
      most = all[i].tokens_per_s_per_gpu.value;
      search->candidates[i].on_front = true;
      search->front.push_back(i);
      search->best = i;  // the last one has the highest rate per GPU
    }
  }
}

// The largest ratio of a latency to its limit.
double worst_ratio(const ServiceLevel& level, const DeploymentCandidate& candidate) {
  double worst = 0;
  for (const auto& [limit, value] : {std::pair(level.ttft_ms, candidate.ttft_ms.value),
                                     std::pair(level.tpot_ms, candidate.tpot_ms.value),
                                     std::pair(level.e2e_ms, candidate.e2e_ms.value)}) {
    worst = limit ? std::max(worst, value / *limit) : worst;
  }
  return worst;
}

void find_nearest(const ServiceLevel& level, DeploymentSearch* search) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < search->candidates.size(); ++i) {
    const DeploymentCandidate& candidate = search->candidates[i];
    const double ratio = candidate.failure.empty() ? worst_ratio(level, candidate) : least;
    if (ratio < least) {
      least = ratio;
      search->nearest = i;
    }
  }
}

}  // namespace

std::string DeploymentSearch::why_none() const {
  if (best) {
    return "";
  }
  if (nearest) {
    const DeploymentCandidate& one = candidates[*nearest];
    return fmt::format(
        "no deployment keeps the limits; nearest: {} with {} {}, TTFT {:.4g} ms, TPOT {:.4g} ms",
        one.layout(), one.users, one.users == 1 ? "user" : "users", one.ttft_ms.value,
        one.tpot_ms.value);
  }
  if (candidates.empty()) {
    return "no deployment has this many GPUs";
  }
  const auto gpus_of_replica = [](const DeploymentCandidate& candidate) {
    return candidate.gpus / (candidate.replicas + candidate.decode_replicas);
  };
  // The last of the widest: layouts of one width are tried with their experts cut further and
  // further.
  const auto widest = std::max_element(
      candidates.rbegin(), candidates.rend(),
      [&](const auto& a, const auto& b) { return gpus_of_replica(a) < gpus_of_replica(b); });
  return "no deployment can be served: " + widest->failure;
}

std::string DeploymentCandidate::layout() const {
  const auto one = [](const LlmParallelism& w) {
    std::string text = fmt::format("tp {}", w.tp);
    text += w.pp > 1 ? fmt::format(" pp {}", w.pp) : "";
    text += w.dp > 1 ? fmt::format(" dp {}", w.dp) : "";
    text += w.moe_ep > 1 ? fmt::format(" ep {}", w.moe_ep) : "";
    return text;
  };
  const std::string limit = max_sequences > 0 ? fmt::format(", max {}", max_sequences) : "";
  if (disaggregated) {
    return fmt::format("prefill {} x ({}), decode {} x ({}){}", replicas, one(widths),
                       decode_replicas, one(decode_widths), limit);
  }
  return (replicas > 1 ? fmt::format("{} x ({})", replicas, one(widths)) : one(widths)) + limit;
}

StatusOr<DeploymentSearch> search_deployments(const DeploymentSearchOptions& options,
                                              const ServerProgress& progress) {
  if (options.gpus < 1 || options.gpus > 64) {
    return invalid_input(fmt::format("search: {} GPUs, expected 1 to 64", options.gpus));
  }
  if (options.requests_per_user < 2) {
    return invalid_input(
        fmt::format("search: {} requests per user, expected at least 2 (the first "
                    "of each user is warm-up)",
                    options.requests_per_user));
  }
  std::vector<int64_t> loads = options.users;
  if (loads.empty()) {
    for (const int users : powers_up_to(kMaxSearchUsers)) {
      loads.push_back(users);
    }
  }
  if (*std::min_element(loads.begin(), loads.end()) < 1) {
    return invalid_input("search: fewer than one user, expected 1 or more");
  }
  std::sort(loads.begin(), loads.end());
  const std::vector<Layout> layouts =
      with_batch_limits(enumerate_layouts(options), options.batch_limits);
  std::vector<std::vector<DeploymentCandidate>> found(layouts.size());
  std::atomic<size_t> next = 0;
  std::atomic<bool> cancelled = false;
  std::mutex progress_mutex;
  int64_t done = 0;
  const auto work = [&] {
    for (size_t i = next++; i < layouts.size() && !cancelled; i = next++) {
      found[i] = try_layout(options, layouts[i], loads);
      const std::lock_guard lock(progress_mutex);
      cancelled =
          cancelled || (progress && !progress(++done, static_cast<int64_t>(layouts.size())));
    }
  };
  const size_t threads = options.threads > 0 ? static_cast<size_t>(options.threads)
                                             : std::max(1U, std::thread::hardware_concurrency());
  run_on_threads(std::min(threads, layouts.size()), work);
  if (cancelled) {
    return failed("search: cancelled");
  }
  DeploymentSearch search;
  search.deployments = static_cast<int64_t>(layouts.size());
  for (std::vector<DeploymentCandidate>& each : found) {
    search.candidates.insert(search.candidates.end(), std::make_move_iterator(each.begin()),
                             std::make_move_iterator(each.end()));
  }
  find_front(&search);
  if (!search.best) {
    find_nearest(options.level, &search);
  }
  return search;
}

}  // namespace dfsim::inline serving
