// The other studies as a library: results, cancellation and errors.
#include "study/comparison/compare.h"
#include "study/inspection/inspect.h"
#include "study/partitioning/partition.h"
#include "study/recorded/analyze.h"
#include "study/recorded/replay.h"
#include "study/roofline/study_roofline.h"
#include "study/training/evaluate.h"
#include "study/training/train.h"
#include "study/validation/validate.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

CompareRequest vision_on_node() {
  CompareRequest request;
  request.graph = zoo_model("resnet18").path;
  request.machine.hardware = "pcie-2gpu";
  request.policies = "heft,first-device";
  return request;
}

PartitionOptions data_parallel() {
  PartitionOptions options;
  options.model = zoo_model("resnet18");
  options.model.batch = 8;
  options.hardware = "dgx-a100";
  options.strategy = "dp";
  return options;
}

// A trace of PyTorch's profiler: one launch and its kernel.
const std::string kTrace = R"({"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":30,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10,"dur":5,
 "args":{"External id":1,"correlation":7}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":20,"dur":40,
 "args":{"External id":1,"correlation":7,"device":0,"stream":7}}]})";

}  // namespace

TEST_CASE("compare: lists the policies on a model, the best first") {
  Listener listener;
  const auto compared = compare(vision_on_node(), PolicyRegistry(), listener.progress());
  INFO(compared.status().message());
  REQUIRE(compared.ok());
  REQUIRE(compared->comparison.policies.size() == 2);
  // All devices of the node have a trained model.
  CHECK_FALSE(compared->comparison.policies[0].is_limit());
  CHECK_FALSE(compared->comparison.policies[1].is_limit());
  CHECK(compared->comparison.policies[0].makespan_ns <=
        compared->comparison.policies[1].makespan_ns);
  CHECK(compared->problem.graph.task_count() == compared->comparison.tasks);
  CHECK(listener.stages.size() == 3);
}

TEST_CASE("Comparison: a lower limit does not compete with an estimate") {
  Comparison comparison;
  comparison.policies.resize(2);
  PolicyOutcome& estimate = comparison.policies[0];
  PolicyOutcome& limit = comparison.policies[1];
  limit.bound_only_share = 0.5;
  CHECK(limit.is_limit());
  CHECK(comparison.is_limit_among_estimates(limit));
  CHECK_FALSE(comparison.is_limit_among_estimates(estimate));
  estimate.bound_only_share = 0.5;
  CHECK_FALSE(comparison.is_limit_among_estimates(limit));
}

TEST_CASE("compare: can be cancelled before the second policy") {
  Listener listener("simulating first-device");
  const auto compared = compare(vision_on_node(), PolicyRegistry(), listener.progress());
  REQUIRE_FALSE(compared.ok());
  CHECK(compared.status().message().ends_with("cancelled at: simulating first-device"));
}

TEST_CASE("compare: a model needs hardware") {
  CompareRequest request = vision_on_node();
  request.machine.hardware.clear();
  const auto compared = compare(request, PolicyRegistry());
  REQUIRE_FALSE(compared.ok());
  CHECK(compared.status().code() == StatusCode::kInvalidInput);
}

TEST_CASE("partition: runs data parallelism, can be cancelled, refuses unknown strategies") {
  const auto partitioning = partition_model(data_parallel());
  INFO(partitioning.status().message());
  REQUIRE(partitioning.ok());
  REQUIRE(partitioning->best() != nullptr);
  CHECK(partitioning->best()->devices == 8);
  CHECK(partitioning->single.makespan_ns > 0);

  Listener listener("one device");
  const auto cancelled = partition_model(data_parallel(), listener.progress());
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.status().message() == "cancelled at: one device");

  PartitionOptions options = data_parallel();
  options.strategy = "dpp";
  const auto unknown = partition_model(options);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.status().code() == StatusCode::kNotFound);
}

TEST_CASE("partition: one device takes as long as predict says") {
  struct Case {
    std::string runtime, mode, precision, cost_model;
  };
  for (const Case& tried :
       {Case{"cuda-graph", "infer", "", ""}, Case{"torch-eager", "infer", "", ""},
        Case{"cuda-graph", "infer", "", "sol"}, Case{"torch-eager", "infer", "mixed-fp16", ""},
        Case{"torch-eager", "train", "", ""}, Case{"tensorrt", "infer", "int8", ""}}) {
    INFO(tried.runtime << " " << tried.mode << " " << tried.precision << " " << tried.cost_model);
    PartitionOptions plans;
    plans.model = zoo_model("resnet18");
    plans.model.batch = 8;
    plans.model.precision = tried.precision;
    plans.hardware = "4xa100-pcie";
    plans.runtime = tried.runtime;
    plans.training.mode = tried.mode;
    plans.cost_model = tried.cost_model;
    plans.strategy = "dp";
    const auto partitioning = partition_model(plans);
    INFO(partitioning.status().message());
    REQUIRE(partitioning.ok());
    PredictOptions alone;
    alone.model = plans.model;
    alone.hardware = "a100-pcie-80gb";
    alone.runtime = tried.runtime;
    alone.training.mode = tried.mode;
    alone.cost_model = tried.cost_model;
    const auto prediction = predict(alone);
    REQUIRE(prediction.ok());
    CHECK(partitioning->single.makespan_ns == prediction->latency_ns);
  }
}

TEST_CASE("partition: a plan that is run again takes as long as before") {
  const auto partitioner = Partitioner::create(data_parallel());
  REQUIRE(partitioner.ok());
  const auto partitioning = (*partitioner)->run();
  REQUIRE(partitioning.ok());
  REQUIRE(partitioning->best() != nullptr);
  const auto again = (*partitioner)->run_again(*partitioning, *partitioning->best());
  REQUIRE(again.ok());
  CHECK(again->run.result.makespan_ns == partitioning->best()->makespan_ns);
}

TEST_CASE("validate: can be cancelled, and refuses unknown networks") {
  const auto runs = find_data_file("datasets/measured/epyc-milan/int8_runs.csv");
  REQUIRE(runs.ok());
  ValidateOptions options;
  options.runs = *runs;
  Listener listener("predicting ");
  auto validation = validate_runs(options, listener.progress());
  REQUIRE_FALSE(validation.ok());
  CHECK(validation.status().message().starts_with("cancelled at: predicting "));
  options.only = {"no_such_network"};
  validation = validate_runs(options);
  REQUIRE_FALSE(validation.ok());
  CHECK(validation.status().code() == StatusCode::kNotFound);
}

TEST_CASE("roofline: a sweep has a roofline per value, and stops when it is cancelled") {
  RooflineOptions options;
  options.source.model = zoo_model("resnet18");
  options.source.hardware = "a100";
  options.sweep = {"batch=1,4"};
  const auto swept = study_roofline(options);
  INFO(swept.status().message());
  REQUIRE(swept.ok());
  CHECK(swept->swept == "batch");
  CHECK(swept->rooflines.size() == 2);
  CHECK_FALSE(swept->lines.empty());
  Listener listener("costing ");
  CHECK_FALSE(study_roofline(options, listener.progress()).ok());
  CHECK(listener.stages.size() == 1);
}

TEST_CASE("inspect: reports facts of a model, also as a runtime executes it") {
  InspectOptions options;
  options.model = zoo_model("resnet18");
  const auto plain = inspect(options);
  REQUIRE(plain.ok());
  CHECK(plain->name == "resnet18");
  CHECK(plain->types.front().op_type == "Conv");
  CHECK(plain->runtime.empty());
  options.runtime = "ort-cpu";
  const auto executed = inspect(options);
  REQUIRE(executed.ok());
  CHECK(executed->runtime == "ort-cpu");
  CHECK(executed->model.graph.op_count() < plain->model.graph.op_count());
  CHECK_FALSE(executed->passes.empty());
}

TEST_CASE("analyze, diff and replay: study a recorded run without the command line") {
  const TemporaryFolder folder("recorded");
  const std::string path = folder.file("trace.json", kTrace);
  AnalyzeOptions analyze_options;
  analyze_options.traces = {path};
  const auto analyzed = analyze(analyze_options);
  INFO(analyzed.status().message());
  REQUIRE(analyzed.ok());
  REQUIRE(analyzed->analyses.size() == 1);
  CHECK(analyzed->analyses[0].breakdown.computation_us == Approx(40));
  CHECK(analyzed->ranks.empty());

  const auto same = diff({path, path});
  REQUIRE(same.ok());
  CHECK(same->ops_a_us == same->ops_b_us);

  ReplayOptions options;
  options.trace = path;
  const auto as_recorded = replay(options);
  INFO(as_recorded.status().message());
  REQUIRE(as_recorded.ok());
  CHECK(as_recorded->report.run.span_ns == as_recorded->report.measured_ns);
  options.scale = {"kernel=0.5"};
  const auto faster = replay(options);
  REQUIRE(faster.ok());
  CHECK(faster->report.run.span_ns == as_recorded->report.run.span_ns - 20'000);
  Listener listener("replaying ");
  CHECK_FALSE(replay(options, listener.progress()).ok());
  options.scale = {"nothing-like-this=2"};
  CHECK_FALSE(replay(options).ok());
}

TEST_CASE("train and evaluate: refuse a missing directory and an unknown model") {
  TrainRequest request;
  const auto trained = train(request);
  REQUIRE_FALSE(trained.ok());
  EvaluateRequest evaluation;
  evaluation.model = "no-such-model";
  const auto evaluated = evaluate(evaluation);
  REQUIRE_FALSE(evaluated.ok());
  CHECK(evaluated.status().code() == StatusCode::kNotFound);
}

TEST_CASE("compare: a task graph with its own processors needs no hardware") {
  CompareRequest request;
  request.graph = DFSIM_SOURCE_DIR "/examples/taskgraphs/heft_paper.json";
  request.policies = "heft";
  const auto compared = compare(request, PolicyRegistry());
  INFO(compared.status().message());
  REQUIRE(compared.ok());
  CHECK(compared->comparison.policies.at(0).makespan_ns == 80 * kNsPerFileUnit);
}
