// From options to a simulation and from what the collector saw to a result. An interval scales its
// estimate by the error found on measured deployments: latencies by their own, rates by that of the
// time per token, since a closed loop's throughput is users over latency.
#include "serving/serve.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dfsim::inline serving {
namespace {

// Passes what happens on to the collector and to whoever else listens.
class Fork final : public Collector {
 public:
  Fork(const ServeSetup& setup, int64_t cache_blocks, ReplicaListener* other)
      : Collector(setup.level, setup.warmup_requests, cache_blocks), other_(other) {}
  void step(const StepRecord& record) override {
    Collector::step(record);
    if (other_ != nullptr) {
      other_->step(record);
    }
  }
  void finished(const Sequence& sequence) override {
    Collector::finished(sequence);
    if (other_ != nullptr) {
      other_->finished(sequence);
    }
  }

 private:
  ReplicaListener* other_;
};

Estimate with_interval(double value, double half_width) {
  return {value, value * std::exp(-half_width), value * std::exp(half_width)};
}

LatencyEstimate latency_of(const TimeHistogram& histogram, double half_width) {
  const TimeSummary summary = summarize_times(histogram);
  return {summary.count, with_interval(summary.mean_ms, half_width),
          with_interval(summary.p50_ms, half_width), with_interval(summary.p90_ms, half_width),
          with_interval(summary.p99_ms, half_width)};
}

StatusOr<ReplicaOptions> replica_of(const ServeSetup& setup, int64_t cache_tokens,
                                    ReplicaRole role) {
  const BatchPolicyRegistry builtin;
  const BatchPolicyRegistry& policies = setup.policies != nullptr ? *setup.policies : builtin;
  ReplicaOptions replica;
  DFSIM_ASSIGN_OR_RETURN(replica.policy, policies.find(setup.engine.policy));
  DFSIM_ASSIGN_OR_RETURN(replica.limits, complete_limits(replica.policy, setup.engine.limits));
  if (setup.engine.block_tokens < 0 || setup.engine.block_tokens > 4096) {
    return invalid_input("cache: blocks of " + std::to_string(setup.engine.block_tokens) +
                         " tokens, expected 1 to 4096, or 0 for the framework's");
  }
  replica.block_tokens =
      setup.engine.block_tokens > 0 ? setup.engine.block_tokens : replica.policy.block_tokens;
  replica.cache_blocks = cache_tokens / replica.block_tokens;
  if (replica.cache_blocks < 1) {
    return invalid_input("cache: room for " + std::to_string(cache_tokens) +
                         " tokens, expected at least one block of " +
                         std::to_string(replica.block_tokens) +
                         "; use more GPUs or a smaller precision");
  }
  replica.prefix_caching = setup.engine.prefix_caching;
  replica.frontend = setup.engine.frontend;
  replica.role = role;
  replica.schedule_ahead = setup.engine.schedule_ahead.value_or(replica.policy.schedule_ahead);
  replica.fast_forward = setup.engine.fast_forward;
  return replica;
}

// Some of the requests must count. Before the simulation for drawn ones, behind it for a trace.
Status check_warmup(const ServeSetup& setup, int64_t requests) {
  return setup.warmup_requests == 0 || setup.warmup_requests < requests
             ? ok_status()
             : invalid_input("workload: " + std::to_string(setup.warmup_requests) +
                             " warm-up requests of " + std::to_string(requests) +
                             ", expected fewer than there are requests; give less warm-up or more "
                             "requests");
}

Status check_setup(const ServeSetup& setup) {
  if (setup.replicas < 1 || setup.decode_replicas < 0 || setup.gpus_per_replica < 1 ||
      setup.ranks > setup.gpus_per_replica || setup.gpus() > 4096) {
    return invalid_input("deployment: " + std::to_string(setup.replicas) + " replicas and " +
                         std::to_string(setup.decode_replicas) +
                         " for decoding, expected at least one, on at most 4096 GPUs");
  }
  if (setup.warmup_requests < 0) {
    return invalid_input("workload: a negative number of warm-up requests, expected 0 or more");
  }
  const WorkloadOptions& workload = setup.workload;
  if (workload.kind != WorkloadOptions::Kind::kTrace) {
    DFSIM_RETURN_IF_ERROR(check_warmup(setup, workload.kind == WorkloadOptions::Kind::kUsers
                                                  ? workload.users.requests
                                                  : workload.rate.requests));
  }
  if (setup.dollars_per_gpu_hour && !(*setup.dollars_per_gpu_hour >= 0)) {
    return invalid_input("price: " + std::to_string(*setup.dollars_per_gpu_hour) +
                         " dollars per GPU and hour, expected 0 or more");
  }
  if (setup.workload.kind == WorkloadOptions::Kind::kTrace || setup.max_request_tokens == 0) {
    return ok_status();
  }
  const SyntheticLengths& lengths = setup.workload.lengths;
  if (lengths.prompt.high + lengths.output.high > setup.max_request_tokens) {
    return invalid_input("workload: prompts of up to " + std::to_string(lengths.prompt.high) +
                         " and outputs of up to " + std::to_string(lengths.output.high) +
                         " tokens, expected at most the model's context of " +
                         std::to_string(setup.max_request_tokens) + " together");
  }
  return ok_status();
}

// The replicas of one role, each as many engines as it has batches in flight times data-parallel
// ranks.
struct ReplicaGroup {
  ReplicaOptions engine;
  int replicas = 1;
  int batches = 1;
  int ranks = 1;
  std::string name;

  int engines_per_replica() const { return batches * ranks; }
};

// The longest request of a synthetic workload, in tokens; 0 where only the trace knows.
int64_t longest_request(const WorkloadOptions& workload) {
  return workload.kind == WorkloadOptions::Kind::kTrace
             ? 0
             : workload.lengths.prompt.high + workload.lengths.output.high;
}

StatusOr<ReplicaGroup> replica_group(const ServeSetup& setup, ReplicaRole role) {
  const bool decodes = role == ReplicaRole::kDecode;
  ReplicaGroup group;
  DFSIM_ASSIGN_OR_RETURN(
      group.engine,
      replica_of(setup, decodes ? setup.decode_cache_tokens : setup.cache_tokens, role));
  group.replicas = decodes ? setup.decode_replicas : setup.replicas;
  group.batches = std::max(1, decodes ? setup.decode_stages : setup.stages);
  group.ranks = std::max(1, decodes ? setup.decode_ranks : setup.ranks);
  group.name = role == ReplicaRole::kAggregated ? "replica"
               : decodes                        ? "decode replica"
                                                : "prefill replica";
  ReplicaOptions& engine = group.engine;
  const int64_t blocks = engine.cache_blocks;
  const int64_t needed = longest_request(setup.workload) / engine.block_tokens + 1;
  while (group.batches > 1 && blocks / group.batches < needed) {
    --group.batches;
  }
  engine.cache_blocks = blocks / group.batches;
  engine.limits.max_sequences = (engine.limits.max_sequences + group.batches - 1) / group.batches;
  return group;
}

StatusOr<std::vector<ReplicaGroup>> replica_groups(const ServeSetup& setup) {
  DFSIM_RETURN_IF_ERROR(check_setup(setup));
  if (setup.decode_replicas == 0) {
    DFSIM_ASSIGN_OR_RETURN(ReplicaGroup all, replica_group(setup, ReplicaRole::kAggregated));
    return std::vector<ReplicaGroup>{std::move(all)};
  }
  DFSIM_ASSIGN_OR_RETURN(ReplicaGroup first, replica_group(setup, ReplicaRole::kPrefill));
  DFSIM_ASSIGN_OR_RETURN(ReplicaGroup second, replica_group(setup, ReplicaRole::kDecode));
  return std::vector<ReplicaGroup>{std::move(first), std::move(second)};
}

void add_rates(const ServeSetup& setup, const Collector& seen, ServeResult* result) {
  const double seconds = std::max(1e-9, result->duration_s);
  const double output_rate = static_cast<double>(seen.output_tokens()) / seconds;
  const double rate_error = setup.errors.tpot;
  result->output_tokens_per_s = with_interval(output_rate, rate_error);
  result->requests_per_s =
      with_interval(static_cast<double>(seen.requests()) / seconds, rate_error);
  result->output_tokens_per_s_per_gpu =
      with_interval(output_rate / static_cast<double>(result->gpus), rate_error);
  result->total_tokens_per_s =
      static_cast<double>(seen.output_tokens() + seen.prompt_tokens()) / seconds;
  if (setup.level.any()) {
    result->goodput_per_s =
        with_interval(static_cast<double>(seen.good_requests()) / seconds, rate_error);
    result->goodput_share = static_cast<double>(seen.good_requests()) /
                            static_cast<double>(std::max<int64_t>(1, seen.requests()));
  }
  if (setup.dollars_per_gpu_hour && output_rate > 0) {
    const double dollars_per_s =
        *setup.dollars_per_gpu_hour * static_cast<double>(result->gpus) / 3600;
    result->dollars_per_million_tokens =
        with_interval(dollars_per_s / output_rate * 1e6, rate_error);
  }
}

void add_engine(const Collector& seen, const ServerResult& server, int64_t cache_blocks,
                size_t replicas, ServeResult* result) {
  const double all_ns =
      static_cast<double>(std::max<TimeNs>(1, server.end_ns)) * static_cast<double>(replicas);
  result->steps = seen.steps();
  result->busy_share = static_cast<double>(seen.busy_ns()) / all_ns;
  result->frontend_busy_share =
      static_cast<double>(server.frontend_busy_ns) * static_cast<double>(replicas) /
      (all_ns * static_cast<double>(std::max<int64_t>(1, server.frontends)));
  result->mean_decodes = seen.mean_decodes();
  result->peak_cache_share =
      static_cast<double>(seen.peak_blocks()) / static_cast<double>(cache_blocks);
  result->prefix_hit_share = static_cast<double>(seen.cached_tokens()) /
                             static_cast<double>(std::max<int64_t>(1, seen.prompt_tokens()));
  double parts_ns = 0;
  for (const double part : seen.split_ns()) {
    parts_ns += part;
  }
  for (size_t part = 0; part < result->part_share.size(); ++part) {
    result->part_share[part] = parts_ns > 0 ? seen.split_ns()[part] / parts_ns : 0;
  }
  const std::vector<TimeSeries::Values> bins = seen.series().bins();
  result->bin_s = static_cast<double>(seen.series().bin_ns()) / static_cast<double>(kNsPerSecond);
  for (size_t i = 0; i < bins.size(); ++i) {
    result->series.push_back({result->bin_s * static_cast<double>(i), bins[i]});
  }
}

ServeResult result_of(const ServeSetup& setup, const Collector& seen, const ServerResult& server,
                      const ServerOptions& options, const ReplicaGroup& last) {
  ServeResult result;
  result.requests = seen.requests();
  result.rejected = server.rejected;
  result.prompt_tokens = seen.prompt_tokens();
  result.output_tokens = seen.output_tokens();
  result.duration_s =
      static_cast<double>(seen.last_token_ns() - std::max<TimeNs>(0, seen.first_arrival_ns())) /
      static_cast<double>(kNsPerSecond);
  // A backlog of a tenth of all requests when the last one comes, and half as many as at work: the
  // longer the workload, the longer the queue.
  result.waiting_at_last_arrival = server.waiting_at_last_arrival;
  result.overloaded = server.overloaded || (setup.workload.kind != WorkloadOptions::Kind::kUsers &&
                                            server.waiting_at_last_arrival > server.arrived / 10 &&
                                            static_cast<double>(server.waiting_at_last_arrival) >
                                                seen.mean_decodes() / 2 + 10);
  result.gpus = setup.gpus();
  const double e2e_error = std::max(setup.errors.tpot, std::min(setup.errors.ttft, 0.3));
  result.ttft = latency_of(seen.ttft(), setup.errors.ttft);
  result.tpot = latency_of(seen.tpot(), setup.errors.tpot);
  result.itl = latency_of(seen.itl(), setup.errors.tpot);
  result.e2e = latency_of(seen.e2e(), e2e_error);
  result.queue = latency_of(seen.queue(), setup.errors.ttft);
  add_rates(setup, seen, &result);
  const ReplicaOptions& replica = last.engine;
  result.cache_tokens = replica.cache_blocks * replica.block_tokens * last.engines_per_replica();
  result.preemptions = server.preemptions;
  result.transfers = server.transfers;
  add_engine(seen, server, replica.cache_blocks, options.replicas.size(), &result);
  result.ttft_buckets = seen.ttft().buckets(4);
  result.itl_buckets = seen.itl().buckets(4);
  result.e2e_buckets = seen.e2e().buckets(4);
  return result;
}

}  // namespace

StatusOr<std::unique_ptr<RequestSource>> make_source(const WorkloadOptions& options) {
  switch (options.kind) {
    case WorkloadOptions::Kind::kUsers:
      return make_closed_loop(options.users, options.lengths, options.seed);
    case WorkloadOptions::Kind::kRate:
      return make_open_loop(options.rate, options.lengths, options.seed);
    case WorkloadOptions::Kind::kTrace:
      return make_replay(options.trace);
  }
  return invalid_input("workload: an unknown kind of arrivals");
}

StatusOr<std::vector<std::string>> engine_names(const ServeSetup& setup) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<ReplicaGroup> groups, replica_groups(setup));
  std::vector<std::string> names;
  for (const ReplicaGroup& group : groups) {
    const int engines = group.engines_per_replica();
    for (int engine = 0; engine < group.replicas * engines; ++engine) {
      names.push_back(group.name + " " + std::to_string(engine / engines));
      if (group.batches > 1) {
        names.back() += ", batch " + std::to_string(engine % engines / group.ranks);
      }
      if (group.ranks > 1) {
        names.back() += ", rank " + std::to_string(engine % group.ranks);
      }
    }
  }
  return names;
}

StatusOr<ServeResult> simulate_serving(const ServeSetup& setup, ReplicaListener* steps,
                                       const ServerProgress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<ReplicaGroup> groups, replica_groups(setup));
  ServerOptions options;
  options.link = setup.link;
  options.max_request_tokens = setup.max_request_tokens;
  options.max_waiting = setup.max_waiting;
  StepTable table(setup.costs);
  StepTable decode_table(setup.decode_replicas > 0 ? setup.decode_costs : setup.costs);
  std::vector<StepTable*> tables;
  int pipelines = 0;
  int lockstep = 0;
  for (const ReplicaGroup& group : groups) {
    for (int replica = 0; replica < group.replicas; ++replica) {
      ReplicaOptions engine = group.engine;
      engine.pipeline = group.batches > 1 ? pipelines++ : -1;
      for (int batch = 0; batch < group.batches; ++batch) {
        engine.lockstep = group.ranks > 1 ? lockstep++ : -1;
        options.replicas.insert(options.replicas.end(), static_cast<size_t>(group.ranks), engine);
      }
    }
    tables.resize(options.replicas.size(), &group == groups.data() ? &table : &decode_table);
  }
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<RequestSource> source, make_source(setup.workload));
  Fork seen(setup, options.replicas.back().cache_blocks, steps);
  DFSIM_ASSIGN_OR_RETURN(const ServerResult server,
                         run_server(options, *source, tables, &seen, progress));
  DFSIM_RETURN_IF_ERROR(check_warmup(setup, server.arrived));
  return result_of(setup, seen, server, options, groups.back());
}

}  // namespace dfsim::inline serving
