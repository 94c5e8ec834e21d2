// Logarithmic buckets from the bits of the value: the position of the highest bit and the eight
// bits below it.
#include "serving/metrics/histogram.h"

#include <algorithm>
#include <bit>

namespace dfsim::inline serving {
namespace {

constexpr int kSubBits = 8;
constexpr TimeNs kExactBelow = TimeNs{1} << (kSubBits + 1);  // one bucket per value below this

}  // namespace

size_t TimeHistogram::index_of(TimeNs value_ns) {
  if (value_ns < kExactBelow) {
    return static_cast<size_t>(value_ns);
  }
  const int shift = std::bit_width(static_cast<uint64_t>(value_ns)) - 1 - kSubBits;
  return static_cast<size_t>(shift + 1) * (size_t{1} << kSubBits) +
         static_cast<size_t>((value_ns >> shift) - (TimeNs{1} << kSubBits));
}

TimeNs TimeHistogram::low_of(size_t index) {
  if (index < static_cast<size_t>(kExactBelow)) {
    return static_cast<TimeNs>(index);
  }
  const int shift = static_cast<int>(index >> kSubBits) - 1;
  const TimeNs mantissa =
      static_cast<TimeNs>(index & ((size_t{1} << kSubBits) - 1)) + (TimeNs{1} << kSubBits);
  return mantissa << shift;
}

void TimeHistogram::add(TimeNs value_ns, int64_t count) {
  value_ns = std::max<TimeNs>(0, value_ns);
  const size_t index = index_of(value_ns);
  if (index >= counts_.size()) {
    counts_.resize(index + 1);
  }
  counts_[index] += count;
  min_ns_ = count_ == 0 ? value_ns : std::min(min_ns_, value_ns);
  max_ns_ = std::max(max_ns_, value_ns);
  count_ += count;
  sum_ns_ += static_cast<double>(value_ns) * static_cast<double>(count);
}

double TimeHistogram::mean_ns() const {
  return count_ == 0 ? 0 : sum_ns_ / static_cast<double>(count_);
}

double TimeHistogram::quantile_ns(double q) const {
  const double rank = q * static_cast<double>(count_);
  double before = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const double here = static_cast<double>(counts_[i]);
    if (here > 0 && before + here >= rank) {
      const double low = static_cast<double>(low_of(i));
      const double width = static_cast<double>(low_of(i + 1)) - low;
      const double value = width <= 1 ? low : low + width * (rank - before) / here;
      return std::clamp(value, static_cast<double>(min_ns_), static_cast<double>(max_ns_));
    }
    before += here;
  }
  return static_cast<double>(max_ns_);
}

std::vector<TimeHistogram::Bucket> TimeHistogram::buckets(int per_octave) const {
  const size_t group =
      std::max<size_t>(1, (size_t{1} << kSubBits) / static_cast<size_t>(per_octave));
  std::vector<Bucket> result;
  for (size_t first = 0; first < counts_.size(); first += group) {
    int64_t count = 0;
    for (size_t i = first; i < std::min(counts_.size(), first + group); ++i) {
      count += counts_[i];
    }
    if (count > 0) {
      result.push_back({low_of(first), low_of(first + group), count});
    }
  }
  return result;
}

TimeSummary summarize_times(const TimeHistogram& histogram) {
  const double scale = 1.0 / static_cast<double>(kNsPerMs);
  return {histogram.count(),
          histogram.mean_ns() * scale,
          histogram.quantile_ns(0.5) * scale,
          histogram.quantile_ns(0.9) * scale,
          histogram.quantile_ns(0.99) * scale,
          static_cast<double>(histogram.max_ns()) * scale};
}

}  // namespace dfsim::inline serving
