// One chain: every study that says how long a model takes says the same as predict().
#include <fmt/format.h>

#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "study/chain/machine_source.h"
#include "study/chain/model_run.h"
#include "study/comparison/compare.h"
#include "study/prediction/predict.h"
#include "study/roofline/study_roofline.h"
#include "study/validation/validate.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

// A file of one measured run.
std::string runs_file(const TemporaryFolder& folder, const std::string& network, int64_t batch,
                      const std::string& device) {
  return folder.file("runs.csv", fmt::format("network,batch,dims,dtype,device,runtime,"
                                             "runtime_version,time_ms,samples,provenance\n"
                                             "{},{},,float32,\"{}\",ort-cpu,1,10,5,test\n",
                                             network, batch, device));
}

Prediction predicted(const std::string& network, int64_t batch, const std::string& hardware) {
  PredictOptions options;
  options.model = zoo_model(network);
  options.model.batch = batch;
  options.hardware = hardware;
  options.model.static_dims = true;  // as validate, whose runs were measured with frozen dimensions
  auto prediction = predict(options);
  INFO(prediction.status().message());
  REQUIRE(prediction.ok());
  return std::move(*prediction);
}

}  // namespace

TEST_CASE("One chain: validate gives the figures of predict") {
  const TemporaryFolder folder("chain");
  for (const std::string hardware : {"epyc-genoa", "epyc-milan", "a100"}) {
    const auto platform = load_platform(hardware);
    REQUIRE(platform.ok());
    for (const std::string network : {"mobilenet_v2", "lstm"}) {
      const int64_t batch = 2;
      const Prediction expected = predicted(network, batch, hardware);
      ValidateOptions options;
      options.runs = runs_file(folder, network, batch, platform->devices[0].model);
      options.hardware = {hardware};
      const auto validation = validate_runs(options);
      INFO(validation.status().message());
      REQUIRE(validation.ok());
      REQUIRE(validation->runs.size() == 1);
      const ValidatedRun& run = validation->runs[0];
      INFO(network << " on " << hardware);
      CHECK(run.predicted_ns == expected.latency_ns);
      CHECK(run.interval.low_ns == expected.interval.low_ns);
      CHECK(run.interval.high_ns == expected.interval.high_ns);
      CHECK(run.predicted_bytes == expected.peak_activation_bytes);
      CHECK(run.predicted_ops == static_cast<int64_t>(expected.ops.size()));
      CHECK(validation->cost_model == expected.cost_model);
    }
  }
}

TEST_CASE("One chain: compare gives the figures of predict, also on several devices") {
  for (const std::string hardware : {"a100", "pcie-2gpu"}) {
    for (const std::string policy : {"first-device", "heft"}) {
      CompareRequest request;
      request.graph = zoo_model("resnet18").path;
      request.machine.hardware = hardware;
      request.policies = policy;
      const auto compared = compare(request, PolicyRegistry());
      INFO(compared.status().message());
      REQUIRE(compared.ok());
      PredictOptions options;
      options.model = zoo_model("resnet18");
      options.hardware = hardware;
      options.model.static_dims =
          true;  // as validate, whose runs were measured with frozen dimensions
      options.policy = policy;
      const auto prediction = predict(options);
      REQUIRE(prediction.ok());
      INFO(policy << " on " << hardware);
      CHECK(compared->comparison.policies.at(0).makespan_ns == prediction->latency_ns);
    }
  }
}

TEST_CASE("One chain: the roofline has the same operator times as predict") {
  const Prediction expected = predicted("resnet18", 1, "a100");
  RooflineOptions options;
  options.source.model = zoo_model("resnet18");
  options.source.model.batch = 1;
  options.source.hardware = "a100";
  const auto roofline = study_roofline(options);
  REQUIRE(roofline.ok());
  TimeNs total_ns = 0;
  for (const PredictedOp& op : expected.ops) {
    total_ns += op.duration_ns;
  }
  CHECK(roofline->rooflines.at(0).network.time_s ==
        Approx(static_cast<double>(total_ns) * 1e-9).epsilon(1e-6));
}

TEST_CASE("One chain: a prepared run gives the same result each time it is simulated") {
  const auto platform = load_machine("a100", "");
  REQUIRE(platform.ok());
  const auto model = load_model(zoo_model("resnet18"), {}, *platform);
  REQUIRE(model.ok());
  const auto cost_model = load_cost_model_for(*platform, "");
  REQUIRE(cost_model.ok());
  const auto run = ModelRun::prepare(*model, *platform, **cost_model);
  REQUIRE(run.ok());
  const auto first = run->simulate();
  const auto second = run->simulate();
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->result.makespan_ns == second->result.makespan_ns);
  CHECK(first->result.tasks.size() == model->workload.graph.task_count());
  CHECK(first->result.makespan_ns == predicted("resnet18", 1, "a100").latency_ns);
}

TEST_CASE("One chain: an unknown policy is an error of prepare") {
  const auto platform = load_machine("a100", "");
  REQUIRE(platform.ok());
  const auto model = load_model(zoo_model("lstm"), {}, *platform);
  REQUIRE(model.ok());
  const auto cost_model = load_cost_model_for(*platform, "sol");
  REQUIRE(cost_model.ok());
  const auto run = ModelRun::prepare(*model, *platform, **cost_model, {"heftt", 0});
  REQUIRE_FALSE(run.ok());
  CHECK(run.status().message().find("heft") != std::string::npos);
}

TEST_CASE("Machines: another runtime replaces the runtime of the hardware file") {
  const auto machine = load_machine("a100", "cuda-graph");
  REQUIRE(machine.ok());
  CHECK(machine->runtime.name == "cuda-graph");
  CHECK_FALSE(load_machine("a100", "cuda-grph").ok());
}

TEST_CASE("Machines: a runtime for the devices of some vendors refuses others") {
  for (const std::string board : {"mi300x", "m1-max"}) {
    for (const std::string runtime : {"tensorrt", "ort-cuda"}) {
      const Status refused = load_machine(board, runtime).status();
      CHECK(refused.code() == StatusCode::kUnsupported);
      CHECK(refused.message().find("expected one of NVIDIA; choose one of ") != std::string::npos);
      CHECK(refused.message().find("torch-eager") != std::string::npos);
      CHECK(refused.message().find("tensorrt,") == std::string::npos);
    }
  }
  CHECK(load_machine("mi300x", "cuda-graph").ok());  // PyTorch captures HIP graphs
  CHECK_FALSE(load_machine("m1-max", "cuda-graph").ok());
  CHECK(load_machine("dgx-a100", "tensorrt").ok());
}

TEST_CASE("Machines: runtimes that only infer refuse training steps") {
  TrainingChoice trains;
  trains.mode = "train";
  for (const std::string runtime : {"tensorrt", "ort-cuda"}) {
    const auto machine = load_machine("a100", runtime);
    REQUIRE(machine.ok());
    CHECK(check_trains({}, *machine).ok());
    const Status refused = load_model(zoo_model("resnet18"), trains, *machine).status();
    CHECK(refused.code() == StatusCode::kUnsupported);
    CHECK(refused.message().find("choose one of cuda-graph, ") != std::string::npos);
    CHECK(refused.message().find("ort-cuda,") == std::string::npos);
  }
  for (const std::string cpu : {"epyc-milan", "epyc-genoa"}) {  // ort-cpu and ort-avx512
    const auto machine = load_machine(cpu, "");
    REQUIRE(machine.ok());
    CHECK(check_trains(trains, *machine).code() == StatusCode::kUnsupported);
  }
}

TEST_CASE("Training choice: any given setting of a training step needs one, defaults too") {
  CHECK(TrainingChoice{}.options().ok());
  std::vector<TrainingChoice> choices(5);
  choices[0].optimizer = "adam";
  choices[1].recompute = "none";
  choices[2].kernels = "per-weight";
  choices[3].loss = "elementwise";
  choices[4].accumulate = 1;
  for (const TrainingChoice& given : choices) {
    CHECK_FALSE(given.options().ok());
    TrainingChoice training = given;
    training.mode = "train";
    const auto options = training.options();
    REQUIRE(options.ok());
    REQUIRE(options->has_value());
    CHECK((*options)->optimizer == OptimizerKind::kAdam);
    CHECK((*options)->accumulate == 1);
  }
}

TEST_CASE("Machines: TensorFlow's files run under TensorFlow unless the user names a runtime") {
  const std::string graph = std::string(DFSIM_SOURCE_DIR) + "/tests/fuzz/corpus/graphdef/cond.pb";
  CHECK(runtime_for(graph, "") == "tensorflow");
  CHECK(runtime_for(graph, "none") == "none");
  CHECK(runtime_for(zoo_model("lstm").path, "") == "");
  CHECK(runtime_for("no such file", "") == "");
}

TEST_CASE("Machines: finds the file for another number of threads next to the given file") {
  const auto one = machine_with_threads("epyc-genoa", "", 1);
  const auto none = machine_with_threads("epyc-genoa", "", 77);
  REQUIRE_FALSE(none.ok());
  CHECK(none.status().code() == StatusCode::kNotFound);
  if (one.ok()) {
    CHECK(one->devices.front().compute_units == 1);
  }
}
