// cost_model_*: what a trained model costs before and during a prediction: loading, and costing the
// distinct ops of a graph of 7,100 operators (a transformer of 71 ops a layer has few distinct
// ones; 600 here is on the high side).
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "opmodel/model/trained_model.h"

namespace dfsim {
namespace {

constexpr size_t kOps = 7100;
constexpr size_t kDistinct = 600;

OpDescriptor random_op(Rng& rng) {
  const auto extent = [&](int64_t most) {
    return 8 * (1 + static_cast<int64_t>(rng.below(most / 8)));
  };
  OpDescriptor op;
  op.dtype = DType::kFloat32;
  const int64_t m = extent(2048);
  const int64_t n = extent(4096);
  const int64_t k = extent(4096);
  switch (rng.below(4)) {
    case 0:
      op.op_type = "MatMul";
      op.op_class = OpClass::kMatMul;
      op.input_extents = {{m, k}, {k, n}};
      op.output_extents = {{m, n}};
      break;
    case 1:
      op.op_type = "Conv";
      op.op_class = OpClass::kConv;
      op.input_extents = {{8, k / 8, 28, 28}, {n / 8, k / 8, 3, 3}};
      op.output_extents = {{8, n / 8, 28, 28}};
      op.attributes = "dilations=1,1;group=1;kernel_shape=3,3;pads=1,1,1,1;strides=1,1";
      break;
    case 2:
      op.op_type = "Softmax";
      op.op_class = OpClass::kSoftmax;
      op.attributes = "axis=1";
      op.input_extents = {{m, n}};
      op.output_extents = {{m, n}};
      break;
    default:
      op.op_type = "Add";
      op.op_class = OpClass::kElementwise;
      op.input_extents = {{m, n}, {m, n}};
      op.output_extents = {{m, n}};
      break;
  }
  op.input_dtypes.assign(op.input_extents.size(), DType::kFloat32);
  op.output_dtypes = {DType::kFloat32};
  return op;
}

void cost_model_load(benchmark::State& state) {
  for (auto _ : state) {
    const auto model = load_trained_model("a100");
    if (!model.ok()) {
      state.SkipWithError(model.status().message().c_str());
      return;
    }
    benchmark::DoNotOptimize(model->get());
  }
}
BENCHMARK(cost_model_load)->Unit(benchmark::kMillisecond);

// Identical ops are found by hash and costed once, as make_workload() does.
void cost_model_7100_ops(benchmark::State& state) {
  const auto model = load_trained_model("a100");
  const auto platform = load_platform("a100");
  if (!model.ok() || !platform.ok()) {
    state.SkipWithError("the model or the hardware file was not found");
    return;
  }
  Rng rng(1);
  std::vector<OpDescriptor> distinct;
  for (size_t i = 0; i < kDistinct; ++i) {
    distinct.push_back(random_op(rng));
  }
  std::vector<uint32_t> graph;
  for (size_t i = 0; i < kOps; ++i) {
    graph.push_back(static_cast<uint32_t>(rng.below(kDistinct)));
  }
  std::vector<OpCost> costs(distinct.size());
  for (auto _ : state) {
    if (const Status status = (*model)->predict(distinct, platform->devices[0], costs);
        !status.ok()) {
      state.SkipWithError(status.message().c_str());
      return;
    }
    TimeNs total_ns = 0;
    for (const uint32_t row : graph) {
      total_ns += costs[row].time_ns;
    }
    benchmark::DoNotOptimize(total_ns);
  }
}
BENCHMARK(cost_model_7100_ops)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsim
