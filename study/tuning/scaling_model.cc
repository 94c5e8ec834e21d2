#include "study/tuning/scaling_model.h"

#include <algorithm>
#include <cmath>

namespace dfsim::inline study {

double scaled_time(const ScalingModel& model, int threads, int processes) {
  // A process's part of the saturated bandwidth, in units of what one core draws.
  const double part = model.saturation / processes;
  const double streams = std::min<double>(threads, std::max(part, 1e-3));
  return model.serial + model.compute / threads + model.memory / streams +
         model.fork * std::log2(threads);
}

}  // namespace dfsim::inline study
