// predict() as a library: stages, recorders, cancellation and errors.
#include "study/prediction/predict.h"

#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

PredictOptions resnet_on_a100() {
  PredictOptions options;
  options.model = zoo_model("resnet18");
  options.hardware = "a100";
  return options;
}

// Counts tasks, and whether the run was closed.
class CountingRecorder final : public RunRecorder {
 public:
  struct Counts {
    size_t finished = 0;
    size_t closed = 0;
  };

  explicit CountingRecorder(Counts& counts) : listener_(counts), counts_(counts) {}
  SimListener* listener() override { return &listener_; }
  Status close() override {
    ++counts_.closed;
    return ok_status();
  }

 private:
  class Finished final : public SimListener {
   public:
    explicit Finished(Counts& counts) : counts_(counts) {}
    void on_task_finished(const TaskEvent& /*event*/) override { ++counts_.finished; }

   private:
    Counts& counts_;
  };

  Finished listener_;
  Counts& counts_;
};

}  // namespace

TEST_CASE("predict: runs its stages in order on a shipped model") {
  Listener listener;
  const auto prediction = predict(resnet_on_a100(), listener.progress());
  INFO(prediction.status().message());
  REQUIRE(prediction.ok());
  CHECK(prediction->model == "resnet18");
  CHECK(prediction->latency_ns > 0);
  CHECK(prediction->interval.low_ns < prediction->latency_ns);
  CHECK(prediction->interval.high_ns > prediction->latency_ns);
  REQUIRE(listener.stages.size() == 3);
  CHECK(listener.stages[0].starts_with("importing "));
  CHECK(listener.stages[1].starts_with("costing "));
  CHECK(listener.stages[2].starts_with("simulating "));
}

TEST_CASE("predict: the error of a progress callback ends the study unchanged") {
  for (const std::string stage : {"importing ", "costing ", "simulating "}) {
    Listener listener(stage);
    const auto prediction = predict(resnet_on_a100(), listener.progress());
    REQUIRE_FALSE(prediction.ok());
    CHECK(prediction.status().code() == StatusCode::kFailed);
    CHECK(prediction.status().message() == "cancelled at: " + listener.stages.back());
    CHECK(listener.stages.back().starts_with(stage));
  }
}

TEST_CASE("predict: cancellation reaches the predictions behind advice") {
  PredictOptions options = resnet_on_a100();
  options.advice = true;
  Listener listener("predicting: ");
  const auto prediction = predict(options, listener.progress());
  REQUIRE_FALSE(prediction.ok());
  CHECK(prediction.status().message().starts_with("cancelled at: predicting: "));
}

TEST_CASE("predict: the recorder receives only the single run") {
  CountingRecorder::Counts counts;
  PredictOptions options = resnet_on_a100();
  options.repeat = 3;
  options.record = [&](const RunSubject& subject) -> StatusOr<std::unique_ptr<RunRecorder>> {
    CHECK(subject.graph != nullptr);
    CHECK(subject.platform.name.size() > 0);
    return std::unique_ptr<RunRecorder>(std::make_unique<CountingRecorder>(counts));
  };
  const auto prediction = predict(options);
  REQUIRE(prediction.ok());
  CHECK(counts.closed == 1);
  CHECK(counts.finished == prediction->ops.size());
}

TEST_CASE("predict: returns an error of the recorder") {
  PredictOptions options = resnet_on_a100();
  options.record = [](const RunSubject&) -> StatusOr<std::unique_ptr<RunRecorder>> {
    return failed("no space left");
  };
  const auto prediction = predict(options);
  REQUIRE_FALSE(prediction.ok());
  CHECK(prediction.status().message() == "no space left");
}

TEST_CASE("predict: two predictions in one process do not disturb each other") {
  const auto alone = predict(resnet_on_a100());
  PredictOptions other = resnet_on_a100();
  other.model = zoo_model("lstm");
  other.training.mode = "train";
  REQUIRE(predict(other).ok());
  const auto again = predict(resnet_on_a100());
  REQUIRE(alone.ok());
  REQUIRE(again.ok());
  CHECK(alone->latency_ns == again->latency_ns);
}

TEST_CASE("predict: a training step takes longer than the forward pass") {
  PredictOptions options = resnet_on_a100();
  const auto forward = predict(options);
  options.training.mode = "train";
  const auto step = predict(options);
  INFO(step.status().message());
  REQUIRE(forward.ok());
  REQUIRE(step.ok());
  CHECK(step->latency_ns > 2 * forward->latency_ns);
}

TEST_CASE("predict: errors name what was found and what was expected") {
  PredictOptions options = resnet_on_a100();
  options.hardware = "a1000";
  auto prediction = predict(options);
  REQUIRE_FALSE(prediction.ok());
  CHECK(prediction.status().code() == StatusCode::kNotFound);
  CHECK(prediction.status().message().find("a100") != std::string::npos);

  options = resnet_on_a100();
  options.model.path = "no_such_model.onnx";
  prediction = predict(options);
  REQUIRE_FALSE(prediction.ok());
  CHECK(prediction.status().code() == StatusCode::kNotFound);

  options = resnet_on_a100();
  options.policy = "first-devise";
  prediction = predict(options);
  REQUIRE_FALSE(prediction.ok());
  CHECK(prediction.status().message().find("first-device") != std::string::npos);

  options = resnet_on_a100();
  options.requests = 2;
  options.pipeline.requests_per_s = 10;
  options.arrivals = "poison";
  prediction = predict(options);
  REQUIRE_FALSE(prediction.ok());
  CHECK(prediction.status().message().find("poisson") != std::string::npos);
}

TEST_CASE("predict: bounds alone leave the host's time out, with every runtime") {
  PredictOptions options = resnet_on_a100();
  options.cost_model = "sol";
  options.runtime = "torch-eager";
  const auto eager = predict(options);
  REQUIRE(eager.ok());
  CHECK(eager->is_limit());
  CHECK(eager->host_busy_ns == 0);
  CHECK(eager->verdict.limit == Limit::kDevice);
  // torch-eager runs 70 operators one by one, each some microseconds of the host.
  options.cost_model = "";
  const auto estimate = predict(options);
  REQUIRE(estimate.ok());
  CHECK_FALSE(estimate->is_limit());
  CHECK(estimate->host_busy_ns > eager->latency_ns);
  CHECK(estimate->latency_ns > eager->latency_ns);
}
