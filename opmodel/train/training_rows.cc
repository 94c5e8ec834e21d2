#include "opmodel/train/training_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kMinRepeats = 3;

}  // namespace

std::vector<ContradictingRow> mark_contradictions(const Profile& profile, TrainingData* data) {
  std::vector<ContradictingRow> rows;
  for (OddSample& found : find_contradictions(*data)) {
    Sample& sample = data->samples[found.sample];
    sample.contradicts = true;
    const ProfileRow& row = profile.row(sample.row);
    rows.push_back({profile.text(row.op_type), profile.text(row.name), profile.text(row.network),
                    row.batch, found.factor, std::move(found.reason)});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ContradictingRow& a, const ContradictingRow& b) {
                     return std::abs(std::log(a.factor)) > std::abs(std::log(b.factor));
                   });
  return rows;
}

void measure_repeats(const std::map<uint64_t, std::vector<double>>& repeats,
                     ModelManifest* manifest) {
  std::vector<double> factors;
  for (const auto& [key, times] : repeats) {
    if (times.size() < kMinRepeats) {
      continue;
    }
    std::vector<double> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    for (const double time : sorted) {
      factors.push_back(time / sorted[sorted.size() / 2]);
    }
  }
  if (factors.size() >= 100) {
    std::sort(factors.begin(), factors.end());
    manifest->repeat_low = factors[factors.size() / 10];
    manifest->repeat_high = factors[factors.size() - 1 - factors.size() / 10];
  }
}

}  // namespace dfsim::inline opmodel
