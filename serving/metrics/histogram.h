// Distributions of times in constant memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace dfsim::inline serving {

// Counts of non-negative times in buckets of 1/256 octave: quantiles are off by at most 0.2 %,
// means and extremes are exact. O(1) per value.
class TimeHistogram {
 public:
  void add(TimeNs value_ns, int64_t count = 1);
  int64_t count() const { return count_; }
  double mean_ns() const;
  TimeNs max_ns() const { return max_ns_; }
  // 0 <= q <= 1, linear within a bucket; 0 when empty.
  double quantile_ns(double q) const;
  // Buckets that hold anything, as (lower bound in ns, count), merged to one per 1/`per_octave`
  // octave.
  struct Bucket {
    TimeNs low_ns;
    TimeNs high_ns;
    int64_t count;
  };
  std::vector<Bucket> buckets(int per_octave) const;

 private:
  static size_t index_of(TimeNs value_ns);
  static TimeNs low_of(size_t index);

  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  double sum_ns_ = 0;  // exact below 2^53 ns, about a hundred days
  TimeNs min_ns_ = 0;
  TimeNs max_ns_ = 0;
};

// A distribution in numbers, in milliseconds.
struct TimeSummary {
  int64_t count = 0;
  double mean_ms = 0;
  double p50_ms = 0;
  double p90_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};
TimeSummary summarize_times(const TimeHistogram& histogram);

}  // namespace dfsim::inline serving
