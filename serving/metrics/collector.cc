// Books steps and finished requests.
#include "serving/metrics/collector.h"

#include <algorithm>

namespace dfsim::inline serving {

void Collector::step(const StepRecord& record) {
  const double steps = static_cast<double>(record.steps);
  const double decodes = static_cast<double>(record.decodes);
  const double cache_use = static_cast<double>(record.held_blocks) /
                           static_cast<double>(std::max<int64_t>(1, cache_blocks_));
  series_.add(record.start_ns, record.end_ns,
              {decodes + static_cast<double>(record.prefills), static_cast<double>(record.waiting),
               cache_use, decodes * steps, static_cast<double>(record.prefill_tokens) * steps});
  for (size_t part = 0; part < split_ns_.size(); ++part) {
    split_ns_[part] += record.split_ns[part];
  }
  steps_ += record.steps;
  busy_ns_ += record.end_ns - record.start_ns;
  sigma_ns_ += record.log_sigma * static_cast<double>(record.end_ns - record.start_ns);
  peak_blocks_ = std::max(peak_blocks_, record.held_blocks);
  if (record.decodes > 0) {
    decode_steps_ += record.steps;
    decodes_ += record.steps * record.decodes;
  }
}

void Collector::finished(const Sequence& sequence) {
  last_token_ns_ = std::max(last_token_ns_, sequence.last_token_ns);
  if (sequence.spec.id < warmup_) {
    return;
  }
  const TimeNs arrival_ns = sequence.spec.arrival_ns;
  if (first_arrival_ns_ < 0 || arrival_ns < first_arrival_ns_) {
    first_arrival_ns_ = arrival_ns;
  }
  ++requests_;
  prompt_tokens_ += sequence.spec.prompt_tokens;
  output_tokens_ += sequence.spec.output_tokens;
  cached_tokens_ += sequence.cached_prefix;
  const TimeNs ttft_ns = sequence.first_token_ns - arrival_ns;
  const TimeNs e2e_ns = sequence.last_token_ns - arrival_ns;
  ttft_.add(ttft_ns);
  e2e_.add(e2e_ns);
  queue_.add(sequence.admitted_ns - arrival_ns);
  double tpot_ns = 0;
  if (sequence.spec.output_tokens > 1) {
    tpot_ns = static_cast<double>(sequence.last_token_ns - sequence.first_token_ns) /
              static_cast<double>(sequence.spec.output_tokens - 1);
    tpot_.add(static_cast<TimeNs>(tpot_ns));
  }
  const double ms = static_cast<double>(kNsPerMs);
  const bool good = (!level_.ttft_ms || static_cast<double>(ttft_ns) <= *level_.ttft_ms * ms) &&
                    (!level_.tpot_ms || tpot_ns <= *level_.tpot_ms * ms) &&
                    (!level_.e2e_ms || static_cast<double>(e2e_ns) <= *level_.e2e_ms * ms);
  good_requests_ += good ? 1 : 0;
}

double Collector::mean_decodes() const {
  return decode_steps_ == 0 ? 0
                            : static_cast<double>(decodes_) / static_cast<double>(decode_steps_);
}

double Collector::mean_log_sigma() const {
  return busy_ns_ == 0 ? 0 : sigma_ns_ / static_cast<double>(busy_ns_);
}

}  // namespace dfsim::inline serving
