// Importing models of the zoo, and chains of up to 100,000 operators: mapping, parsing and shape
// inference.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <string>

#include "base/io/data_dir.h"
#include "graphs/onnx/importer.h"
#include "graphs/tensorflow/importer.h"

namespace dfsim {
namespace {

void import_zoo(benchmark::State& state, const std::string& name) {
  const StatusOr<std::string> path = find_data_file("graphs/zoo/" + name + ".onnx");
  if (!path.ok()) {
    state.SkipWithError(path.status().message().c_str());
    return;
  }
  size_t ops = 0;
  for (auto _ : state) {
    StatusOr<ImportedModel> model = import_onnx(*path, ImportOptions{});
    if (!model.ok()) {
      state.SkipWithError(model.status().message().c_str());
      return;
    }
    ops = model->graph.op_count();
  }
  state.counters["ops"] = static_cast<double>(ops);
}
BENCHMARK_CAPTURE(import_zoo, resnet50, "resnet50")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(import_zoo, swin_t, "swin_t")->Unit(benchmark::kMillisecond);

// A chain of operators with a skip now and then, as bytes of an ONNX file.
std::string chain_model(int64_t nodes) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto* graph = model.mutable_graph();
  auto* input = graph->add_input();
  input->set_name("x");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_value(64);
  std::string last = "x";
  for (int64_t i = 0; i < nodes; ++i) {
    auto* node = graph->add_node();
    node->set_op_type(i % 5 == 0 ? "Add" : "Relu");
    node->set_name(fmt::format("/layer/op{}", i));
    node->add_input(last);
    if (i % 5 == 0) {
      node->add_input(std::string("x"));
    }
    last = fmt::format("t{}", i);
    node->add_output(last);
  }
  graph->add_output()->set_name(last);
  return model.SerializeAsString();
}

void import_chain(benchmark::State& state) {
  const std::string bytes = chain_model(state.range(0));
  for (auto _ : state) {
    StatusOr<ImportedModel> model = import_onnx_bytes(bytes, ImportOptions{});
    if (!model.ok()) {
      state.SkipWithError(model.status().message().c_str());
      return;
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(import_chain)
    ->Unit(benchmark::kMillisecond)
    ->Arg(25000)
    ->Arg(50000)
    ->Arg(100000)
    ->Arg(200000)
    ->Complexity();

// A field of protobuf's wire format that holds bytes.
std::string field(int number, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  for (size_t size = content.size();; size >>= 7) {
    const bool last = size < 0x80;
    bytes += static_cast<char>((size & 0x7F) | (last ? 0 : 0x80));
    if (last) {
      return bytes + content;
    }
  }
}

// The same chain as bytes of a GraphDef.
std::string chain_graph(int64_t nodes) {
  const std::string extent = field(2, std::string("\x08\x40", 2));
  const std::string shape = field(1, "shape") + field(2, field(7, extent));
  const std::string dtype = field(1, "dtype") + field(2, std::string("\x30\x01", 2));
  std::string graph =
      field(1, field(1, "x") + field(2, "Placeholder") + field(5, dtype) + field(5, shape));
  std::string last = "x";
  for (int64_t i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("layer/op{}", i);
    std::string node = field(1, name) + field(2, i % 5 == 0 ? "AddV2" : "Relu") + field(3, last);
    graph += field(1, i % 5 == 0 ? node + field(3, "x") : node);
    last = name;
  }
  return graph;
}

void import_tensorflow_chain(benchmark::State& state) {
  const std::string bytes = chain_graph(state.range(0));
  for (auto _ : state) {
    StatusOr<ImportedModel> model =
        import_tensorflow_bytes(bytes, TensorFlowFormat::kGraphDef, ImportOptions{});
    if (!model.ok() || !model->report.unresolved.empty()) {
      state.SkipWithError("the chain does not import");
      return;
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(import_tensorflow_chain)
    ->Unit(benchmark::kMillisecond)
    ->Arg(25000)
    ->Arg(50000)
    ->Arg(100000)
    ->Arg(200000)
    ->Complexity();

}  // namespace
}  // namespace dfsim
