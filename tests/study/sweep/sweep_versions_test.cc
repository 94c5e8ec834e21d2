// A journal counts only while models and machines stay as they were: each test changes a file that
// a prediction reads, and the sweep predicts its points again.
#include "study/prediction/predict.h"
#include "tests/study/sweep/sweep_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

std::string config_text(int layers) {
  return R"({"model_type": "llama", "hidden_size": 256, "intermediate_size": 512,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000,
    "max_position_embeddings": 4096, "hidden_act": "silu", "tie_word_embeddings": false,
    "num_hidden_layers": )" +
         std::to_string(layers) + "}";
}

// Sweeps of one point with a journal.
class OnePoint {
 public:
  OnePoint(const std::string& model, const std::string& hardware) {
    options_.axes.models = {model};
    options_.axes.hardware = {hardware};
    options_.cost_model = "sol";
    options_.journal = folder_.path() + "/journal";
  }
  // The number of points that the journal had, and their latency.
  size_t kept() {
    const SweepResult result = swept(options_);
    REQUIRE(result.rows[0].error.empty());
    latency_ns_ = result.rows[0].figures.latency_ns;
    return result.kept;
  }
  TimeNs latency_ns() const { return latency_ns_; }

 private:
  const TemporaryFolder folder_{"sweep_versions_journal"};
  SweepOptions options_;
  TimeNs latency_ns_ = 0;
};

}  // namespace

TEST_CASE("sweep: a journal does not count for another config.json in a folder") {
  const TemporaryFolder folder("sweep_versions_config");
  for (const std::string prefix : {"", "hf:"}) {
    for (const std::string suffix : {"", "/config.json"}) {
      INFO(prefix << suffix);
      folder.file("config.json", config_text(1));
      OnePoint sweep(prefix + folder.path() + suffix, "a100");
      CHECK(sweep.kept() == 0);
      CHECK(sweep.kept() == 1);
      const TimeNs before = sweep.latency_ns();
      folder.file("config.json", config_text(8));
      CHECK(sweep.kept() == 0);
      CHECK(sweep.latency_ns() > before);
    }
  }
}

TEST_CASE("sweep: a journal does not count when a file behind a hardware file changes") {
  const TemporaryFolder folder("sweep_versions_device");
  const auto gpu_text = [](int bandwidth) {
    return "name: mygpu\ndevices:\n  - name: gpu\n    model: My GPU\n    type: gpu\n"
           "    vector_tflops: {fp32: 20}\n    memory_gib: 80\n    compute_units: 100\n"
           "    launch_overhead_us: 2\n    memory_bandwidth_gb_per_s: " +
           std::to_string(bandwidth) + "\n";
  };
  folder.file("mygpu.yaml", gpu_text(2000));
  const std::string node = folder.file(
      "node.yaml", "name: node\ndevices: [{device: mygpu.yaml, name: gpu, count: 1}]\n");
  OnePoint sweep(zoo_model("mobilenet_v2").path, node);
  CHECK(sweep.kept() == 0);
  CHECK(sweep.kept() == 1);
  folder.file("mygpu.yaml", gpu_text(20));
  CHECK(sweep.kept() == 0);
}

TEST_CASE("runtime_for: a folder with a config.json runs as the config.json in it") {
  const TemporaryFolder folder("runtime_of_config");
  const std::string config = folder.file("config.json", config_text(1));
  for (const std::string& path : {config, folder.path(), "hf:" + folder.path()}) {
    INFO(path);
    PredictOptions options;
    options.model.path = path;
    options.hardware = "a100";
    const auto prediction = predict(options);
    REQUIRE(prediction.ok());
    CHECK(prediction->runtime == "torch-eager");
  }
}
