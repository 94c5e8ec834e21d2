// Whole networks: the zoo, and the exports of torchvision when DFSIM_SHARED names them.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graphs/onnx/importer.h"
#include "graphs/ops/totals.h"
#include "graphs/passes/cleanup/prune.h"
#include "opmodel/workload.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 0.005;

// Imports without a word of doubt and counts.
GraphTotals totals_of(const std::string& path) {
  const auto model = import_onnx(path, {});
  INFO(path << ": " << model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.notes.empty());
  for (const UnresolvedOpInfo& op : model->report.unresolved) {
    FAIL_CHECK(op.op_type << " '" << op.name << "': " << op.reason);
  }
  for (const Tensor& tensor : model->graph.tensors()) {
    CHECK_FALSE(tensor.data_dependent);
  }
  const auto pruned = prune(model->graph);
  REQUIRE(pruned.ok());
  CHECK(make_workload(pruned->graph).ok());
  const auto totals = graph_totals(model->graph);
  REQUIRE(totals.ok());
  return *totals;
}

TEST_CASE("every graph of the zoo resolves; MACs and parameters are the expected ones") {
  const std::string folder = DFSIM_SOURCE_DIR "/graphs/zoo/";
  const auto expected = nlohmann::json::parse(std::ifstream(folder + "expected_macs.json"));
  size_t graphs = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") {
      continue;
    }
    ++graphs;
    const std::string name = entry.path().stem().string();
    INFO(name);
    REQUIRE(expected.contains(name));
    const GraphTotals totals = totals_of(entry.path().string());
    const auto macs = expected[name]["macs"].get<double>();
    CHECK(static_cast<double>(totals.macs) == Approx(macs).epsilon(kTolerance));
    CHECK(totals.macs == expected[name]["counted_macs"].get<int64_t>());
    // Llama's rotary frequencies are 32 floats that only torch knows to be no parameters.
    const auto parameters = expected[name]["parameters"].get<int64_t>();
    CHECK(totals.parameters - parameters == (name.starts_with("llama") ? 32 : 0));
    CHECK(totals.weight_bytes >= 4 * totals.parameters);
  }
  CHECK(graphs == expected.size());
  CHECK(graphs >= 20);
}

TEST_CASE("torchvision's networks, weights as inputs: published MACs") {
  const char* shared = std::getenv("DFSIM_SHARED");
  if (shared == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  // Billions of multiply-adds as torchvision's documentation gives them.
  const std::map<std::string, double> published = {
      {"resnet18", 1.814},        {"resnet50", 4.089},        {"vgg16", 15.470},
      {"densenet121", 2.834},     {"mobilenet_v2", 0.301},    {"mobilenet_v3_large", 0.217},
      {"efficientnet_b0", 0.386}, {"resnext50_32x4d", 4.230}, {"shufflenet_v2_x1_0", 0.145},
      {"squeezenet1_0", 0.819},   {"googlenet", 1.498},       {"inception_v3", 5.713},
      {"convnext_tiny", 4.456},   {"regnet_y_400mf", 0.402},  {"vit_b_16", 17.564},
      {"swin_t", 4.491},          {"alexnet", 0.714}};
  size_t graphs = 0;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(shared) / "models/torchvision_export")) {
    if (entry.path().extension() != ".onnx") {
      continue;
    }
    ++graphs;
    const std::string name = entry.path().stem().string();
    INFO(name);
    const double macs = static_cast<double>(totals_of(entry.path().string()).macs);
    if (const auto it = published.find(name); it != published.end()) {
      // The figures are rounded to a million.
      CHECK(std::abs(macs - it->second * 1e9) <= kTolerance * it->second * 1e9 + 0.5e6);
    }
  }
  CHECK(graphs == 17);
}

}  // namespace
}  // namespace dfsim
