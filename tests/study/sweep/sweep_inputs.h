// Shared by the tests of sweeps: a small sweep, and the comparison of two results.
#pragma once

#include "study/sweep/sweep.h"
#include "tests/study/study_inputs.h"

namespace dfsim::testing {

// Two networks on two machines at two batch sizes, with the speed-of-light bound.
inline SweepOptions small_sweep() {
  SweepOptions options;
  options.axes.models = {zoo_model("mobilenet_v2").path, zoo_model("resnet18").path};
  options.axes.hardware = {"a100", "l4"};
  options.axes.batches = {"1:4:x4"};
  options.cost_model = "sol";
  return options;
}

inline SweepResult swept(const SweepOptions& options, const Progress& progress = {}) {
  auto result = sweep(options, progress);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(*result);
}

inline void check_same(const SweepResult& a, const SweepResult& b) {
  REQUIRE(a.points.size() == b.points.size());
  for (size_t i = 0; i < a.rows.size(); ++i) {
    INFO(i);
    CHECK(a.points[i] == b.points[i]);
    const SweepRow row_a = a.rows[i];
    const SweepRow row_b = b.rows[i];
    CHECK(row_a.error == row_b.error);
    CHECK(row_a.runtime == row_b.runtime);
    const SweepFigures& x = row_a.figures;
    const SweepFigures& y = row_b.figures;
    CHECK(x.latency_ns == y.latency_ns);
    CHECK(x.interval.low_ns == y.interval.low_ns);
    CHECK(x.interval.high_ns == y.interval.high_ns);
    CHECK(x.throughput_per_s == y.throughput_per_s);
    CHECK(x.batch == y.batch);
    CHECK(x.peak_memory_bytes == y.peak_memory_bytes);
    CHECK(x.memory_bytes == y.memory_bytes);
    CHECK(x.weight_bytes == y.weight_bytes);
    CHECK(x.parameters == y.parameters);
    CHECK(x.flops == y.flops);
    CHECK(x.achieved_flops_per_s == y.achieved_flops_per_s);
    CHECK(x.device_busy_ns == y.device_busy_ns);
    CHECK(x.host_busy_ns == y.host_busy_ns);
    CHECK(x.tasks == y.tasks);
    CHECK(x.unresolved_ops == y.unresolved_ops);
    CHECK(x.bound_only_fraction == y.bound_only_fraction);
  }
}

}  // namespace dfsim::testing
