// The median deviation of one operator instance from other operators of its shape, over its
// runs; only deviations that repeat are kept.
#include "opmodel/samples/instance_effects.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "datasets/profiles/statistics.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kMostDeviation = 0.5;  // of one time that is believed, in ln
constexpr double kLeastEffect = 0.001;  // worth keeping
constexpr size_t kLeastInstances = 30;  // to tell lasting effects from noise

// ln(time / median of the shape) of one instance, by run.
using Deviations = std::map<uint64_t, std::vector<double>>;

Deviations deviations_of(const TrainingData& data) {
  using Shape = std::tuple<uint32_t, uint32_t, int>;  // op, device, timing
  std::map<Shape, std::vector<const Sample*>> shapes;
  for (const Sample& sample : data.samples) {
    if (sample.instance != 0) {
      shapes[{sample.op, sample.device, static_cast<int>(sample.timing)}].push_back(&sample);
    }
  }
  Deviations deviations;
  for (const auto& [shape, samples] : shapes) {
    std::set<uint64_t> instances;
    std::vector<double> times;
    for (const Sample* sample : samples) {
      instances.insert(sample->instance);
      times.push_back(sample->time_us);
    }
    if (instances.size() < 2) {
      continue;  // nothing to differ from
    }
    const double usual = median(times);
    for (const Sample* sample : samples) {
      deviations[sample->instance].push_back(
          std::clamp(std::log(sample->time_us / usual), -kMostDeviation, kMostDeviation));
    }
  }
  return deviations;
}

}  // namespace

std::vector<std::pair<uint64_t, double>> instance_effects(const TrainingData& data) {
  const Deviations deviations = deviations_of(data);
  double products = 0;
  double squares = 0;
  size_t pairs = 0;
  size_t instances = 0;
  for (const auto& [instance, list] : deviations) {
    if (list.size() < 2) {
      continue;
    }
    ++instances;
    for (size_t i = 1; i < list.size(); ++i) {
      products += list[i - 1] * list[i];
      squares += (list[i - 1] * list[i - 1] + list[i] * list[i]) / 2;
      ++pairs;
    }
  }
  if (instances < kLeastInstances || products <= 0) {
    return {};
  }
  const double lasting = products / static_cast<double>(pairs);
  const double noise = std::max(squares / static_cast<double>(pairs) - lasting, 0.0);
  std::vector<std::pair<uint64_t, double>> effects;
  for (const auto& [instance, list] : deviations) {
    double sum = 0;
    for (const double deviation : list) {
      sum += deviation;
    }
    const double effect = sum * lasting / (static_cast<double>(list.size()) * lasting + noise);
    if (std::abs(effect) >= kLeastEffect) {
      effects.emplace_back(instance, effect);
    }
  }
  return effects;
}

}  // namespace dfsim::inline opmodel
