// Split conformal prediction over networks: the scale that holds the wanted share of distances,
// and the same without each network in turn.
#include "study/validation/interval_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline study {
namespace {

constexpr double kShare = 0.8;
constexpr double kLeastScale = 0.01;
constexpr double kMostScale = 100;

struct Distance {
  std::string network;
  double value = 0;  // in half widths of the interval at scale 1
};

Distance distance_of(const ValidatedRun& run) {
  const auto log_ratio = [&run](TimeNs time_ns) {
    return std::log(static_cast<double>(std::max<TimeNs>(time_ns, 1)) /
                    static_cast<double>(std::max<TimeNs>(run.predicted_ns, 1)));
  };
  // Towards the end of the interval on the measurement's side.
  const double distance = log_ratio(run.measured_ns);
  const double end = log_ratio(distance < 0 ? run.interval.low_ns : run.interval.high_ns);
  const double half_width = std::abs(end) / run.interval_scale;
  return {run.network, half_width > 0 ? std::abs(distance) / half_width : kMostScale};
}

// The (n + 1) share-th of n distances bounds a new one with that probability. Leaves a network out;
// "" leaves none.
double scale_without(const std::vector<Distance>& distances, const std::string& left_out) {
  std::vector<double> values;
  for (const Distance& distance : distances) {
    if (left_out.empty() || distance.network != left_out) {
      values.push_back(distance.value);
    }
  }
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<size_t>(std::ceil((n + 1) * kShare));
  return std::clamp(values[std::min(rank, values.size()) - 1], kLeastScale, kMostScale);
}

IntervalFit fit(const std::string& device, const std::vector<Distance>& distances) {
  IntervalFit fit;
  fit.device = device;
  fit.runs = distances.size();
  fit.scale = scale_without(distances, "");
  std::map<std::string, double> others;  // the scale without each network
  for (const Distance& distance : distances) {
    const auto [it, is_new] = others.try_emplace(distance.network, 0);
    if (is_new) {
      it->second = scale_without(distances, distance.network);
    }
    fit.inside += distance.value <= it->second ? 1 / static_cast<double>(distances.size()) : 0;
  }
  fit.networks = others.size();
  return fit;
}

size_t count_networks(const std::vector<Distance>& distances) {
  std::vector<std::string> names;
  for (const Distance& distance : distances) {
    names.push_back(distance.network);
  }
  std::sort(names.begin(), names.end());
  return static_cast<size_t>(std::unique(names.begin(), names.end()) - names.begin());
}

}  // namespace

StatusOr<std::vector<IntervalFit>> fit_intervals(const std::vector<ValidatedRun>& runs) {
  std::vector<std::string> devices;
  std::map<std::string, std::vector<Distance>> distances;
  for (const ValidatedRun& run : runs) {
    if (!run.complete()) {
      continue;
    }
    std::vector<Distance>& of_device = distances[run.device];
    if (of_device.empty()) {
      devices.push_back(run.device);
    }
    of_device.push_back(distance_of(run));
  }
  std::vector<IntervalFit> fits;
  for (const std::string& device : devices) {
    if (const size_t networks = count_networks(distances[device]); networks < kLeastNetworks) {
      return invalid_input(
          fmt::format("device '{}' has runs of {} networks, expected {} or more to learn from how "
                      "wide intervals have to be; measure more networks",
                      printable(device), networks, kLeastNetworks));
    }
    fits.push_back(fit(device, distances[device]));
  }
  return fits;
}

Status write_interval_scales(const std::string& directory, const std::vector<IntervalFit>& fits) {
  DFSIM_ASSIGN_OR_RETURN(ModelManifest manifest, read_manifest(directory));
  for (const IntervalFit& fit : fits) {
    std::erase_if(manifest.interval_scales,
                  [&fit](const auto& entry) { return entry.first == fit.device; });
    manifest.interval_scales.emplace_back(fit.device, fit.scale);
  }
  return write_manifest(directory, manifest);
}

}  // namespace dfsim::inline study
