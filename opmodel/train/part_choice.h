// Which parts a model gets from its samples: one per class, kind, family and kind of timing with
// enough shapes, and one per class for everything else.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/samples/training_data.h"
#include "opmodel/train/part_trainer.h"

namespace dfsim::inline opmodel {

// One part to be fitted, with the samples that it is fitted to; the fit fills in the rest.
struct ChosenPart {
  ModelPart part;
  std::vector<uint32_t> samples;
  std::string continue_from;
  size_t shapes = 0;
  FittedPart fitted;
  Status status;
  double seconds = 0;
};

using PartKey = std::tuple<int, std::string, int, int>;  // class, kind, family, timing

PartKey part_key(const ModelPart& part);
// Of the trees of a part, beside the manifest.
std::string part_file_name(const ModelPart& part);

// Samples by part, in the order of their keys. `known` are parts with trees that exist already:
// they take new rows however few they are. O(n log n).
std::vector<ChosenPart> choose_parts(const TrainingData& data, const std::set<PartKey>& known);

}  // namespace dfsim::inline opmodel
