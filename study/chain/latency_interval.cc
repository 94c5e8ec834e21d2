#include "study/chain/latency_interval.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "base/check.h"

namespace dfsim::inline study {
namespace {

// The 90 % quantile of a normal distribution: what an 80 % interval spans on either side.
constexpr double kSpan = 1.2816;
// The additional scatter of whole runs: networks that were measured again minutes later and
// normalised to one speed differed by 5 to 8 % (datasets/collect/ort_cpu). On another machine it
// and kCommonShare are a first guess, which measured networks correct (interval_fit.h).
constexpr double kRunScatter = 0.08;

constexpr double kWidest = 4.0;  // in ln; more would not be knowledge

// Standard deviations of what may come on top of the latency, or off it.
struct Deviation {
  double independent = 0;  // summed squares
  double common = 0;       // summed

  void add(double count, TimeNs distance_ns) {
    const double deviation = std::max(0.0, static_cast<double>(distance_ns) / kSpan);
    independent += count * count * deviation * deviation;
    common += count * deviation;
  }
  // The 80 % interval's width over the latency, on that side.
  double width(double latency, double scale) const {
    const double scatter = kRunScatter * latency;
    const double deviation = std::sqrt((1 - kCommonShare) * independent +
                                       kCommonShare * common * common + scatter * scatter);
    return latency > 0 ? scale * kSpan * deviation / latency : 0;
  }
};

// The width as a factor (in ln). The operators' times add up, and a sum on top of the latency is a
// factor only as long as it is small: three times the latency on top does not make a factor of e^3.
// Beyond kSmall the factor follows the tangent.
double log_above(double width) {
  constexpr double kSmall = 0.5;
  return std::min(width, kSmall) + std::log1p(std::max(width - kSmall, 0.0));
}

// Operators of a device that was not measured are too slow or too fast together: `common` (in ln)
// does not average out.
double factor_of(double width, double common) {
  return std::exp(std::min(std::hypot(width, common), kWidest));
}

// A bound of an operator's interval without what its device's operators have in common (in ln),
// which Deviation::factor() adds once for all of them: the squares of both add up to its square.
TimeNs own_bound(TimeNs time_ns, TimeNs bound_ns, double common) {
  if (common == 0 || time_ns <= 0 || bound_ns <= 0) {
    return bound_ns;
  }
  const double width = std::log(static_cast<double>(bound_ns) / static_cast<double>(time_ns));
  const double own = std::sqrt(std::max(width * width - common * common, 0.0));
  return static_cast<TimeNs>(
      std::llround(static_cast<double>(time_ns) * std::exp(std::copysign(own, width))));
}

}  // namespace

LatencyInterval latency_interval(const ExecGraph& graph, const CostTable& costs,
                                 std::span<const DeviceId> devices, TimeNs latency_ns) {
  DFSIM_CHECK(devices.size() == graph.task_count());
  std::map<std::pair<uint32_t, DeviceId>, double> counts;
  for (size_t t = 0; t < graph.task_count(); ++t) {
    counts[{graph.cost_row(TaskId(t)), devices[t]}] += 1;
  }
  Deviation below;
  Deviation above;
  double total = 0;
  double scaled = 0;
  double spread = 0;  // in ln
  for (const auto& [kind, count] : counts) {
    const OpCost& cost = costs.at(kind.first, kind.second);
    const double common = std::log(costs.common_spread(kind.second));
    below.add(count, cost.time_ns - own_bound(cost.time_ns, cost.low_ns, common));
    above.add(count, own_bound(cost.time_ns, cost.high_ns, common) - cost.time_ns);
    const double time = count * static_cast<double>(std::max<TimeNs>(cost.time_ns, 1));
    total += time;
    scaled += time * costs.interval_scale(kind.second);
    spread += time * common;
  }
  const auto latency = static_cast<double>(latency_ns);
  const double scale = total > 0 ? scaled / total : 1;
  const double common = total > 0 ? spread / total : 0;
  // In proportion, so that the lower end stays above 0.
  const double down = factor_of(below.width(latency, scale), common);
  const double up = factor_of(log_above(above.width(latency, scale)), common);
  return {static_cast<TimeNs>(std::llround(latency / down)),
          static_cast<TimeNs>(std::llround(latency * up))};
}

LatencyInterval with_largest_sizes(LatencyInterval interval, TimeNs latency_ns, TimeNs largest_ns) {
  constexpr double kMostShare = 0.995;  // something always runs
  if (latency_ns > 0) {
    const double share =
        std::min(static_cast<double>(largest_ns) / static_cast<double>(latency_ns), kMostShare);
    interval.low_ns = static_cast<TimeNs>(
        std::llround(static_cast<double>(interval.low_ns) * (1 - std::max(share, 0.0))));
  }
  return interval;
}

double host_spread(double dispatch_speed, bool autocast) {
  // NVIDIA's runs of 2021 took 1.28 times as long where they wait for the host; the hosts of an
  // H200 and an H100 were 1.31 and 1.5 times as fast as the assumed one.
  constexpr double kUnknownHost = 1.4;
  // Networks that wait for the host of an H200 whose speed was fitted to others: a mean error of
  // 9 % (docs/accuracy.md).
  constexpr double kKnownHost = 1.15;
  // Under autocast, these were 14 % off on average, and NVIDIA's runs took up to 1.7 times as long.
  constexpr double kAutocast = 1.15;
  return (dispatch_speed == 1 ? kUnknownHost : kKnownHost) * (autocast ? kAutocast : 1);
}

LatencyInterval with_host_doubt(LatencyInterval interval, TimeNs latency_ns,
                                const HostShare& host) {
  const auto latency = static_cast<double>(latency_ns);
  const auto busy = static_cast<double>(host.host_busy_ns);
  const auto device = static_cast<double>(host.device_busy_ns);
  if (latency <= 0 || busy <= 0 || host.spread <= 1) {
    return interval;
  }
  const bool waits = busy > device;
  const double fast = waits ? std::max(device, latency - busy * (1 - 1 / host.spread)) : latency;
  const double slow = std::max(latency, busy * host.spread);
  const auto widened = [latency](TimeNs bound_ns, double end) {
    const auto bound = static_cast<double>(std::max<TimeNs>(bound_ns, 1));
    return std::hypot(std::log(bound / latency), std::log(end / latency));
  };
  return {static_cast<TimeNs>(std::llround(latency / std::exp(widened(interval.low_ns, fast)))),
          static_cast<TimeNs>(std::llround(latency * std::exp(widened(interval.high_ns, slow))))};
}

}  // namespace dfsim::inline study
