// A model that does not fit its device: the verdict, and settings that would make it fit.
#include <algorithm>

#include "study/prediction/predict.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

Prediction predicted_gpt2(int64_t batch, bool advise) {
  PredictOptions options;
  options.model = zoo_model("gpt2");
  options.model.batch = batch;
  options.hardware = "t4";
  options.cost_model = "sol";
  options.fit_advice = advise;
  auto prediction = predict(options);
  INFO(prediction.status().message());
  REQUIRE(prediction.ok());
  return std::move(*prediction);
}

}  // namespace

TEST_CASE("Fit: a model that fits has no remedies") {
  const Prediction prediction = predicted_gpt2(1, true);
  CHECK(prediction.fits());
  CHECK(prediction.remedies.empty());
}

TEST_CASE("Fit: each remedy fits, and its prediction is that of the setting") {
  const Prediction prediction = predicted_gpt2(512, true);
  REQUIRE_FALSE(prediction.fits());
  REQUIRE_FALSE(prediction.remedies.empty());
  for (const Prediction::Remedy& remedy : prediction.remedies) {
    INFO(remedy.action);
    CHECK(remedy.peak_memory_bytes <= remedy.memory_bytes);
    CHECK(remedy.latency_ns > 0);
  }
  const auto batch = std::ranges::find(prediction.remedies, "batch", &Prediction::Remedy::kind);
  REQUIRE(batch != prediction.remedies.end());
  const int64_t fitting = std::stoll(batch->action.substr(batch->action.rfind(' ')));
  CHECK(predicted_gpt2(fitting, false).latency_ns == batch->latency_ns);
  CHECK_FALSE(predicted_gpt2(fitting * 2, false).fits());
  const auto device = std::ranges::find(prediction.remedies, "device", &Prediction::Remedy::kind);
  REQUIRE(device != prediction.remedies.end());
  CHECK(device->memory_bytes >= prediction.peak_memory_bytes);
}
