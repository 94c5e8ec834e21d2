// Collects what a simulated server's clients and engines see, in constant memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "serving/engine/replica.h"
#include "serving/metrics/histogram.h"
#include "serving/metrics/time_series.h"

namespace dfsim::inline serving {

// Limits that a request must keep to count for goodput; absent ones are kept by all.
struct ServiceLevel {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
  std::optional<double> e2e_ms;

  bool any() const { return ttft_ms || tpot_ms || e2e_ms; }
};

// Terms as the serving world uses them: TTFT from sending to the first token; TPOT the mean time
// per token after the first, of one request; ITL the time between two tokens; e2e from sending to
// the last token.
class Collector : public ReplicaListener {
 public:
  // The first `warmup` requests count for nothing but the time series.
  Collector(const ServiceLevel& level, int64_t warmup, int64_t cache_blocks)
      : level_(level), warmup_(warmup), cache_blocks_(cache_blocks) {}

  void step(const StepRecord& record) override;
  void token_gap(TimeNs gap_ns, int64_t count) override { itl_.add(gap_ns, count); }
  void finished(const Sequence& sequence) override;

  const TimeHistogram& ttft() const { return ttft_; }
  const TimeHistogram& tpot() const { return tpot_; }
  const TimeHistogram& itl() const { return itl_; }
  const TimeHistogram& e2e() const { return e2e_; }
  const TimeHistogram& queue() const { return queue_; }
  const TimeSeries& series() const { return series_; }
  const std::array<double, kStepPartCount>& split_ns() const { return split_ns_; }

  int64_t requests() const { return requests_; }  // finished, warm-up left out
  int64_t good_requests() const { return good_requests_; }
  int64_t prompt_tokens() const { return prompt_tokens_; }
  int64_t output_tokens() const { return output_tokens_; }
  int64_t cached_tokens() const { return cached_tokens_; }
  int64_t steps() const { return steps_; }
  TimeNs busy_ns() const { return busy_ns_; }
  TimeNs first_arrival_ns() const { return first_arrival_ns_; }
  TimeNs last_token_ns() const { return last_token_ns_; }
  double mean_decodes() const;  // per step that decodes
  int64_t peak_blocks() const { return peak_blocks_; }
  double mean_log_sigma() const;  // of steps, weighted by their time

 private:
  ServiceLevel level_;
  int64_t warmup_;
  int64_t cache_blocks_;
  TimeHistogram ttft_, tpot_, itl_, e2e_, queue_;
  TimeSeries series_;
  std::array<double, kStepPartCount> split_ns_{};
  int64_t requests_ = 0, good_requests_ = 0, prompt_tokens_ = 0, output_tokens_ = 0,
          cached_tokens_ = 0, steps_ = 0, peak_blocks_ = 0, decode_steps_ = 0, decodes_ = 0;
  TimeNs busy_ns_ = 0, first_arrival_ns_ = -1, last_token_ns_ = 0;
  double sigma_ns_ = 0;
};

}  // namespace dfsim::inline serving
