// Distributions and time series in constant memory.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/rng.h"
#include "serving/metrics/histogram.h"
#include "serving/metrics/time_series.h"

namespace dfsim {
namespace {

TEST_CASE("Time histogram: means are exact, quantiles within 0.4 %") {
  Rng rng(5);
  TimeHistogram histogram;
  std::vector<TimeNs> values;
  double sum = 0;
  for (int i = 0; i < 50000; ++i) {
    const TimeNs value = static_cast<TimeNs>(rng.below(uint64_t{1} << (5 + rng.below(35))));
    values.push_back(value);
    histogram.add(value);
    sum += static_cast<double>(value);
  }
  std::sort(values.begin(), values.end());
  CHECK(histogram.mean_ns() == Approx(sum / 50000).epsilon(1e-12));
  CHECK(histogram.max_ns() == values.back());
  for (const double q : {0.01, 0.25, 0.5, 0.9, 0.99}) {
    const double exact = static_cast<double>(values[static_cast<size_t>(q * 50000) - 1]);
    CHECK(histogram.quantile_ns(q) == Approx(exact).epsilon(0.004).margin(2));
  }
  int64_t count = 0;
  TimeNs last = 0;
  for (const TimeHistogram::Bucket& bucket : histogram.buckets(4)) {
    CHECK(bucket.low_ns >= last);
    CHECK(bucket.high_ns > bucket.low_ns);
    last = bucket.high_ns;
    count += bucket.count;
  }
  CHECK(count == 50000);
}

TEST_CASE("Time histogram: one value is all its quantiles, none gives zeros") {
  TimeHistogram histogram;
  CHECK(summarize_times(histogram).p99_ms == 0);
  histogram.add(123'456'789, 7);
  const TimeSummary summary = summarize_times(histogram);
  CHECK(summary.count == 7);
  CHECK(summary.mean_ms == Approx(123.456789));
  CHECK(summary.p50_ms == Approx(123.456789));
  CHECK(summary.p99_ms == Approx(123.456789));
}

TEST_CASE("Time series: wider bins keep the sums, and their number is bounded") {
  TimeSeries series;
  double tokens = 0;
  TimeNs now = 0;
  for (int i = 0; i < 5000; ++i) {
    const TimeNs end = now + 7'654'321;
    series.add(now, end, {10, 2, 0.5, 64, 100});
    tokens += 64;
    now = end;
  }
  const std::vector<TimeSeries::Values> bins = series.bins();
  CHECK(bins.size() <= TimeSeries::kMaxBins);
  CHECK(bins.size() > TimeSeries::kMaxBins / 2);
  const double bin_s = static_cast<double>(series.bin_ns()) / 1e9;
  double sum = 0;
  for (const TimeSeries::Values& bin : bins) {
    sum += bin[static_cast<size_t>(SeriesValue::kOutputTokens)] * bin_s;
  }
  CHECK(sum == Approx(tokens));
  CHECK(bins[3][static_cast<size_t>(SeriesValue::kRunning)] == Approx(10));
  CHECK(bins[3][static_cast<size_t>(SeriesValue::kCacheUse)] == Approx(0.5));
}

}  // namespace
}  // namespace dfsim
