// Bins of integrals: a level adds level x time, a count its share by time. Doubling the width adds
// neighbours up, so nothing is lost.
#include "serving/metrics/time_series.h"

#include <algorithm>

namespace dfsim::inline serving {
namespace {

bool is_level(int value) { return value <= static_cast<int>(SeriesValue::kCacheUse); }

}  // namespace

void TimeSeries::fit(TimeNs end_ns) {
  while ((end_ns - 1) / bin_ns_ >= static_cast<TimeNs>(kMaxBins)) {
    std::vector<Values> merged((sums_.size() + 1) / 2);
    for (size_t i = 0; i < sums_.size(); ++i) {
      for (size_t v = 0; v < merged[0].size(); ++v) {
        merged[i / 2][v] += sums_[i][v];
      }
    }
    sums_ = std::move(merged);
    bin_ns_ *= 2;
  }
}

void TimeSeries::add(TimeNs start_ns, TimeNs end_ns, const Values& values) {
  if (end_ns <= start_ns) {
    return;
  }
  fit(end_ns);
  const size_t last = static_cast<size_t>((end_ns - 1) / bin_ns_);
  if (last >= sums_.size()) {
    sums_.resize(last + 1);
  }
  const double whole = static_cast<double>(end_ns - start_ns);
  for (size_t bin = static_cast<size_t>(start_ns / bin_ns_); bin <= last; ++bin) {
    const TimeNs low = std::max(start_ns, static_cast<TimeNs>(bin) * bin_ns_);
    const TimeNs high = std::min(end_ns, static_cast<TimeNs>(bin + 1) * bin_ns_);
    const double part = static_cast<double>(high - low);
    for (int v = 0; v < kSeriesValueCount; ++v) {
      const size_t index = static_cast<size_t>(v);
      sums_[bin][index] += values[index] * (is_level(v) ? part : part / whole);
    }
  }
}

std::vector<TimeSeries::Values> TimeSeries::bins() const {
  std::vector<Values> result = sums_;
  for (Values& bin : result) {
    for (int v = 0; v < kSeriesValueCount; ++v) {
      const double width = static_cast<double>(bin_ns_);
      bin[static_cast<size_t>(v)] /=
          is_level(v) ? width : width / static_cast<double>(kNsPerSecond);
    }
  }
  return result;
}

}  // namespace dfsim::inline serving
