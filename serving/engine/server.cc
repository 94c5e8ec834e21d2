// The clock of a server: always the earliest of the next arrival, the next cache transfer that ends
// and the next action of a replica. A replica that acts is given the time of the next other event
// as horizon, so that it may run ahead on its own up to there.
#include "serving/engine/server.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <string>
#include <utility>

#include "base/cancellation.h"
#include "serving/engine/lockstep.h"

namespace dfsim::inline serving {
namespace {

constexpr int64_t kProgressEvery = 100;
constexpr uint32_t kTurnsPerCancellation = 64;

class ServerRun final : public ReplicaListener {
 public:
  ServerRun(const ServerOptions& options, RequestSource& source,
            const std::vector<StepTable*>& costs, ReplicaListener* listener,
            const ServerProgress& progress)
      : options_(options), source_(source), listener_(listener), progress_(progress) {
    // As many as there can be: groups and replicas point into these.
    const size_t count = options.replicas.size();
    replicas_.reserve(count);
    pipelines_.resize(count);
    frontends_.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const ReplicaOptions& engine = options.replicas[i];
      PipelineEntry* const pipeline =
          engine.pipeline < 0 ? nullptr : &pipelines_[static_cast<size_t>(engine.pipeline)];
      const bool rank =
          i > 0 && engine.lockstep >= 0 && engine.lockstep == options.replicas[i - 1].lockstep;
      if (!rank) {
        frontends_.emplace_back(engine.frontend);
        groups_.emplace_back(pipeline);
      }
      replicas_.emplace_back(static_cast<int>(i), engine, costs[i], pipeline, &frontends_.back(),
                             this);
      groups_.back().add(&replicas_.back());
    }
  }

  StatusOr<ServerResult> run() {
    while (true) {
      DFSIM_ASSIGN_OR_RETURN(const std::optional<TimeNs> peeked, source_.peek());
      const TimeNs arrival_ns = peeked.value_or(kNever);
      const TimeNs transfer_ns = transfers_.empty() ? kNever : transfers_.top().time_ns;
      const auto [group, action_ns, after_ns] = next_group();
      if (arrival_ns == kNever && transfer_ns == kNever && action_ns == kNever) {
        break;
      }
      if (arrival_ns <= action_ns && arrival_ns <= transfer_ns) {
        DFSIM_RETURN_IF_ERROR(arrive(source_.take()));
        if (result_.overloaded) {
          break;
        }
      } else if (transfer_ns <= action_ns) {
        deliver();
      } else {
        const TimeNs horizon = std::min({arrival_ns, transfer_ns, after_ns});
        DFSIM_RETURN_IF_ERROR(groups_[group].advance(horizon));
        result_.end_ns = std::max(result_.end_ns, action_ns);
      }
      if (++turns_ % kTurnsPerCancellation == 0) {
        cancellation_point();
      }
      if (cancelled_) {
        return failed("serving: cancelled");
      }
    }
    return finish();
  }

  void step(const StepRecord& record) override { listener_->step(record); }
  void token_gap(TimeNs gap_ns, int64_t count) override { listener_->token_gap(gap_ns, count); }
  void finished(const Sequence& sequence) override {
    listener_->finished(sequence);
    source_.finished(sequence.last_token_ns);
    if (++done_ % kProgressEvery == 0 && progress_ && !progress_(done_, 0)) {
      cancelled_ = true;
    }
  }
  void prefilled(Sequence&& sequence, TimeNs now) override {
    const CacheLink& link = options_.link;
    const double bytes = link.bytes_per_token * static_cast<double>(sequence.computed);
    const TimeNs wire_ns = link.bytes_per_s > 0 ? ns_from_seconds(bytes / link.bytes_per_s) : 0;
    // Transfers share the link: each waits for the one before.
    link_free_ns_ = std::max(link_free_ns_, now) + wire_ns;
    const TimeNs arrives_ns =
        link_free_ns_ + static_cast<TimeNs>(std::llround(link.latency_us * 1e3));
    sequence.transferred = sequence.computed;
    transfers_.push({arrives_ns, result_.transfers++, std::move(sequence)});
  }

 private:
  struct Transfer {
    TimeNs time_ns;
    int64_t number;
    Sequence sequence;
    // Ordered by time, then by number: std::priority_queue has the largest on top.
    bool operator<(const Transfer& other) const {
      return time_ns != other.time_ns ? time_ns > other.time_ns : number > other.number;
    }
  };
  struct Next {
    size_t group;
    TimeNs action_ns;
    TimeNs after_ns;  // the next action of any other group
  };

  Next next_group() const {
    Next next = {0, kNever, kNever};
    for (size_t i = 0; i < groups_.size(); ++i) {
      const TimeNs action_ns = groups_[i].next_action();
      if (action_ns < next.action_ns) {
        next = {i, action_ns, next.action_ns};
      } else {
        next.after_ns = std::min(next.after_ns, action_ns);
      }
    }
    return next;
  }

  // The replica of that kind with the fewest requests.
  Replica& route(bool decode) {
    size_t best = replicas_.size();
    for (size_t i = 0; i < replicas_.size(); ++i) {
      const bool decodes = options_.replicas[i].role == ReplicaRole::kDecode;
      if (decodes == decode &&
          (best == replicas_.size() || replicas_[i].in_flight() < replicas_[best].in_flight())) {
        best = i;
      }
    }
    return replicas_[best];
  }

  Status arrive(RequestSpec spec) {
    ++result_.arrived;
    const int64_t tokens = spec.prompt_tokens + spec.output_tokens;
    Replica& replica = route(false);
    const ReplicaOptions& options = options_.replicas.front();
    const int64_t cache_tokens = options.cache_blocks * options.block_tokens;
    const int64_t limit = options_.max_request_tokens > 0
                              ? std::min(options_.max_request_tokens, cache_tokens)
                              : cache_tokens;
    if (tokens > limit) {
      if (++result_.rejected == 1) {
        first_rejected_ = spec;
        rejected_limit_ = limit;
      }
      source_.finished(spec.arrival_ns + kNsPerMs);  // the client has its refusal, and goes on
      return ok_status();
    }
    Sequence sequence;
    const TimeNs now = spec.arrival_ns;
    sequence.spec = std::move(spec);
    replica.submit(std::move(sequence), now);
    int64_t waiting = 0;
    for (const Replica& each : replicas_) {
      waiting += each.waiting();
    }
    result_.waiting_at_last_arrival = waiting;
    result_.overloaded = waiting > options_.max_waiting;
    return ok_status();
  }

  void deliver() {
    // The top of a priority queue is constant only to protect its order, which pop() ends.
    Sequence sequence = std::move(const_cast<Transfer&>(transfers_.top()).sequence);
    const TimeNs now = transfers_.top().time_ns;
    transfers_.pop();
    route(true).submit(std::move(sequence), now);
  }

  StatusOr<ServerResult> finish() {
    if (result_.rejected > 0 && result_.rejected == result_.arrived) {
      return invalid_input(
          "request " + std::to_string(first_rejected_.id) + ": a prompt of " +
          std::to_string(first_rejected_.prompt_tokens) + " and an output of " +
          std::to_string(first_rejected_.output_tokens) + " tokens, expected at most " +
          std::to_string(rejected_limit_) +
          " together (the smaller of the context and the cache); no request can be served");
    }
    for (const Replica& replica : replicas_) {
      result_.preemptions += replica.state().preemptions();
    }
    for (const Frontend& frontend : frontends_) {
      result_.frontend_busy_ns += frontend.busy_ns();
    }
    result_.frontends = static_cast<int64_t>(frontends_.size());
    return result_;
  }

  const ServerOptions& options_;
  RequestSource& source_;
  ReplicaListener* listener_;
  const ServerProgress& progress_;
  std::vector<PipelineEntry> pipelines_;
  std::vector<Frontend> frontends_;
  std::vector<Replica> replicas_;
  std::vector<LockstepGroup> groups_;
  std::priority_queue<Transfer> transfers_;
  TimeNs link_free_ns_ = 0;
  ServerResult result_;
  RequestSpec first_rejected_;
  int64_t rejected_limit_ = 0;
  int64_t done_ = 0;
  uint32_t turns_ = 0;
  bool cancelled_ = false;
};

}  // namespace

StatusOr<ServerResult> run_server(const ServerOptions& options, RequestSource& source,
                                  const std::vector<StepTable*>& costs, ReplicaListener* listener,
                                  const ServerProgress& progress) {
  return ServerRun(options, source, costs, listener, progress).run();
}

}  // namespace dfsim::inline serving
