// Points of a sweep share graphs: machines of different kinds on one model, in any order, get
// the figures of their own prediction.
#include <algorithm>

#include "study/prediction/predict.h"
#include "tests/study/sweep/sweep_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

// Checks each row of a sweep on one thread, where the first point makes what the others find.
void check_rows(SweepOptions options) {
  options.threads = 1;
  const SweepResult result = swept(options);
  for (size_t i = 0; i < result.points.size(); ++i) {
    const SweepPoint point = result.points[i];
    PredictOptions single;
    single.model.path = point.model;
    single.model.batch = point.batch;
    single.model.dims = options.model.dims;
    single.model.precision = point.precision;
    single.hardware = point.hardware;
    single.runtime = point.runtime;
    single.training.mode = point.mode;
    single.cost_model = options.cost_model;
    const auto prediction = predict(single);
    INFO(point.hardware << " as number " << i << ", " << point.mode);
    REQUIRE(prediction.ok());
    const SweepRow row = result.rows[i];
    CHECK(row.error.empty());
    CHECK(row.figures.latency_ns == prediction->latency_ns);
    CHECK(row.figures.peak_memory_bytes == prediction->peak_memory_bytes);
    CHECK(row.figures.weight_bytes == prediction->weight_bytes);
    CHECK(row.figures.tasks == prediction->ops.size());
  }
}

// A GPU with the name "same" and these additional rates.
std::string gpu_text(const std::string& matrix, const std::string& more = "") {
  return "name: same\n"
         "devices:\n"
         "  - name: gpu\n"
         "    model: Some GPU\n"
         "    type: gpu\n"
         "    vector_tflops: {fp32: 20, fp16: 40, bf16: 40}\n"
         "    matrix_tflops: {fp16: 300, bf16: 300" +
         matrix +
         "}\n"
         "    memory_gib: 80\n"
         "    memory_bandwidth_gb_per_s: 2000\n"
         "    compute_units: 100\n"
         "    launch_overhead_us: 2\n" +
         more;
}

}  // namespace

TEST_CASE("sweep: machines of different kinds share a model in any order") {
  SweepOptions options;
  options.axes.models = {zoo_model("mobilenet_v2").path};
  options.axes.hardware = {"a100", "ascend910", "gaudi3", "tpu-v4"};  // sorted
  options.axes.runtimes = {"torch-eager"};
  options.axes.modes = {"infer", "train"};
  options.cost_model = "sol";
  do {
    check_rows(options);
  } while (std::ranges::next_permutation(options.axes.hardware).found);
}

TEST_CASE("sweep: two hardware files of one name do not share published weights") {
  const TemporaryFolder folder("sweep_same_name");
  const std::string with_fp8 = folder.file("a.yaml", gpu_text(", fp8: 600"));
  const std::string without = folder.file("b.yaml", gpu_text(""));
  SweepOptions options;
  options.axes.models = {folder.file("config.json", R"({"model_type": "llama",
    "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000,
    "max_position_embeddings": 64, "hidden_act": "silu", "tie_word_embeddings": false,
    "quantization_config": {"quant_method": "fp8"}})")};
  options.model.dims = {"sequence_length=8"};
  options.cost_model = "sol";
  for (const auto& order : {std::vector{with_fp8, without}, std::vector{without, with_fp8}}) {
    options.axes.hardware = order;
    check_rows(options);
  }
}
