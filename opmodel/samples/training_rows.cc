#include "opmodel/samples/training_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dfsim::inline opmodel {

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

}  // namespace dfsim::inline opmodel
