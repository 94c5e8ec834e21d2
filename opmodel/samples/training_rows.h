// Findings about the rows that a training uses, besides the trees.
#pragma once

#include <vector>

#include "opmodel/samples/contradictions.h"
#include "opmodel/samples/training_data.h"

namespace dfsim::inline opmodel {

// Marks the samples that the rest of the profile speaks against (opmodel/samples/contradictions.h)
// and lists their rows, the farthest off first.
std::vector<ContradictingRow> mark_contradictions(const Profile& profile, TrainingData* data);

}  // namespace dfsim::inline opmodel
