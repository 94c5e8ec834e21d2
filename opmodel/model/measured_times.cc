// Draws the time of a measured shape towards the model's answer by how noisy measurements of its
// kind are: one noisy measurement says less than the model, many agreeing ones say more.
#include "opmodel/model/measured_times.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "datasets/profiles/statistics.h"
#include "opmodel/model/lookup_table.h"

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kLeastRepeats = 3;      // of a shape
constexpr size_t kLeastFactors = 100;    // of all such shapes
constexpr double kNormal = 1.4826;       // standard deviation over median absolute deviation
constexpr double kLeastError = 0.02;     // of trees, however good they look
constexpr int64_t kMinHeldOutRows = 20;  // with fewer held-out rows nothing is known of the trees

struct MeasuredShape {
  uint32_t op = 0;
  uint32_t device = 0;
  TimingKind timing = TimingKind::kUnknown;
  std::vector<double> times_us;
};

// By lookup_key.
std::map<uint64_t, MeasuredShape> shapes_of(const TrainingData& data) {
  std::map<uint64_t, MeasuredShape> shapes;
  for (const Sample& sample : data.samples) {
    const std::string& device = data.devices[sample.device].model;
    MeasuredShape& shape = shapes[lookup_key(data.geometries[sample.op], device, sample.timing)];
    shape.op = sample.op;
    shape.device = sample.device;
    shape.timing = sample.timing;
    shape.times_us.push_back(sample.time_us);
  }
  return shapes;
}

double drawn_us(const MeasuredShape& shape, double measured_us, const ModelAnswer& answer,
                double noise, const TrainedModel& model) {
  if (answer.part < 0) {
    return measured_us;
  }
  const ErrorStats& held_out = model.manifest().parts[static_cast<size_t>(answer.part)].held_out;
  if (held_out.n < kMinHeldOutRows) {
    return measured_us;
  }
  const double weight =
      weight_of_measurements(noise, kNormal * held_out.median, shape.times_us.size());
  return std::exp(weight * std::log(measured_us) + (1 - weight) * std::log(answer.time_us));
}

}  // namespace

double weight_of_measurements(double noise, double error, size_t n) {
  const double own = std::max(error * error - noise * noise, kLeastError * kLeastError);
  return own / (own + noise * noise / static_cast<double>(n));
}

double noise_of(const std::vector<std::vector<double>>& repeats) {
  std::vector<double> differences;
  size_t repeated = 0;
  for (const std::vector<double>& times : repeats) {
    repeated += times.size() > 1 ? 1 : 0;
    for (size_t i = 1; i < times.size(); ++i) {
      differences.push_back(std::abs(std::log(times[i] / times[i - 1])));
    }
  }
  return repeated < kMinRepeatedShapes ? 0 : kNormal * median(differences) / std::sqrt(2.0);
}

StatusOr<std::vector<std::pair<uint64_t, float>>> measured_times(const TrainingData& data,
                                                                 const TrainedModel& model) {
  const std::map<uint64_t, MeasuredShape> shapes = shapes_of(data);
  std::map<std::pair<uint32_t, TimingKind>,
           std::vector<const std::pair<const uint64_t, MeasuredShape>*>>
      batches;
  std::map<std::pair<uint32_t, TimingKind>, std::vector<std::vector<double>>> repeats;
  for (const auto& entry : shapes) {
    const std::pair<uint32_t, TimingKind> batch = {entry.second.device, entry.second.timing};
    batches[batch].push_back(&entry);
    repeats[batch].push_back(entry.second.times_us);
  }
  std::vector<std::pair<uint64_t, float>> entries;
  for (const auto& [batch, members] : batches) {
    const double noise = noise_of(repeats[batch]);
    std::vector<OpDescriptor> ops;
    std::vector<OpGeometry> geometries;
    for (const auto* member : members) {
      ops.push_back(data.ops[member->second.op]);
      geometries.push_back(data.geometries[member->second.op]);
    }
    DFSIM_ASSIGN_OR_RETURN(const std::vector<ModelAnswer> answers,
                           model.predict_as(ops, geometries, data.devices[batch.first],
                                            {.timing = batch.second, .use_lookup = false}));
    for (size_t i = 0; i < members.size(); ++i) {
      const MeasuredShape& shape = members[i]->second;
      std::vector<double> times = shape.times_us;
      const double measured_us = median(times);
      entries.emplace_back(members[i]->first, static_cast<float>(drawn_us(
                                                  shape, measured_us, answers[i], noise, model)));
    }
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::optional<std::pair<double, double>> repeat_factors(
    const std::map<uint64_t, std::vector<double>>& repeats) {
  std::vector<double> factors;
  for (const auto& [key, times] : repeats) {
    if (times.size() < kLeastRepeats) {
      continue;
    }
    std::vector<double> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    for (const double time : sorted) {
      factors.push_back(time / sorted[sorted.size() / 2]);
    }
  }
  if (factors.size() < kLeastFactors) {
    return std::nullopt;
  }
  std::sort(factors.begin(), factors.end());
  return std::pair(factors[factors.size() / 10], factors[factors.size() - 1 - factors.size() / 10]);
}

}  // namespace dfsim::inline opmodel
