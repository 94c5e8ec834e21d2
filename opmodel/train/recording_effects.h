// Recording effects: measurements of one device in several recordings (files), of other boards or
// on other days, and which of them a model should follow.
//
// Boards of one kind differ by a few percent, and a board that overheats or reaches its power limit
// loses half of its clock, more the longer it works: NeuSight's first recording of a T4 multiplies
// matrices at 3.1 TFLOP/s and the second at 3.9, those of a P4 at 1.0 and 4.1. Shapes are rarely in
// both, so trees fitted to the larger recording say how much slower or faster the other one is.
//   Below kHealthySpread: healthy boards. All rows count; the spread goes into the intervals.
//   Above: the slower one is throttled. With enough rows of the healthy one the trees get a column:
//     0 for its rows, 1 + rank in [0, 1) in the order of measurement (the clock falls) for those of
//     the throttled one. Predictions leave it 0. With few rows, the times of the throttled one are
//     divided by the effect, except for their launch.
// Related: mixed-effects models (Pinheiro and Bates 2000, doi:10.1007/b98882).
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/samples/training_data.h"
#include "opmodel/train/part_points.h"

namespace dfsim::inline opmodel {

// In ln: what recordings of healthy boards differ by at most.
inline constexpr double kHealthySpread = 0.10;

// Fills part->recordings and part->recording_column, and weight, column, throttled and perhaps
// time_us of the points. `points` have bases and sides; test points are not looked at. Does nothing
// for devices with one recording. Error: kFailed when trees cannot be fitted.
Status separate_recordings(const TrainingData& data, uint64_t seed, ModelPart* part,
                           std::vector<PartPoint>* points);

// Widens intervals by what recordings differ by, at most kHealthySpread, as an independent error.
void widen_by_recordings(const std::vector<RecordingEffect>& recordings, IntervalTable* table);

}  // namespace dfsim::inline opmodel
