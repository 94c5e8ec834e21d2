// 80 % intervals from residuals: by range of predicted time, the quantiles of ln(time / prediction)
// on rows that the trees did not see, with the correction for finite samples of split conformal
// prediction (Lei et al. 2018, doi:10.1080/01621459.2017.1307116).
#pragma once

#include <vector>

#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

struct Residual {
  double predicted_us = 0;
  double log_ratio = 0;  // ln(time / prediction)
};

// Up to four ranges with at least 100 residuals each. O(n log n).
IntervalTable interval_table(std::vector<Residual> residuals);

}  // namespace dfsim::inline opmodel
