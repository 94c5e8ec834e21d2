// Findings about the rows that a training uses, besides the trees.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "opmodel/model/model_manifest.h"
#include "opmodel/samples/contradictions.h"
#include "opmodel/samples/training_data.h"

namespace dfsim::inline opmodel {

// Marks the samples that the rest of the profile speaks against (opmodel/samples/contradictions.h)
// and lists their rows, the farthest off first.
std::vector<ContradictingRow> mark_contradictions(const Profile& profile, TrainingData* data);

// How far single measurements of one shape lie from their median: the 10 % and 90 % quantiles,
// where enough shapes were measured often enough. `repeats`: times by lookup key.
void measure_repeats(const std::map<uint64_t, std::vector<double>>& repeats,
                     ModelManifest* manifest);

}  // namespace dfsim::inline opmodel
