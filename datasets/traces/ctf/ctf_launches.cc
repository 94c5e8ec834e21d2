// Two queues meet: calls in the order of the host, work in the order of the device.
#include "datasets/traces/ctf/ctf_launches.h"

#include <algorithm>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

// How far a name may reorder the queue.
constexpr size_t kLookAhead = 64;

SpanKind launched_kind(std::string_view function) {
  const std::string lower = to_lower(function);
  const auto has = [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  return has("launch") && !has("launchhostfunc") ? SpanKind::kKernel
         : has("memcpy")                         ? SpanKind::kCopy
         : has("memset")                         ? SpanKind::kMemset
                                                 : SpanKind::kOther;
}

size_t slot_of(SpanKind kind) {
  return kind == SpanKind::kKernel ? 0 : kind == SpanKind::kCopy ? 1 : 2;
}

// "conv0" and "conv0/Conv2D", but not "conv" and "conv0".
bool is_named_like(std::string_view op, std::string_view work) {
  return !work.empty() && op.starts_with(work) &&
         (op.size() == work.size() || op[work.size()] == '/' || op[work.size()] == ':');
}

}  // namespace

int64_t CtfLaunchJoiner::call(const Trace& trace, NameId function, NameId op, double time_us) {
  const SpanKind kind = kinds_.of(trace, function, launched_kind);
  if (kind == SpanKind::kOther) {
    return -1;
  }
  calls_[slot_of(kind)].push_back({time_us, next_, op});
  return next_++;
}

int64_t CtfLaunchJoiner::queued(NameId op, double time_us) {
  queued_.push_back({time_us, next_, op});
  return next_++;
}

void CtfLaunchJoiner::work(SpanKind kind, NameId op, double time_us, size_t span) {
  works_[slot_of(kind)].push_back({time_us, span, op});
}

void CtfLaunchJoiner::join(Trace* trace) {
  if (calls_[0].empty()) {
    calls_[0] = std::move(queued_);
  }
  for (size_t slot = 0; slot < calls_.size(); ++slot) {
    join_kind(&calls_[slot], &works_[slot], trace);
  }
}

void CtfLaunchJoiner::join_kind(std::vector<Call>* calls, std::vector<Work>* works, Trace* trace) {
  std::ranges::stable_sort(*calls, {}, &Call::time_us);
  std::ranges::stable_sort(*works, {}, &Work::time_us);
  size_t first = 0;  // all calls before it are joined
  for (const Work& work : *works) {
    while (first < calls->size() && (*calls)[first].joined) {
      ++first;
    }
    Call* found = nullptr;
    size_t seen = 0;
    for (size_t i = first; i < calls->size() && seen < kLookAhead; ++i) {
      Call& call = (*calls)[i];
      if (call.time_us > work.time_us) {
        break;
      }
      if (call.joined) {
        continue;
      }
      ++seen;
      found = found == nullptr ? &call : found;
      if (is_named_like(trace->text(call.op), trace->text(work.op))) {
        found = &call;
        break;
      }
    }
    if (found != nullptr) {
      found->joined = true;
      trace->spans[work.span].correlation = found->correlation;
    }
  }
}

}  // namespace dfsim::inline datasets
