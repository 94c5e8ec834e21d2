// Synthetic workloads: SpecMaker draws lengths and shared prefixes; ClosedLoop keeps the times at
// which users are ready in a heap; OpenLoop draws the gap to the next arrival.
#include <cmath>
#include <functional>
#include <queue>
#include <vector>

#include "serving/workload/request_source.h"

namespace dfsim::inline serving {
namespace {

// Shared prefixes are named in pieces of this many tokens: a multiple of every framework's block.
constexpr int64_t kPrefixBlockTokens = 64;
constexpr int64_t kMaxWorkloadCount = 1'000'000'000;

// Draws what requests look like. Lengths have a generator of their own, so that another arrival
// process meets the same requests.
class SpecMaker {
 public:
  SpecMaker(const SyntheticLengths& lengths, uint64_t seed)
      : lengths_(lengths), rng_(Rng(seed).split(1)) {}

  RequestSpec make(TimeNs arrival_ns) {
    RequestSpec spec;
    spec.id = next_id_++;
    spec.arrival_ns = arrival_ns;
    spec.prompt_tokens = lengths_.prompt.draw(rng_);
    spec.output_tokens = lengths_.output.draw(rng_);
    const int64_t blocks = lengths_.prefix.tokens / kPrefixBlockTokens;
    if (blocks > 0) {
      const uint64_t group = rng_.below(static_cast<uint64_t>(lengths_.prefix.groups));
      spec.tokens_per_hash = kPrefixBlockTokens;
      for (int64_t block = 0; block < blocks; ++block) {
        spec.prefix_hashes.push_back(group * 0x9E3779B97F4A7C15ULL + static_cast<uint64_t>(block));
      }
    }
    return spec;
  }

 private:
  SyntheticLengths lengths_;
  Rng rng_;
  int64_t next_id_ = 0;
};

Status check_synthetic(int64_t requests, const SyntheticLengths& lengths) {
  if (requests < 1 || requests > kMaxWorkloadCount) {
    return invalid_input("workload: " + std::to_string(requests) +
                         " requests, expected 1 to 1000000000");
  }
  if (lengths.prefix.tokens < 0 || lengths.prefix.groups < 1) {
    return invalid_input("workload: a shared prefix of " + std::to_string(lengths.prefix.tokens) +
                         " tokens in " + std::to_string(lengths.prefix.groups) +
                         " groups, expected 0 or more tokens and at least one group");
  }
  if (lengths.prefix.tokens > lengths.prompt.low) {
    return invalid_input("workload: a shared prefix of " + std::to_string(lengths.prefix.tokens) +
                         " tokens is longer than the shortest prompt (" +
                         std::to_string(lengths.prompt.low) + "); make it shorter");
  }
  return ok_status();
}

class ClosedLoop final : public RequestSource {
 public:
  ClosedLoop(const ClosedLoopOptions& options, const SyntheticLengths& lengths, uint64_t seed)
      : options_(options), maker_(lengths, seed), rng_(Rng(seed).split(3)) {
    for (int64_t user = 0; user < options.users && started_ < options.requests; ++user) {
      ready_.push(options.ramp_ns / options.users * user);
      ++started_;
    }
  }

  StatusOr<std::optional<TimeNs>> peek() override {
    return ready_.empty() ? std::optional<TimeNs>() : std::optional<TimeNs>(ready_.top());
  }
  RequestSpec take() override {
    const TimeNs arrival_ns = ready_.top();
    ready_.pop();
    return maker_.make(arrival_ns);
  }
  void finished(TimeNs now) override {
    if (started_ < options_.requests) {
      const double pause = options_.think_ns == 0 ? 0 : -std::log1p(-rng_.uniform());
      ready_.push(now + static_cast<TimeNs>(pause * static_cast<double>(options_.think_ns)));
      ++started_;
    }
  }

 private:
  ClosedLoopOptions options_;
  SpecMaker maker_;
  Rng rng_;
  // Users are alike, so only the times matter; equal times need no tie-break.
  std::priority_queue<TimeNs, std::vector<TimeNs>, std::greater<>> ready_;
  int64_t started_ = 0;
};

class OpenLoop final : public RequestSource {
 public:
  OpenLoop(const OpenLoopOptions& options, const SyntheticLengths& lengths, uint64_t seed)
      : options_(options), maker_(lengths, seed), rng_(Rng(seed).split(2)) {}

  StatusOr<std::optional<TimeNs>> peek() override {
    if (taken_ == options_.requests) {
      return std::optional<TimeNs>();
    }
    if (!known_) {
      now_s_ += gamma_gap() / options_.requests_per_s;
      known_ = true;
    }
    return std::optional<TimeNs>(ns_from_seconds(now_s_));
  }
  RequestSpec take() override {
    known_ = false;
    ++taken_;
    return maker_.make(ns_from_seconds(now_s_));
  }

 private:
  // A gamma variate of mean 1 (Marsaglia, Tsang 2000, doi:10.1145/358407.358414).
  double gamma_gap() {
    const double shape = options_.burstiness;
    if (shape == 1) {
      return -std::log1p(-rng_.uniform());
    }
    // Below 1 the method draws for shape + 1 and corrects with a power of a uniform number.
    const double boost = shape < 1 ? std::pow(1 - rng_.uniform(), 1 / shape) : 1;
    const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = rng_.normal();
      const double v = std::pow(1 + c * x, 3);
      if (v > 0 && std::log1p(-rng_.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) {
        return boost * d * v / shape;
      }
    }
  }

  OpenLoopOptions options_;
  SpecMaker maker_;
  Rng rng_;
  double now_s_ = 0;
  bool known_ = false;
  int64_t taken_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<RequestSource>> make_closed_loop(const ClosedLoopOptions& options,
                                                          const SyntheticLengths& lengths,
                                                          uint64_t seed) {
  DFSIM_RETURN_IF_ERROR(check_synthetic(options.requests, lengths));
  if (options.users < 1 || options.users > 1'000'000) {
    return invalid_input("workload: " + std::to_string(options.users) +
                         " users, expected 1 to 1000000");
  }
  if (options.think_ns < 0 || options.ramp_ns < 0) {
    return invalid_input("workload: a negative think or ramp time, expected 0 or more");
  }
  return std::unique_ptr<RequestSource>(std::make_unique<ClosedLoop>(options, lengths, seed));
}

StatusOr<std::unique_ptr<RequestSource>> make_open_loop(const OpenLoopOptions& options,
                                                        const SyntheticLengths& lengths,
                                                        uint64_t seed) {
  DFSIM_RETURN_IF_ERROR(check_synthetic(options.requests, lengths));
  if (!(options.requests_per_s > 0) || !(options.requests_per_s <= 1e9)) {
    return invalid_input("workload: a rate of " + std::to_string(options.requests_per_s) +
                         " requests/s, expected more than 0 and at most 1e9");
  }
  if (!(options.burstiness >= 0.01) || !(options.burstiness <= 1000)) {
    return invalid_input("workload: burstiness " + std::to_string(options.burstiness) +
                         ", expected 0.01 to 1000 (1: Poisson)");
  }
  return std::unique_ptr<RequestSource>(std::make_unique<OpenLoop>(options, lengths, seed));
}

}  // namespace dfsim::inline serving
