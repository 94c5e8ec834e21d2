// A server's state over time, in a constant number of bins.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace dfsim::inline serving {

enum class SeriesValue : uint8_t { kRunning, kWaiting, kCacheUse, kOutputTokens, kPromptTokens };
inline constexpr int kSeriesValueCount = 5;

// Averages (running, waiting, cache use) and rates per second (tokens) over bins of equal width,
// which doubles whenever time outgrows kMaxBins bins. O(bins touched) per add().
class TimeSeries {
 public:
  static constexpr size_t kMaxBins = 512;
  using Values = std::array<double, kSeriesValueCount>;

  // The levels hold from start_ns to end_ns; token counts are spread evenly over that time.
  void add(TimeNs start_ns, TimeNs end_ns, const Values& values);
  TimeNs bin_ns() const { return bin_ns_; }
  // Per bin: means over the bin's width (time without steps counts as zero) and tokens per second.
  std::vector<Values> bins() const;

 private:
  void fit(TimeNs end_ns);

  TimeNs bin_ns_ = kNsPerMs;
  std::vector<Values> sums_;  // levels times ns, tokens
};

}  // namespace dfsim::inline serving
