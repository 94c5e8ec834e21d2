// Whole networks: the TensorFlow zoo against the same networks as ONNX, through the importers and
// through the program; the files of other projects when DFSIM_SHARED names them.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "graphs/onnx/importer.h"
#include "graphs/ops/infer.h"
#include "graphs/passes/cleanup/prune.h"
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
  const char* onnx;
  const char* options = "";  // of the command line
  const char* onnx_options = "";
};

const std::vector<Network>& networks() {
  static const std::vector<Network> kNetworks = {
      {"resnet50.pb", "resnet50.onnx"},
      {"mobilenet_v2", "mobilenet_v2.onnx"},
      {"efficientnet_b0", "efficientnet_b0.onnx"},
      {"inception_v3.pb", "inception_v3.onnx"},
      {"unet.pb", "unet.onnx"},
      {"bert_2", "bert_2.onnx", "--input-shape input_ids=1,128 --input-shape attention_mask=1,128",
       "--input-shape input_ids:0=1,128 --input-shape attention_mask:0=1,128"},
      {"lstm", "lstm.onnx"},
      {"gru.pb", "gru.onnx"},
  };
  return kNetworks;
}

TEST_CASE("Zoo: TensorFlow and ONNX give the same MACs") {
  for (const Network& network : networks()) {
    INFO(network.tensorflow);
    const bool text = std::string(network.tensorflow).starts_with("bert");
    const ImportOptions onnx_options =
        text ? ImportOptions{.input_shapes = {{"input_ids:0", {1, 128}},
                                              {"attention_mask:0", {1, 128}}}}
             : ImportOptions();
    const ImportOptions options =
        text
            ? ImportOptions{.input_shapes = {{"input_ids", {1, 128}}, {"attention_mask", {1, 128}}}}
            : ImportOptions();
    const auto model = import_tensorflow(kFolder + network.tensorflow, options);
    INFO(model.status().message());
    REQUIRE(model.ok());
    for (const UnresolvedOpInfo& op : model->report.unresolved) {
      FAIL_CHECK(op.op_type << " '" << op.name << "': " << op.reason);
    }
    CHECK(model->report.notes.empty());
    const auto pruned = prune(model->graph);
    REQUIRE(pruned.ok());
    CHECK(make_workload(pruned->graph).ok());
    const auto reference = import_onnx(kFolder + network.onnx, onnx_options);
    INFO(reference.status().message());
    REQUIRE(reference.ok());
    const auto ours = graph_totals(model->graph);
    const auto theirs = graph_totals(reference->graph);
    REQUIRE(ours.ok());
    REQUIRE(theirs.ok());
    CHECK(static_cast<double>(ours->macs) ==
          Approx(static_cast<double>(theirs->macs)).epsilon(kMostMacDifference));
    CHECK(ours->macs > 10'000'000);
  }
}

TEST_CASE("Recurrent networks: both generations have the MACs of their formula") {
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

// Forward, and twice that backwards. A function leaves the derivative by the image out; in
// TensorFlow 1's graphs control edges make it run.
TEST_CASE("Training steps: have the MACs of their formulas and update every weight") {
  constexpr int64_t kFirst = 26 * 26 * 16 * 9;
  constexpr int64_t kSecond = 11 * 11 * 32 * 9 * 16;
  constexpr int64_t kBatch = 32;
  const auto import = [](const std::string& file) {
    auto model = import_tensorflow(kFolder + file, {});
    INFO(file << ": " << model.status().message());
    REQUIRE(model.ok());
    for (const UnresolvedOpInfo& op : model->report.unresolved) {
      FAIL_CHECK(file << ": " << op.op_type << " '" << op.name << "': " << op.reason);
    }
    CHECK(model->report.notes.empty());
    return std::move(*model);
  };
  for (const auto& [file, first_products] :
       {std::pair("digits_train", 2), {"digits_train_v1.pbtxt", 3}}) {
    INFO(file);
    const ImportedModel model = import(file);
    const auto pruned = prune(model.graph);
    REQUIRE(pruned.ok());
    CHECK(make_workload(pruned->graph).ok());
    const int64_t dense = 11 * 11 * 32 * 10;
    CHECK(graph_totals(pruned->graph)->macs ==
          kBatch * (first_products * kFirst + 3 * kSecond + 3 * dense));
  }
}

TEST_CASE("BERT: has the MACs of its export by PyTorch") {
  const auto model =
      import_tensorflow(kFolder + "bert_base",
                        {.input_shapes = {{"input_ids", {1, 128}}, {"attention_mask", {1, 128}}}});
  INFO(model.status().message());
  REQUIRE(model.ok());
  for (const UnresolvedOpInfo& op : model->report.unresolved) {
    FAIL_CHECK(op.op_type << " '" << op.name << "': " << op.reason);
  }
  // Batch 1 and 128 words are that file's defaults.
  const auto reference = import_onnx(DFSIM_SOURCE_DIR "/graphs/zoo/bert_base.onnx", {});
  REQUIRE(reference.ok());
  CHECK(static_cast<double>(graph_totals(model->graph)->macs) ==
        Approx(static_cast<double>(graph_totals(reference->graph)->macs))
            .epsilon(kMostMacDifference));
}

// Runs the program and parses its output.
nlohmann::json json_of(const std::string& arguments) {
  const std::string command = std::string(DFSIM_PROGRAM) + " " + arguments + " --json";
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

double latency_ms(const std::string& file, const std::string& options, const std::string& machine) {
  return json_of(fmt::format("predict '{}{}' {} {}", kFolder, file, options, machine))["latency_ms"]
      .get<double>();
}

// Every network of the zoo, as two files, takes the same time on a machine.
void check_same_latency(const std::string& machine) {
  for (const Network& network : networks()) {
    const double ours = latency_ms(network.tensorflow, network.options, machine);
    const double theirs = latency_ms(network.onnx, network.onnx_options, machine);
    INFO(network.tensorflow << " with " << machine);
    CHECK(ours > 0);
    CHECK(ours == Approx(theirs).epsilon(kMostTimeDifference));
  }
}

std::vector<std::string> shipped_runtimes() {
  std::vector<std::string> runtimes;
  for (const auto& entry : fs::directory_iterator(DFSIM_SOURCE_DIR "/hardware/runtimes")) {
    runtimes.push_back(entry.path().stem().string());
  }
  std::sort(runtimes.begin(), runtimes.end());
  CHECK(runtimes.size() >= 9);
  return runtimes;
}

bool is_onnx_runtime(const std::string& runtime) { return runtime.starts_with("ort"); }

TEST_CASE("Zoo: TensorFlow and ONNX give the same latency by their bounds, with every runtime") {
  for (const std::string& runtime : shipped_runtimes()) {
    const bool cpu = is_onnx_runtime(runtime) && runtime != "ort-cuda";
    check_same_latency(fmt::format("--hw {} --runtime {} --cost-model sol --static",
                                   cpu ? "xeon-8380" : "a100", runtime));
  }
}

// ONNX Runtime and TensorRT run ONNX files, and choose kernels by what those have.
TEST_CASE("Zoo: TensorFlow and ONNX give the same latency by a trained model") {
  for (const std::string& runtime : shipped_runtimes()) {
    if (!is_onnx_runtime(runtime) && runtime != "tensorrt") {
      check_same_latency(fmt::format("--hw a100 --runtime {}", runtime));
    }
  }
}

TEST_CASE("inspect: lists the operators inside loops with the work of all trips") {
  for (const char* file : {"lstm", "gru.pb", "lstm_v1.pb"}) {
    INFO(file);
    size_t loops = 0;
    const nlohmann::json inspected = json_of(fmt::format("inspect '{}{}'", kFolder, file));
    for (const auto& op : inspected["ops"]) {
      if (op["op_type"] != "Loop") {
        CHECK_FALSE(op.contains("inside"));
        continue;
      }
      ++loops;
      int64_t macs = 0;
      int64_t flops = 0;
      for (const auto& inner : op["inside"]) {
        CHECK(inner["trips"] == 32);
        CHECK(inner["part"] == "body");
        macs += inner["trips"].get<int64_t>() * inner["macs"].get<int64_t>();
        flops += inner["trips"].get<int64_t>() * inner["flops"].get<int64_t>();
      }
      CHECK(macs == op["macs"].get<int64_t>());
      CHECK(flops == op["flops"].get<int64_t>());
      CHECK(macs > 0);
    }
    CHECK(loops == 2);
  }
}

struct ForeignFile {
  const char* name;
  std::map<std::string, std::vector<int64_t>> input_shapes;  // that the file leaves open
  int64_t macs;
};

// 28 steps of rows of 28 pixels, 128 units; 10 classes.
constexpr int64_t kGateMacs = 28 * 128 * (28 + 128);
constexpr int64_t kClassifierMacs = 128 * 10;

TEST_CASE(
    "Other projects' files: import, and only inputs without a shape leave operators unresolved") {
  const char* shared = std::getenv("DFSIM_SHARED");
  if (shared == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const std::string folder = std::string(shared) + "/models/tf/";
  for (const ForeignFile& file : std::vector<ForeignFile>{
           {"sm_regression", {{"X", {1}}}, 0},
           {"tf2onnx_ae0.pb", {}, -1},
           {"tf2onnx_fc-layers.pb", {}, -1},
           {"tf2onnx_regression.pb", {{"X", {1}}}, 0},
           {"tf2onnx_gru.pb",
            {{"X", {1, 784}}, {"keep_prob", {}}},
            3 * kGateMacs + kClassifierMacs},
           {"tf2onnx_lstm.pb", {{"keep_prob", {}}}, 4 * kGateMacs + kClassifierMacs},
           {"tract_hey_snips_3.pb", {{"inputs", {100, 40}}}, -1}}) {
    INFO(file.name);
    const auto open = import_tensorflow(folder + file.name, {});
    INFO(open.status().message());
    REQUIRE(open.ok());
    CHECK(open->report.notes.size() == file.input_shapes.size());
    for (const UnresolvedOpInfo& op : open->report.unresolved) {
      CHECK_FALSE(op.name.empty());
      CHECK(op.reason.find("has an unknown shape") != std::string::npos);
    }
    CHECK(open->report.unresolved.empty() == file.input_shapes.empty());
    const auto given = import_tensorflow(folder + file.name, {.input_shapes = file.input_shapes});
    INFO(given.status().message());
    REQUIRE(given.ok());
    CHECK(given->report.notes.empty());
    for (const UnresolvedOpInfo& op : given->report.unresolved) {
      FAIL_CHECK(op.op_type << " '" << op.name << "': " << op.reason);
    }
    const auto totals = graph_totals(given->graph);
    REQUIRE(totals.ok());
    CHECK((file.macs < 0 ? totals->macs > 0 : totals->macs == file.macs));
  }
}

}  // namespace
}  // namespace dfsim
