// Quantised precisions of a config.json: bytes of weights counted by hand, and which precision a
// quantization_config gives.
#include "graphs/ops/totals.h"
#include "hardware/platform_loader.h"
#include "study/inspection/inspect.h"
#include "study/prediction/predict.h"
#include "study/sweep/sweep_options.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

// One layer: q and o of 256 x 256, k and v of 256 x 128, three products of 256 x 512, norms; an
// embedding and an lm_head of 1000 x 256. Tables of rotations: 64 x 32 numbers, twice.
std::string dense_config(const std::string& more) {
  return R"({"model_type": "llama", "hidden_size": 256, "intermediate_size": 512,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
    "vocab_size": 1000, "max_position_embeddings": 64, "hidden_act": "silu",
    "tie_word_embeddings": false)" +
         more + "}";
}
constexpr int64_t kAttention = 2 * 256 * 256 + 2 * 256 * 128;
constexpr int64_t kDense = 3 * 256 * 512;
constexpr int64_t kEnds = 2 * 1000 * 256;
constexpr int64_t kIndex = 8;                       // of the last token, in bytes
constexpr int64_t kOthers = 3 * 256 + 2 * 64 * 32;  // norms and tables

// The same with 8 experts of width 512 in place of the dense block.
std::string experts_config(const std::string& more) {
  return R"({"model_type": "mixtral", "hidden_size": 256, "intermediate_size": 512,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
    "vocab_size": 1000, "max_position_embeddings": 64, "num_local_experts": 8,
    "num_experts_per_tok": 2, "hidden_act": "silu", "tie_word_embeddings": false)" +
         more + "}";
}
constexpr int64_t kExperts = 8 * kDense;
constexpr int64_t kRouter = 256 * 8;

Prediction predicted(const std::string& path, const std::string& precision,
                     const std::string& hardware = "h100") {
  PredictOptions options;
  options.model.path = path;
  options.model.precision = precision;
  options.model.dims = {"sequence_length=8"};
  options.hardware = hardware;
  const auto prediction = predict(options, Progress());
  INFO(prediction.status().message());
  REQUIRE(prediction.ok());
  return *prediction;
}

bool has_note(const Prediction& prediction, const std::string& part) {
  return std::ranges::any_of(prediction.notes, [&](const std::string& note) {
    return note.find(part) != std::string::npos;
  });
}

std::string quantised(const std::string& keys) {
  return R"(, "quantization_config": {)" + keys + "}";
}

}  // namespace

TEST_CASE("config.json: a quantised precision counts weights in their bits, the rest in 16") {
  const TemporaryFolder folder("config_precision");
  const std::string dense = folder.file("dense.json", dense_config(""));
  const int64_t products = kAttention + kDense;
  const int64_t rest = 2 * (kEnds + kOthers) + kIndex;
  CHECK(predicted(dense, "").weight_bytes == rest + 2 * products);
  CHECK(predicted(dense, "bf16").weight_bytes == rest + 2 * products);
  // blocks of 128 share a scale of 16 bits
  CHECK(predicted(dense, "int8-weights").weight_bytes == rest + products + products / 128 * 2);
  CHECK(predicted(dense, "int4-weights").weight_bytes == rest + products / 2 + products / 128 * 2);
  // a scale of four bytes for each of the activations of q/k/v, o, gate/up and down
  CHECK(predicted(dense, "fp8").weight_bytes == rest + products + 4 * 4);
  CHECK(predicted(dense, "fp32").weight_bytes == 4 * (kEnds + kOthers + products) + kIndex);
}

TEST_CASE("config.json: a quantised precision includes experts, and leaves routers out") {
  const TemporaryFolder folder("config_experts");
  const std::string experts = folder.file("experts.json", experts_config(""));
  const int64_t products = kAttention + kExperts;
  const int64_t rest = 2 * (kEnds + kOthers + kRouter) + kIndex;
  CHECK(predicted(experts, "").weight_bytes == rest + 2 * products);
  CHECK(predicted(experts, "int4-weights").weight_bytes ==
        rest + products / 2 + products / 128 * 2);
  CHECK(predicted(experts, "int8-weights").weight_bytes == rest + products + products / 128 * 2);
  // the activations of q/k/v, o and the experts
  CHECK(predicted(experts, "fp8").weight_bytes == rest + products + 3 * 4);
  CHECK(has_note(predicted(experts, "fp8"), "lm_head and routers are not quantised"));
}

TEST_CASE("config.json: quantization_config gives the precision, and --precision replaces it") {
  const TemporaryFolder folder("config_published");
  const std::string mxfp4 =
      folder.file("mxfp4.json", experts_config(quantised(R"("quant_method": "mxfp4",
        "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"])")));
  const int64_t rest = 2 * (kEnds + kOthers + kRouter) + kIndex;
  const Prediction published = predicted(mxfp4, "");
  // a scale of one byte for 32 weights
  CHECK(published.weight_bytes == rest + 2 * kAttention + kExperts / 2 + kExperts / 32);
  CHECK(published.precision.empty());
  CHECK(published.published_weights == "mxfp4");
  CHECK(has_note(published,
                 "the weights of experts are mxfp4 as quantization_config says, "
                 "everything else is bfloat16"));
  const Prediction replaced = predicted(mxfp4, "bf16");
  CHECK(replaced.weight_bytes == rest + 2 * (kAttention + kExperts));
  CHECK(replaced.published_weights.empty());
}

TEST_CASE("config.json: a device without fp8 units unpacks published fp8 weights") {
  const TemporaryFolder folder("config_fp8");
  const std::string fp8 =
      folder.file("fp8.json", dense_config(quantised(R"("quant_method": "fp8")")));
  const int64_t products = kAttention + kDense;
  const int64_t rest = 2 * (kEnds + kOthers) + kIndex;
  CHECK(predicted(fp8, "", "h100").weight_bytes == rest + products + 4 * 4);
  const Prediction ampere = predicted(fp8, "", "a100");
  CHECK(ampere.weight_bytes == rest + products + products / 128 * 2);
  CHECK(has_note(ampere, "has no units for fp8: the products unpack these weights to bfloat16"));
}

TEST_CASE("config.json: torch_dtype is the type of what is not quantised") {
  const TemporaryFolder folder("config_half");
  const std::string half = folder.file("half.json", dense_config(R"(, "torch_dtype": "float16")"));
  for (const std::string precision : {"", "int4-weights", "fp8"}) {
    INFO(precision);
    for (const Share& share : predicted(half, precision).precisions) {
      CHECK((share.name == "float16" || (precision == "fp8" && share.name == "float8e4m3")));
    }
  }
}

TEST_CASE("inspect: counts a config.json's published weights") {
  const TemporaryFolder folder("config_inspect");
  InspectOptions options;
  options.model.path =
      folder.file("int4.json", dense_config(quantised(R"("quant_method": "gptq", "bits": 4)")));
  options.model.dims = {"sequence_length=8"};
  const auto inspection = inspect(options, Progress());
  INFO(inspection.status().message());
  REQUIRE(inspection.ok());
  const int64_t products = kAttention + kDense;
  CHECK(inspection->totals.weight_bytes ==
        2 * (kEnds + kOthers) + products / 2 + products / 128 * 2);
  CHECK(inspection->totals.parameters == kEnds + kOthers + products);
}

TEST_CASE("sweep: points of a config.json share an import only in one precision") {
  SweepPoint bf16;
  bf16.model = "config.json";
  bf16.precision = "bf16";
  SweepPoint int4 = bf16;
  int4.precision = "int4-weights";
  CHECK(import_of(bf16) != import_of(int4));
  bf16.model = int4.model = "model.onnx";
  CHECK(import_of(bf16) == import_of(int4));
}
