#include "study/prediction/verdict.h"

#include <algorithm>
#include <array>

#include "study/prediction/prediction.h"

namespace dfsim::inline study {
namespace {

// Copies limit a run when they take longer than the devices and the host.
Limit limit_of(const Verdict& verdict) {
  if (verdict.copy_share > std::max(verdict.device_share, verdict.host_share)) {
    return Limit::kTransfers;
  }
  return verdict.device_share >= verdict.host_share ? Limit::kDevice : Limit::kHost;
}

}  // namespace

std::string_view limit_name(Limit limit) {
  constexpr std::array<std::string_view, 4> kNames = {"nothing", "device", "host", "transfers"};
  return kNames[static_cast<size_t>(limit)];
}

Verdict make_verdict(const Prediction& prediction) {
  Verdict verdict;
  if (prediction.latency_ns <= 0) {
    return verdict;
  }
  const auto latency = static_cast<double>(prediction.latency_ns);
  TimeNs copies_ns = 0;
  for (const PredictedCopy& copy : prediction.copies) {
    copies_ns += copy.duration_ns;
  }
  verdict.device_share = static_cast<double>(prediction.device_busy_ns) / latency;
  verdict.host_share = static_cast<double>(prediction.host_busy_ns) / latency;
  verdict.copy_share = static_cast<double>(copies_ns) / latency;
  verdict.limit = limit_of(verdict);
  if (!prediction.classes.empty()) {
    verdict.main_class = prediction.classes.front().name;
    verdict.class_share = prediction.classes.front().fraction;
  }
  if (!prediction.bounds.empty()) {
    verdict.main_bound = prediction.bounds.front().name;
    verdict.bound_share = prediction.bounds.front().fraction;
  }
  return verdict;
}

}  // namespace dfsim::inline study
