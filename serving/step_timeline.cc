// From kernel times with repeats to spans: each group of like layers is repeated layer by layer.
#include "serving/step_timeline.h"

#include <cmath>

namespace dfsim::inline serving {
namespace {

// Appends spans one after another.
class SpanWriter {
 public:
  explicit SpanWriter(StepTimeline* timeline) : timeline_(timeline) {}
  void add(const std::string& name, StepPart part, int64_t layer, double time_us) {
    timeline_->spans.push_back({name, part, layer, timeline_->time_us, time_us});
    timeline_->time_us += time_us;
  }

 private:
  StepTimeline* timeline_;
};

}  // namespace

StatusOr<StepTimeline> step_timeline(StepCostModel* costs, const StepBatch& batch) {
  DFSIM_ASSIGN_OR_RETURN(const StepCost cost, costs->cost(batch));
  DFSIM_ASSIGN_OR_RETURN(const std::vector<KernelTime> kernels, costs->explain(batch));
  StepTimeline timeline;
  timeline.sequences = static_cast<int64_t>(batch.decode.size());
  timeline.context_tokens = batch.decode.empty() ? 0 : batch.decode.front().context_tokens;
  for (const SequenceSlice& slice : batch.prefill) {
    timeline.prompt_tokens += slice.new_tokens;
  }
  SpanWriter spans(&timeline);
  int64_t first_layer = 0;
  for (size_t begin = 0; begin < kernels.size();) {
    size_t end = begin;
    while (end < kernels.size() && kernels[end].group == kernels[begin].group) {
      ++end;
    }
    const bool layers = kernels[begin].group != kOutsideLayers;
    const int64_t repeats = layers ? std::llround(kernels[begin].repeats) : 1;
    for (int64_t layer = 0; layer < repeats; ++layer) {
      for (size_t i = begin; i < end; ++i) {
        // Outside layers a kernel that repeats (sends between pipeline stages) is one span.
        const double each = layers ? 1 : kernels[i].repeats;
        spans.add(kernels[i].name, kernels[i].part, layers ? first_layer + layer : -1,
                  each * kernels[i].time_us);
      }
    }
    first_layer += layers ? repeats : 0;
    begin = end;
  }
  const double host_us = static_cast<double>(cost.part(StepPart::kHost)) * 1e-3;
  if (host_us > 0) {
    spans.add("host", StepPart::kHost, -1, host_us);
  }
  return timeline;
}

}  // namespace dfsim::inline serving
