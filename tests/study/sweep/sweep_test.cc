// Sweeps: plans of points, rows that equal single predictions, the journal, and rankings by hand.
#include "study/sweep/sweep.h"

#include <algorithm>
#include <random>

#include "study/prediction/predict.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_plan.h"
#include "study/sweep/sweep_report.h"
#include "tests/study/sweep/sweep_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

using Numbers = std::vector<int64_t>;

Numbers series(const std::string& text) {
  const auto values = parse_series(text, "--batch");
  INFO(values.status().message());
  REQUIRE(values.ok());
  return *values;
}

// Finished points, made by hand.
struct HandMadeRows {
  std::vector<SweepPoint> points;
  std::vector<SweepRow> rows;

  // A point of one model with these figures.
  SweepRow& add(const std::string& hardware, int64_t latency_ms, double throughput) {
    points.emplace_back();
    points.back().model = "m.onnx";
    points.back().hardware = hardware;
    SweepRow& row = rows.emplace_back();
    row.figures.latency_ns = latency_ms * kNsPerMs;
    row.figures.throughput_per_s = throughput;
    row.figures.peak_memory_bytes = 1'000'000'000;
    row.figures.memory_bytes = 8'000'000'000;
    return row;
  }
  SweepResult result() const {
    SweepResult result;
    result.points = SweepPlan({}, false, points);
    auto stored = SweepRows::make(rows.size());
    REQUIRE(stored.ok());
    result.rows = std::move(*stored);
    for (size_t r = 0; r < rows.size(); ++r) {
      REQUIRE(result.rows.set(r, rows[r]).ok());
    }
    return result;
  }
};

SweepModelReport ranked(const HandMadeRows& rows, const SweepConstraints& constraints) {
  const SweepResult result = rows.result();
  const auto report = make_sweep_report(result, constraints);
  INFO(report.status().message());
  REQUIRE(report.ok());
  REQUIRE(report->models.size() == 1);
  return report->models.front();
}

}  // namespace

TEST_CASE("Sweep series: numbers, ranges, steps and factors") {
  CHECK(series("8") == Numbers{8});
  CHECK(series("1:4") == Numbers{1, 2, 3, 4});
  CHECK(series("2:9:3") == Numbers{2, 5, 8});
  CHECK(series("1:256:x2") == Numbers{1, 2, 4, 8, 16, 32, 64, 128, 256});
  CHECK(series("3:20:x2") == Numbers{3, 6, 12});
  // The step would leave the range of the type.
  CHECK(series("9223372036854775806:9223372036854775807:5").size() == 1);
  for (const char* bad : {"", "0", "x", "4:1", "1:4:0", "1:4:x1", "1:2:3:4", "-1", "1.5", "1:"}) {
    INFO(bad);
    CHECK_FALSE(parse_series(bad, "--batch").ok());
  }
  CHECK_FALSE(parse_series("1:9000000000", "--batch").ok());
}

TEST_CASE("Sweep plan: the product changes the batch fastest and the model slowest") {
  const auto points = plan_sweep(small_sweep());
  REQUIRE(points.ok());
  REQUIRE(points->size() == 8);
  CHECK((*points)[0].batch == 1);
  CHECK((*points)[1].batch == 4);
  CHECK((*points)[1].hardware == "a100");
  CHECK((*points)[2].hardware == "l4");
  CHECK((*points)[3].model == (*points)[0].model);
  CHECK((*points)[4].model != (*points)[0].model);
}

TEST_CASE("Sweep plan: zip pairs lists and repeats single values") {
  SweepOptions options = small_sweep();
  options.axes.models.resize(1);
  options.axes.params = {"sequence=16,32"};
  options.combine = "zip";
  const auto points = plan_sweep(options);
  REQUIRE(points.ok());
  REQUIRE(points->size() == 2);
  CHECK((*points)[1].model == options.axes.models[0]);
  CHECK((*points)[1].hardware == "l4");
  CHECK((*points)[1].batch == 4);
  REQUIRE((*points)[1].param.size() == 1);
  CHECK((*points)[1].param[0] == std::pair<std::string, int64_t>("sequence", 32));

  options.axes.batches = {"1:3"};
  const auto unequal = plan_sweep(options);
  REQUIRE_FALSE(unequal.ok());
  CHECK(unequal.status().message().find("expected lists of one length") != std::string::npos);
}

TEST_CASE("Sweep plan: patterns become files in order of bytes; bad requests are refused") {
  const TemporaryFolder folder("sweep_plan");
  folder.file("b.onnx", "x");
  folder.file("B.onnx", "x");
  folder.file("a.txt", "x");
  SweepOptions options;
  options.axes.hardware = {"a100"};
  options.axes.models = {folder.path() + "/*.onnx", folder.path() + "/b.onnx"};
  const auto points = plan_sweep(options);
  REQUIRE(points.ok());
  REQUIRE(points->size() == 2);
  CHECK((*points)[0].model == folder.path() + "/B.onnx");

  options.axes.models = {folder.path() + "/*.pb"};
  CHECK(plan_sweep(options).status().code() == StatusCode::kNotFound);
  options.axes.models.clear();
  CHECK_FALSE(plan_sweep(options).ok());  // points without a model
  CHECK_FALSE(plan_sweep({}).ok());       // no points at all
  options = small_sweep();
  options.axes.hardware.clear();
  CHECK_FALSE(plan_sweep(options).ok());
  options = small_sweep();
  options.axes.modes = {"learn"};
  CHECK(plan_sweep(options).status().message().find("unknown mode 'learn'") != std::string::npos);
  options = small_sweep();
  options.axes.params = {"s=1", "s=2"};
  CHECK_FALSE(plan_sweep(options).ok());
}

TEST_CASE("sweep: each row equals the prediction of its point") {
  SweepOptions options = small_sweep();
  options.axes.modes = {"infer", "train"};
  options.axes.runtimes = {"torch-eager", "cuda-graph"};
  options.cost_model = "";
  options.threads = 3;
  const SweepResult result = swept(options);
  REQUIRE(result.points.size() == 32);
  for (size_t i = 0; i < result.points.size(); i += 3) {
    const SweepPoint& point = result.points[i];
    PredictOptions single;
    single.model.path = point.model;
    single.model.batch = point.batch;
    single.hardware = point.hardware;
    single.runtime = point.runtime;
    single.training.mode = point.mode;
    const auto prediction = predict(single);
    REQUIRE(prediction.ok());
    const SweepFigures& figures = result.rows[i].figures;
    CHECK(figures.latency_ns == prediction->latency_ns);
    CHECK(figures.interval.low_ns == prediction->interval.low_ns);
    CHECK(figures.interval.high_ns == prediction->interval.high_ns);
    CHECK(figures.throughput_per_s == prediction->throughput_per_s);
    CHECK(figures.peak_memory_bytes == prediction->peak_memory_bytes);
    CHECK(figures.tasks == prediction->ops.size());
    CHECK(result.rows[i].runtime == point.runtime);
  }
}

TEST_CASE("sweep: the number of threads does not change the rows") {
  SweepOptions options = small_sweep();
  options.threads = 1;
  const SweepResult one = swept(options);
  options.threads = 5;
  check_same(swept(options), one);
}

TEST_CASE("sweep: a point that fails is a row with its error, an unknown machine ends the sweep") {
  SweepOptions options = small_sweep();
  options.axes.models[0] = "missing.onnx";
  const SweepResult result = swept(options);
  CHECK(result.failed() == 4);
  CHECK(result.rows[0].error.find("missing.onnx") != std::string::npos);
  CHECK(result.rows[4].error.empty());

  options.axes.hardware = {"a100x"};
  CHECK(sweep(options).status().code() == StatusCode::kNotFound);
  options = small_sweep();
  options.axes.policies = {"heftt"};
  CHECK_FALSE(sweep(options).ok());
}

TEST_CASE("sweep: a machine that cannot execute a runtime is unsupported at its points alone") {
  SweepOptions options = small_sweep();
  options.axes.models.resize(1);
  options.axes.hardware = {"a100", "mi300x"};
  options.axes.runtimes = {"torch-eager", "tensorrt"};
  options.axes.modes = {"infer", "train"};
  options.axes.batches.clear();
  const SweepResult result = swept(options);
  REQUIRE(result.rows.size() == 8);
  for (size_t i = 0; i < result.rows.size(); ++i) {
    const SweepPoint point = result.points[i];
    const SweepRow row = result.rows[i];
    CHECK(row.runtime == point.runtime);
    const bool vendor = point.runtime == "tensorrt" && point.hardware == "mi300x";
    const bool trains = point.runtime == "tensorrt" && point.mode == "train";
    CHECK(row.error.starts_with("unsupported: ") == (vendor || trains));
    CHECK((row.error.find("found a device of AMD, expected one of NVIDIA") != std::string::npos) ==
          vendor);
    CHECK((row.figures.latency_ns > 0) == (!vendor && !trains));
  }
}

TEST_CASE("sweep: precisions are an axis; a machine without one fails at its points alone") {
  SweepOptions options = small_sweep();
  options.axes.models.resize(1);
  options.axes.hardware = {"a100", "h100-sxm"};
  options.axes.batches.clear();
  options.axes.precisions = {"fp16", "fp8"};
  const SweepResult result = swept(options);
  REQUIRE(result.points.size() == 4);
  CHECK(result.rows[0].error.empty());
  CHECK(result.rows[1].error.find("fp8") != std::string::npos);  // an A100 lacks fp8 units
  CHECK(result.rows[2].error.empty());
  CHECK(result.rows[3].error.empty());
  PredictOptions single;
  single.model = zoo_model("mobilenet_v2");
  single.model.precision = "fp8";
  single.hardware = "h100-sxm";
  single.cost_model = "sol";
  const auto prediction = predict(single);
  REQUIRE(prediction.ok());
  CHECK(result.rows[3].figures.latency_ns == prediction->latency_ns);
  options.axes.precisions = {"fp61"};
  CHECK(sweep(options).status().message().find("fp16") != std::string::npos);
}

TEST_CASE("sweep: one that was stopped goes on from its journal") {
  const TemporaryFolder folder("sweep_journal");
  SweepOptions options = small_sweep();
  options.threads = 1;
  const SweepResult whole = swept(options);
  options.journal = folder.path() + "/points.csv.partial";
  Listener stopped("point 4");
  REQUIRE_FALSE(sweep(options, stopped.progress()).ok());

  Listener listener;
  const SweepResult rest = swept(options, listener.progress());
  CHECK(rest.kept == 3);
  REQUIRE(listener.notes.size() == 1);
  CHECK(listener.notes[0].starts_with("3 of 8 points are finished"));
  check_same(rest, whole);
  // Everything is there now, but not for another version or other settings.
  CHECK(swept(options).kept == 8);
  options.program = "dfsim 99";
  CHECK(swept(options).kept == 0);
  options.cost_model = "";
  CHECK(swept(options).kept == 0);
  REQUIRE(remove_journal(options).ok());
  CHECK_FALSE(std::filesystem::exists(options.journal));
}

TEST_CASE("sweep: a journal that ends in the middle of a line loses that line alone") {
  const TemporaryFolder folder("sweep_cut");
  SweepOptions options = small_sweep();
  options.journal = folder.path() + "/j";
  const SweepResult whole = swept(options);
  std::filesystem::resize_file(options.journal, std::filesystem::file_size(options.journal) - 9);
  const SweepResult again = swept(options);
  CHECK(again.kept == 7);
  check_same(again, whole);
  CHECK(swept(options).kept == 8);

  options.journal = folder.file("other", "a,b\n1,2\n");
  const auto other = sweep(options);
  REQUIRE_FALSE(other.ok());
  CHECK(other.status().message().find("found another file") != std::string::npos);
}

TEST_CASE("Sweep report: the best and the Pareto front, by hand") {
  HandMadeRows rows;
  rows.add("fast", 1, 1000);
  rows.add("slow", 10, 5000);
  rows.add("dominated", 5, 900);
  rows.add("equal", 1, 1000);
  rows.add("middle", 4, 3000);
  const SweepModelReport report = ranked(rows, {});
  CHECK(report.best[0] == size_t{0});
  CHECK(report.best[1] == size_t{1});
  CHECK_FALSE(report.best[2].has_value());
  CHECK(report.front == std::vector<size_t>{0, 4, 1});
}

TEST_CASE("Sweep report: the front of any rows is that of comparing all pairs") {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    HandMadeRows rows;
    const size_t count = 1 + random() % 40;
    for (size_t r = 0; r < count; ++r) {
      rows.add("m", 1 + static_cast<int64_t>(random() % 9), static_cast<double>(random() % 9));
    }
    std::vector<size_t> expected;
    for (size_t a = 0; a < count; ++a) {
      bool beaten = false;
      for (size_t b = 0; b < count && !beaten; ++b) {
        const SweepFigures& x = rows.rows[a].figures;
        const SweepFigures& y = rows.rows[b].figures;
        const bool as_good =
            y.latency_ns <= x.latency_ns && y.throughput_per_s >= x.throughput_per_s;
        const bool equal = y.latency_ns == x.latency_ns && y.throughput_per_s == x.throughput_per_s;
        beaten = as_good && (!equal || b < a);
      }
      if (!beaten) {
        expected.push_back(a);
      }
    }
    std::ranges::sort(expected, {}, [&](size_t r) { return rows.rows[r].figures.latency_ns; });
    CHECK(ranked(rows, {}).front == expected);
  }
}

TEST_CASE(
    "Sweep report: constraints, limits, failures and full memory keep a row out of rankings") {
  HandMadeRows rows;
  rows.add("limit", 1, 9000).figures.unresolved_ops = 1;
  rows.add("bound", 1, 9000).figures.bound_only_fraction = 0.6;
  rows.add("full", 1, 9000).figures.peak_memory_bytes = 9'000'000'000;
  rows.add("failed", 1, 9000).error = "broken";
  rows.add("slow", 30, 9000);
  rows.add("fine", 20, 100);
  SweepConstraints constraints;
  constraints.max_latency_ms = 20;
  const SweepModelReport report = ranked(rows, constraints);
  CHECK(report.best[0] == size_t{5});
  CHECK(report.best[1] == size_t{5});
  CHECK(report.limits == 2);
  CHECK(report.too_large == 1);
  CHECK(report.failed == 1);
  CHECK(report.excluded == 1);
}

TEST_CASE("Sweep report: a machine's price gives the cost of a million samples") {
  HandMadeRows rows;
  rows.add("a", 1, 1000);
  rows.add("b", 2, 500);
  rows.add("c", 1, 2000);
  SweepConstraints constraints;
  constraints.prices = {{"a", 3.6}, {"b", 0.9}, {"elsewhere", 1}};
  // 3.6 per hour is 0.001 per second: a million samples take 1000 s.
  CHECK(cost_per_million(rows.points[0], rows.rows[0].figures, constraints.prices).value() ==
        Approx(1.0));
  CHECK(cost_per_million(rows.points[1], rows.rows[1].figures, constraints.prices).value() ==
        Approx(0.5));
  CHECK_FALSE(cost_per_million(rows.points[2], rows.rows[2].figures, constraints.prices));
  const SweepModelReport report = ranked(rows, constraints);
  CHECK(report.best[2] == size_t{1});
  CHECK(report.front == std::vector<size_t>{0, 1});
  constraints.max_price_per_hour = 2;
  CHECK(ranked(rows, constraints).best[0] == size_t{1});
  constraints.prices = {{"elsewhere", 1}};
  CHECK_FALSE(make_sweep_report(rows.result(), constraints).ok());
}

TEST_CASE("Sweep files: lists, series, parameters and points") {
  const TemporaryFolder folder("sweep_file");
  const std::string path = folder.file("s.yaml",
                                       "models: [a.onnx, b.onnx]\n"
                                       "hw: a100,l4\n"
                                       "batch: 1:4:x2\n"
                                       "param: {sequence: [16, 32]}\n"
                                       "combine: zip\n"
                                       "cost_model: sol\n"
                                       "points:\n"
                                       "  - {model: c.onnx, hw: t4, batch: 8, param: {s: 5}}\n");
  SweepOptions options;
  options.axes.hardware = {"h100"};
  options.cost_model = "a100";
  const Status status = read_sweep_file(path, &options);
  INFO(status.message());
  REQUIRE(status.ok());
  CHECK(options.axes.models == std::vector<std::string>{"a.onnx", "b.onnx"});
  CHECK(options.axes.hardware == std::vector<std::string>{"a100", "l4", "h100"});
  CHECK(options.axes.batches == std::vector<std::string>{"1:4:x2"});
  CHECK(options.axes.params == std::vector<std::string>{"sequence=16,32"});
  CHECK(options.combine == "zip");
  CHECK(options.cost_model == "a100");  // an option comes before the file
  REQUIRE(options.points.size() == 1);
  CHECK(options.points[0].batch == 8);
  CHECK(options.points[0].param[0].second == 5);
}

TEST_CASE("Sweep files: mistakes are named with their place") {
  const TemporaryFolder folder("sweep_bad");
  const auto message = [&](const std::string& text) {
    SweepOptions options;
    const Status status = read_sweep_file(folder.file("s.yaml", text), &options);
    CHECK_FALSE(status.ok());
    return status.message();
  };
  CHECK(message("modelz: [a]\n").find("s.yaml:1:1: unknown key 'modelz'; did you mean 'models'?") !=
        std::string::npos);
  CHECK(message("- a\n").find("expected a map") != std::string::npos);
  CHECK(message("hw: {a: 1}\n").find("s.yaml:1:5") != std::string::npos);
  CHECK(message("points: [{model: a.onnx}]\n").find("without 'hw'") != std::string::npos);
  CHECK(message("points: [{model: a, hw: b, batch: 1.5}]\n").find("whole number") !=
        std::string::npos);
  CHECK(message("points: [{model: a, hw: b, param: {s: 1:4}}]\n").find("expected one") !=
        std::string::npos);
  CHECK_FALSE(read_prices(folder.file("p.yaml", "a100: cheap\n")).ok());
  CHECK_FALSE(read_prices(folder.file("p.yaml", "a100: -1\n")).ok());
  const auto prices = read_prices(folder.file("p.yaml", "a100: 2.5\nl4: 0.8\n"));
  REQUIRE(prices.ok());
  CHECK(prices->at("l4") == 0.8);
}
