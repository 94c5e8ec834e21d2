// Whole networks: the TensorFlow zoo against the same networks as ONNX, through the importers and
// through the program; the files of other projects when DFSIM_SHARED names them.
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "graphs/onnx/importer.h"
#include "graphs/ops/infer.h"
#include "graphs/passes/prune.h"
#include "opmodel/workload.h"
#include "tests/tensorflow/text_graph.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = DFSIM_SOURCE_DIR "/graphs/zoo/tensorflow/";
constexpr double kMostMacDifference = 0.005;
constexpr double kMostTimeDifference = 0.03;

struct Network {
  const char* tensorflow;
  const char* onnx;                       // "": there is none
  std::vector<std::string> options = {};  // of the program, for dimensions
  ImportOptions import = {};
};

const std::vector<Network>& networks() {
  static const std::vector<Network> kNetworks = {
      {"resnet50.pb", "resnet50.onnx"},
      {"mobilenet_v2", "mobilenet_v2.onnx"},
      {"efficientnet_b0", "efficientnet_b0.onnx"},
      {"inception_v3.pb", "inception_v3.onnx"},
      {"unet.pbtxt", "unet.onnx"},
      {"bert_base",
       "bert_base.onnx",
       {"--input-shape", "input_ids=1,128", "--input-shape", "attention_mask=1,128"},
       {.input_shapes = {{"input_ids", {1, 128}}, {"attention_mask", {1, 128}}}}},
  };
  return kNetworks;
}

ImportOptions with_onnx_names(ImportOptions options, const Graph& graph) {
  // tf2onnx may write "input:0" for "input".
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, shape] : options.input_shapes) {
    const bool plain = std::any_of(graph.inputs().begin(), graph.inputs().end(),
                                   [&](TensorId id) { return graph.tensor(id).name == name; });
    shapes[plain ? name : name + ":0"] = shape;
  }
  options.input_shapes = shapes;
  return options;
}

TEST_CASE("the same MACs in TensorFlow and in ONNX") {
  for (const Network& network : networks()) {
    INFO(network.tensorflow);
    const auto model = import_tensorflow(kFolder + network.tensorflow, network.import);
    INFO(model.status().message());
    REQUIRE(model.ok());
    for (const UnresolvedOpInfo& op : model->report.unresolved) {
      FAIL_CHECK(op.op_type << " '" << op.name << "': " << op.reason);
    }
    CHECK(model->report.notes.empty());
    const auto pruned = prune(model->graph);
    REQUIRE(pruned.ok());
    CHECK(make_workload(pruned->graph).ok());
    const auto unbound = import_onnx(kFolder + network.onnx, {});
    REQUIRE(unbound.ok());
    const auto reference =
        import_onnx(kFolder + network.onnx, with_onnx_names(network.import, unbound->graph));
    INFO(reference.status().message());
    REQUIRE(reference.ok());
    const auto ours = graph_totals(model->graph);
    const auto theirs = graph_totals(reference->graph);
    REQUIRE(ours.ok());
    REQUIRE(theirs.ok());
    CHECK(static_cast<double>(ours->macs) ==
          Approx(static_cast<double>(theirs->macs)).epsilon(kMostMacDifference));
    CHECK(ours->macs > 100'000'000);
  }
}

TEST_CASE("recurrent networks of both generations have the MACs of their formula") {
  // 32 steps of 2 layers: gates x hidden x (input + hidden), then the classifier.
  const auto macs_of = [](const std::string& file) {
    const auto model = import_tensorflow(kFolder + file, {});
    INFO(file << ": " << model.status().message());
    REQUIRE(model.ok());
    for (const UnresolvedOpInfo& op : model->report.unresolved) {
      FAIL_CHECK(file << ": " << op.op_type << " '" << op.name << "': " << op.reason);
    }
    CHECK(model->report.notes.empty());
    return graph_totals(model->graph)->macs;
  };
  const int64_t unit = 32 * 256 * ((128 + 256) + (256 + 256));
  CHECK(macs_of("lstm") == 4 * unit + 256 * 10);
  CHECK(macs_of("lstm_v1.pb") == 4 * unit + 256 * 10);
  CHECK(macs_of("gru.pb") == 3 * unit + 256 * 10);
}

TEST_CASE("a training step is costed: forward, backward, updates") {
  const auto model = import_tensorflow(kFolder + "training_step.pbtxt", {});
  INFO(model.status().message());
  REQUIRE(model.ok());
  for (const UnresolvedOpInfo& op : model->report.unresolved) {
    FAIL_CHECK(op.op_type << " '" << op.name << "': " << op.reason);
  }
  std::map<std::string, int64_t> macs;
  std::map<std::string, int> ops;
  for (size_t i = 0; i < model->graph.op_count(); ++i) {
    const Op& op = model->graph.op(OpId(i));
    macs[op.op_type] += op_work(model->graph, OpId(i))->macs;
    ++ops[op.op_type];
  }
  CHECK(ops["Adam"] == 10);
  // 3x3 convolution of 3 to 32 on 32x32, depthwise on 16x16, 3x3 stride 2 of 32 to 64 on 7x7.
  const int64_t forward = 32 * (32 * 32 * 32 * 27 + 16 * 16 * 32 * 9 + 7 * 7 * 64 * 9 * 32);
  CHECK(macs["Conv"] == forward);
  CHECK(macs["ConvFilterGrad"] == forward);  // every filter has a gradient
  // The images have none: all convolutions but the first.
  CHECK(macs["ConvTranspose"] == forward - 32 * (32 * 32 * 32 * 27));
}

// What the program prints, parsed.
nlohmann::json predicted(const std::string& file, const std::vector<std::string>& options,
                         const std::string& hardware, const std::string& runtime) {
  std::string command = std::string(DFSIM_PROGRAM) + " predict '" + file + "' --hw " + hardware +
                        " --runtime " + runtime + " --json";
  for (const std::string& option : options) {
    command += " '" + option + "'";
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> buffer;
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), count);
  }
  INFO(command);
  REQUIRE_FALSE(text.empty());
  return nlohmann::json::parse(text);
}

TEST_CASE("the same predicted latency in TensorFlow and in ONNX") {
  const std::vector<std::pair<std::string, std::string>> machines = {{"a100", "tensorflow"},
                                                                     {"xeon-8380", "ort-cpu"}};
  for (const Network& network : networks()) {
    for (const auto& [hardware, runtime] : machines) {
      std::vector<std::string> onnx_options = network.options;
      const auto unbound = import_onnx(kFolder + network.onnx, {});
      REQUIRE(unbound.ok());
      const auto named = with_onnx_names(network.import, unbound->graph);
      onnx_options.clear();
      for (const auto& [name, shape] : named.input_shapes) {
        onnx_options.emplace_back("--input-shape");
        onnx_options.push_back(fmt::format("{}={}", name, fmt::join(shape, ",")));
      }
      const auto ours = predicted(kFolder + network.tensorflow, network.options, hardware, runtime);
      const auto theirs = predicted(kFolder + network.onnx, onnx_options, hardware, runtime);
      INFO(network.tensorflow << " on " << hardware << " with " << runtime);
      CHECK(ours["latency_ms"].get<double>() ==
            Approx(theirs["latency_ms"].get<double>()).epsilon(kMostTimeDifference));
    }
  }
}

TEST_CASE("other projects' files import; what stays unresolved is listed with its reason") {
  const char* shared = std::getenv("DFSIM_SHARED");
  if (shared == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const std::string folder = std::string(shared) + "/models/tf/";
  for (const char* file :
       {"sm_regression", "tf2onnx_ae0.pb", "tf2onnx_fc-layers.pb", "tf2onnx_gru.pb",
        "tf2onnx_lstm.pb", "tf2onnx_regression.pb", "tract_hey_snips_3.pb"}) {
    INFO(file);
    const auto model = import_tensorflow(folder + file, {});
    INFO(model.status().message());
    REQUIRE(model.ok());
    for (const UnresolvedOpInfo& op : model->report.unresolved) {
      CHECK_FALSE(op.name.empty());
      CHECK_FALSE(op.reason.empty());
      UNSCOPED_INFO(op.op_type << " '" << op.name << "': " << op.reason);
    }
    CHECK(model->graph.op_count() > 0);
  }
}

}  // namespace
}  // namespace dfsim
