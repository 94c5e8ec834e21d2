// The server's front end: the process that takes requests in (HTTP, tokenising) and sends tokens
// out (detokenising, streaming). One event loop serves both, so at many tokens per second requests
// and tokens queue there while the GPUs wait.
//
// A queue with one server, first come first served. Units: microseconds of that process.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace dfsim::inline serving {

struct FrontendModel {
  double latency_us = 0;  // of each request before the engine sees it, without occupying anybody
  double request_us = 0;  // to take a request in
  double prompt_token_us = 0;  // to tokenise, per prompt token
  double output_token_us = 0;  // to detokenise and send, per output token
};

class Frontend {
 public:
  explicit Frontend(const FrontendModel& model) : model_(model) {}

  // When the engine sees a request that was sent at `now`. Calls come in order of time.
  TimeNs take_in(TimeNs now, int64_t prompt_tokens) {
    const double work_us =
        model_.request_us + model_.prompt_token_us * static_cast<double>(prompt_tokens);
    occupy(now, work_us);
    return free_ns_ + to_ns(model_.latency_us);
  }
  // When clients have the `tokens` tokens of a step that ended at `now`.
  TimeNs send_out(TimeNs now, int64_t tokens) {
    occupy(now, model_.output_token_us * static_cast<double>(tokens));
    return free_ns_;
  }
  TimeNs busy_ns() const { return busy_ns_; }

 private:
  static TimeNs to_ns(double us) { return static_cast<TimeNs>(std::llround(us * 1e3)); }
  void occupy(TimeNs now, double work_us) {
    const TimeNs work_ns = to_ns(work_us);
    free_ns_ = std::max(free_ns_, now) + work_ns;
    busy_ns_ += work_ns;
  }

  FrontendModel model_;
  TimeNs free_ns_ = 0;
  TimeNs busy_ns_ = 0;
};

}  // namespace dfsim::inline serving
