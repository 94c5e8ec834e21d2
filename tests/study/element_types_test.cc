// Whole networks in each element type on boards with rows of their own and on one without: no type
// is slower than a wider one, and more images take longer.
#include "study/prediction/predict.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

TimeNs latency_of(const std::string& network, const std::string& hardware,
                  const std::string& precision, const std::string& runtime, int64_t batch) {
  PredictOptions options;
  options.model = zoo_model(network);
  options.model.precision = precision;
  options.model.batch = batch;
  options.hardware = hardware;
  options.runtime = runtime;
  const auto prediction = predict(options, Progress());
  INFO(prediction.status().message());
  REQUIRE(prediction.ok());
  return prediction->latency_ns;
}

}  // namespace

TEST_CASE("element types: TF32 takes longer for more images, and no longer than fp32") {
  for (const std::string hardware : {"h100", "h200", "a100", "l40s"}) {
    for (const std::string network : {"resnet50", "unet"}) {
      TimeNs before = 0;
      for (const int64_t batch : {4, 8, 16, 32}) {
        INFO(hardware << " " << network << " " << batch);
        const TimeNs tf32 = latency_of(network, hardware, "tf32", "cuda-graph", batch);
        CHECK(tf32 > before);
        CHECK(tf32 <= latency_of(network, hardware, "fp32", "cuda-graph", batch));
        before = tf32;
      }
    }
  }
}

TEST_CASE("element types: a board without rows takes longer for more images") {
  for (const std::string network : {"bert_base", "resnet50"}) {
    TimeNs before = 0;
    for (const int64_t batch : {1, 4, 16}) {
      INFO(network << " " << batch);
      const TimeNs latency = latency_of(network, "b200", "fp32", "cuda-graph", batch);
      CHECK(latency > before);
      before = latency;
    }
  }
}

TEST_CASE("element types: an engine runs quantised networks faster than those in fp16") {
  for (const std::string hardware : {"h100", "l4", "t4"}) {
    for (const std::string network : {"resnet50", "bert_base", "vit_b_16", "mobilenet_v2"}) {
      INFO(hardware << " " << network);
      CHECK(latency_of(network, hardware, "int8", "tensorrt", 32) <
            latency_of(network, hardware, "fp16", "tensorrt", 32));
    }
  }
}
