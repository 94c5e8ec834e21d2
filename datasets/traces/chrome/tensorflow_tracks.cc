#include "datasets/traces/chrome/tensorflow_tracks.h"

#include "base/text.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Queues that say again what the single ones say.
bool is_summary(const Track& track) {
  return track.kind == TrackKind::kDevice &&
         (has(track.process, "/stream:all") || has(track.process, "/memcpy"));
}

// The number of "/gpu:1/stream:7", "/device:GPU:1/memcpy"; 0 when it is not said.
int64_t device_number(std::string_view process) {
  const std::string lower = to_lower(process);
  const size_t at = lower.find("gpu:");
  if (at == std::string::npos) {
    return 0;
  }
  const size_t end = lower.find_first_not_of("0123456789", at + 4);
  return parse_number<int64_t>(std::string_view(lower).substr(at + 4, end - at - 4)).value_or(0);
}

}  // namespace

bool is_tensorflow_queue(std::string_view process) {
  return has(process, "/stream:") || has(process, "/memcpy");
}

void finish_tensorflow_tracks(Trace* trace) {
  bool single_streams = false;
  for (Track& track : trace->tracks) {
    if (is_tensorflow_queue(track.process)) {
      track.kind = TrackKind::kDevice;
      track.device = device_number(track.process);
      single_streams |= !is_summary(track);
    }
  }
  std::vector<Span> kept;
  kept.reserve(trace->spans.size());
  for (Span& span : trace->spans) {
    const Track& track = trace->track(span.track);
    if (single_streams && is_summary(track)) {
      continue;
    }
    if (span.kind == SpanKind::kOp && span.detail.valid()) {
      span.external = int64_t{span.detail.value()} + 1;  // work and operator share the node
    }
    if (span.kind == SpanKind::kOp && track.kind == TrackKind::kDevice) {
      const bool copy = to_lower(trace->text(span.name)).starts_with("memcpy");
      span.kind = copy ? SpanKind::kCopy : SpanKind::kKernel;
    }
    kept.push_back(span);
  }
  trace->spans = std::move(kept);
}

}  // namespace dfsim::inline datasets
