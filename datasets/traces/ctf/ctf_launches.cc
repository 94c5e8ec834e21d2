// Two queues meet: calls in the order of the host, work in the order of the device.
#include "datasets/traces/ctf/ctf_launches.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

// Calls whose work was not recorded must not hold up all others.
constexpr size_t kMostWaiting = 4096;
// How far a name may reorder the queue.
constexpr size_t kLookAhead = 64;

SpanKind launched_kind(std::string_view function) {
  const std::string lower = to_lower(function);
  const auto has = [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  return has("launch")   ? SpanKind::kKernel
         : has("memcpy") ? SpanKind::kCopy
         : has("memset") ? SpanKind::kMemset
                         : SpanKind::kOther;
}

// "conv0" and "conv0/Conv2D", but not "conv" and "conv0".
bool is_named_like(std::string_view op, std::string_view work) {
  return !work.empty() && op.starts_with(work) &&
         (op.size() == work.size() || op[work.size()] == '/' || op[work.size()] == ':');
}

}  // namespace

int CtfLaunchJoiner::slot_of(SpanKind kind) {
  return kind == SpanKind::kKernel ? 0 : kind == SpanKind::kCopy ? 1 : 2;
}

int64_t CtfLaunchJoiner::call(std::string_view function, std::string_view op, double time_us) {
  const SpanKind kind = launched_kind(function);
  if (kind == SpanKind::kOther) {
    return -1;
  }
  std::deque<Waiting>& waiting = waiting_[slot_of(kind)];
  if (waiting.size() == kMostWaiting) {
    waiting.pop_front();
  }
  waiting.push_back({next_, time_us, std::string(op)});
  return next_++;
}

int64_t CtfLaunchJoiner::work(SpanKind kind, std::string_view name, double time_us) {
  std::deque<Waiting>& waiting = waiting_[slot_of(kind)];
  const auto last =
      waiting.begin() + static_cast<std::ptrdiff_t>(std::min(waiting.size(), kLookAhead));
  auto found = std::find_if(waiting.begin(), last, [&](const Waiting& call) {
    return call.time_us <= time_us && is_named_like(call.op, name);
  });
  if (found == last) {
    found = std::find_if(waiting.begin(), last,
                         [&](const Waiting& call) { return call.time_us <= time_us; });
  }
  if (found == last) {
    return -1;
  }
  const int64_t correlation = found->correlation;
  waiting.erase(found);
  return correlation;
}

}  // namespace dfsim::inline datasets
