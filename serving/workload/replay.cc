// Replay of a trace: one request is read ahead, its time divided by the speedup. A trace of lengths
// alone is refused, because its requests have no times of arrival.
#include <cmath>
#include <utility>

#include "serving/workload/request_source.h"
#include "serving/workload/trace_reader.h"

namespace dfsim::inline serving {
namespace {

class Replay final : public RequestSource {
 public:
  Replay(const TraceReplayOptions& options, std::unique_ptr<RequestTraceReader> reader)
      : options_(options), reader_(std::move(reader)) {}

  StatusOr<std::optional<TimeNs>> peek() override {
    if (!next_ && (options_.requests == 0 || taken_ < options_.requests)) {
      DFSIM_ASSIGN_OR_RETURN(next_, reader_->next());
      if (next_) {
        next_->arrival_ns = static_cast<TimeNs>(
            std::llround(static_cast<double>(next_->arrival_ns) / options_.speedup));
      }
    }
    return next_ ? std::optional<TimeNs>(next_->arrival_ns) : std::optional<TimeNs>();
  }
  RequestSpec take() override {
    RequestSpec spec = std::move(*next_);
    next_.reset();
    ++taken_;
    return spec;
  }

 private:
  TraceReplayOptions options_;
  std::unique_ptr<RequestTraceReader> reader_;
  std::optional<RequestSpec> next_;
  int64_t taken_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<RequestSource>> make_replay(const TraceReplayOptions& options) {
  if (!(options.speedup > 0) || !(options.speedup <= 1e6)) {
    return invalid_input("workload: a speedup of " + std::to_string(options.speedup) +
                         ", expected more than 0 and at most 1000000");
  }
  if (options.requests < 0) {
    return invalid_input("workload: " + std::to_string(options.requests) +
                         " requests, expected 0 (all of the trace) or more");
  }
  DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<RequestTraceReader> reader,
                         RequestTraceReader::open(options.path));
  if (!reader->has_times()) {
    return invalid_input(options.path +
                         ": the trace has no times of arrival, expected a timestamp per request; "
                         "add a column or key named timestamp");
  }
  return std::unique_ptr<RequestSource>(std::make_unique<Replay>(options, std::move(reader)));
}

}  // namespace dfsim::inline serving
