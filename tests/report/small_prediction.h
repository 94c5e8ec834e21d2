// A model small enough to predict by hand, taken through the whole line. Shared by report's tests.
//
// y = Reshape(Relu(x[1,4] . w[4,8])) in float32 on a device of 1 GFLOP/s and 1 GB/s:
//   MatMul  32 MACs = 64 FLOPs -> 64 ns; 16 + 128 + 32 = 176 bytes -> 176 ns: memory bound
//   Relu    8 FLOPs -> 8 ns; 32 + 32 bytes -> 64 ns: memory bound
//   Reshape a view
// so the run takes 240 ns; the peak holds w (128), h (32) and r (32) while Relu runs.
#pragma once

#include <memory>
#include <string>

#include "graphs/ops/infer.h"
#include "graphs/passes/cleanup/prune.h"
#include "opmodel/sol.h"
#include "report/trace/chrome_trace.h"
#include "study/prediction/prediction.h"

namespace dfsim {

struct SmallPrediction {
  Prediction prediction;
  std::string trace;
};

inline TensorId add_tensor(GraphBuilder& builder, const std::string& name, TensorRole role,
                           Shape shape) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = DType::kFloat32;
  tensor.role = role;
  tensor.shape = std::move(shape);
  return builder.add_tensor(std::move(tensor));
}

inline Graph small_graph() {
  GraphBuilder builder;
  const TensorId x = add_tensor(builder, "x", TensorRole::kActivation, {1, 4});
  const TensorId w = add_tensor(builder, "w", TensorRole::kWeight, {4, 8});
  const TensorId shape = add_tensor(builder, "shape", TensorRole::kConstant, {1});
  builder.tensor(shape).dtype = DType::kInt64;
  builder.set_constant(shape, ConstValue{DType::kInt64, {1}, {8}, {}});
  builder.mark_input(x);
  const auto add = [&](const char* type, std::vector<TensorId> inputs, const char* output) {
    Op op;
    op.name = std::string(type) + "_op";
    op.op_type = type;
    op.version = 17;
    op.inputs = std::move(inputs);
    op.outputs = {builder.tensor_by_name(output)};
    const auto added = builder.add_op(std::move(op));
    DFSIM_CHECK(added.ok());
    return builder.find_tensor(output);
  };
  const TensorId h = add("MatMul", {x, w}, "h");
  const TensorId r = add("Relu", {h}, "r");
  builder.mark_output(add("Reshape", {r, shape}, "y"));
  DFSIM_CHECK(infer_shapes(builder, {}).ok());
  auto graph = builder.build();
  DFSIM_CHECK(graph.ok());
  return std::move(graph).value();
}

inline Platform small_platform() {
  Platform platform;
  platform.name = "toy";
  DeviceSpec device;
  device.name = "gpu0";
  device.model = "Toy";
  device.peaks = {{DType::kFloat32, 1e9, 0}};
  device.memory_bytes_per_s = 1e9;
  device.memory_bytes = 1000;
  platform.devices.push_back(device);
  return platform;
}

inline SmallPrediction small_prediction() {
  const Graph graph = small_graph();
  auto pruned = prune(graph);
  LoadedModel model;
  model.name = "small";
  model.imported_ops = graph.op_count();
  model.source_ops = graph.op_count();
  model.report.file_nodes = 3;
  model.report.batch = 1;
  model.totals = *graph_totals(graph);
  model.pruned_ops = pruned->graph.op_count();
  model.executed = std::move(pruned->graph);
  model.workload = *make_workload(model.executed);
  const Platform platform = small_platform();
  const auto cost_model = make_sol_model();
  const auto run = ModelRun::prepare(model, platform, *cost_model);
  DFSIM_CHECK(run.ok());
  const auto trace = ChromeTrace::create(run->subject());
  const auto simulated = run->simulate(trace.get());
  DFSIM_CHECK(simulated.ok());
  auto prediction = make_prediction(
      {model, platform, cost_model->name(), run->costs(), run->tasks(), *simulated});
  DFSIM_CHECK(prediction.ok());
  return {std::move(*prediction), trace->finish()};
}

}  // namespace dfsim
