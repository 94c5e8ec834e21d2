// How wide the interval of a part has to be on each device whose errors come from more than one
// recording. Internal to opmodel/train.
//
// Split conformal prediction with normalised scores (Papadopoulos, Proedrou, Vovk, Gammerman 2002,
// doi:10.1007/3-540-36755-1_29): the score of a row that the trees did not see is its error over
// the interval's half-width, and the scale is the score that 80 % of a device's rows do not
// exceed. Every recording of a device counts alike, however many rows it has: the next board is as
// likely to be like one as like the other.
#pragma once

#include <cstdint>
#include <span>

#include "opmodel/model/intervals.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

// A residual and where it is from.
struct DeviceResidual {
  uint32_t device = 0;  // index into the training data's devices
  uint32_t recording = 0;
  Residual residual;
};

// Half-widths that `residual` spans of the interval at its prediction; 0 = no error.
double interval_score(const IntervalTable& table, const Residual& residual);

// The scale for a device's residuals; 1 where they are too few to say. O(n log n).
double interval_scale_of(const IntervalTable& table, std::span<const DeviceResidual> residuals);

}  // namespace dfsim::inline opmodel
