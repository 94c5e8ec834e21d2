// Sweeps: plans of points, rows that equal single predictions, the journal, and rankings by hand.
#include "study/sweep/sweep.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "study/prediction/predict.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_parts.h"
#include "study/sweep/sweep_plan.h"
#include "study/sweep/sweep_report.h"
#include "tests/study/study_inputs.h"

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

// Two networks on two machines at two batch sizes, with the speed-of-light bound.
SweepOptions small_sweep() {
  SweepOptions options;
  options.axes.models = {zoo_model("mobilenet_v2").path, zoo_model("resnet18").path};
  options.axes.hardware = {"a100", "l4"};
  options.axes.batches = {"1:4:x4"};
  options.cost_model = "sol";
  return options;
}

SweepResult swept(const SweepOptions& options, const Progress& progress = {}) {
  auto result = sweep(options, progress);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(*result);
}

void check_same(const SweepResult& a, const SweepResult& b) {
  REQUIRE(a.points == b.points);
  for (size_t i = 0; i < a.rows.size(); ++i) {
    INFO(i);
    CHECK(a.rows[i].error == b.rows[i].error);
    CHECK(a.rows[i].runtime == b.rows[i].runtime);
    const SweepFigures& x = a.rows[i].figures;
    const SweepFigures& y = b.rows[i].figures;
    CHECK(x.latency_ns == y.latency_ns);
    CHECK(x.interval.low_ns == y.interval.low_ns);
    CHECK(x.interval.high_ns == y.interval.high_ns);
    CHECK(x.throughput_per_s == y.throughput_per_s);
    CHECK(x.batch == y.batch);
    CHECK(x.peak_memory_bytes == y.peak_memory_bytes);
    CHECK(x.memory_bytes == y.memory_bytes);
    CHECK(x.weight_bytes == y.weight_bytes);
    CHECK(x.parameters == y.parameters);
    CHECK(x.flops == y.flops);
    CHECK(x.achieved_flops_per_s == y.achieved_flops_per_s);
    CHECK(x.device_busy_ns == y.device_busy_ns);
    CHECK(x.host_busy_ns == y.host_busy_ns);
    CHECK(x.tasks == y.tasks);
    CHECK(x.unresolved_ops == y.unresolved_ops);
    CHECK(x.bound_only_fraction == y.bound_only_fraction);
  }
}

// A finished point with these figures.
void add_row(const std::string& hardware, int64_t latency_ms, double throughput,
             SweepResult* result) {
  SweepPoint point;
  point.model = "m.onnx";
  point.hardware = hardware;
  result->points.push_back(point);
  SweepRow row;
  row.figures.latency_ns = latency_ms * kNsPerMs;
  row.figures.throughput_per_s = throughput;
  row.figures.peak_memory_bytes = 1'000'000'000;
  row.figures.memory_bytes = 8'000'000'000;
  result->rows.push_back(row);
}

SweepModelReport ranked(const SweepResult& result, const SweepConstraints& constraints) {
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
  CHECK(points->at(0).batch == 1);
  CHECK(points->at(1).batch == 4);
  CHECK(points->at(1).hardware == "a100");
  CHECK(points->at(2).hardware == "l4");
  CHECK(points->at(3).model == points->at(0).model);
  CHECK(points->at(4).model != points->at(0).model);
}

TEST_CASE("Sweep plan: zip pairs lists and repeats single values") {
  SweepOptions options = small_sweep();
  options.axes.models.resize(1);
  options.axes.params = {"sequence=16,32"};
  options.combine = "zip";
  const auto points = plan_sweep(options);
  REQUIRE(points.ok());
  REQUIRE(points->size() == 2);
  CHECK(points->at(1).model == options.axes.models[0]);
  CHECK(points->at(1).hardware == "l4");
  CHECK(points->at(1).batch == 4);
  REQUIRE(points->at(1).param.size() == 1);
  CHECK(points->at(1).param[0] == std::pair<std::string, int64_t>("sequence", 32));

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
  CHECK(points->at(0).model == folder.path() + "/B.onnx");

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
  SweepResult result;
  add_row("fast", 1, 1000, &result);
  add_row("slow", 10, 5000, &result);
  add_row("dominated", 5, 900, &result);
  add_row("equal", 1, 1000, &result);
  add_row("middle", 4, 3000, &result);
  const SweepModelReport report = ranked(result, {});
  CHECK(report.best[0] == size_t{0});
  CHECK(report.best[1] == size_t{1});
  CHECK_FALSE(report.best[2].has_value());
  CHECK(report.front == std::vector<size_t>{0, 4, 1});
}

TEST_CASE(
    "Sweep report: constraints, limits, failures and full memory keep a row out of rankings") {
  SweepResult result;
  add_row("limit", 1, 9000, &result);
  result.rows.back().figures.unresolved_ops = 1;
  add_row("bound", 1, 9000, &result);
  result.rows.back().figures.bound_only_fraction = 0.6;
  add_row("full", 1, 9000, &result);
  result.rows.back().figures.peak_memory_bytes = 9'000'000'000;
  add_row("failed", 1, 9000, &result);
  result.rows.back().error = "broken";
  add_row("slow", 30, 9000, &result);
  add_row("fine", 20, 100, &result);
  SweepConstraints constraints;
  constraints.max_latency_ms = 20;
  const SweepModelReport report = ranked(result, constraints);
  CHECK(report.best[0] == size_t{5});
  CHECK(report.best[1] == size_t{5});
  CHECK(report.limits == 2);
  CHECK(report.too_large == 1);
  CHECK(report.failed == 1);
  CHECK(report.excluded == 1);
}

TEST_CASE("Sweep report: a machine's price gives the cost of a million samples") {
  SweepResult result;
  add_row("a", 1, 1000, &result);
  add_row("b", 2, 500, &result);
  add_row("c", 1, 2000, &result);
  SweepConstraints constraints;
  constraints.prices = {{"a", 3.6}, {"b", 0.9}, {"elsewhere", 1}};
  // 3.6 per hour is 0.001 per second: a million samples take 1000 s.
  CHECK(cost_per_million(result.points[0], result.rows[0].figures, constraints.prices).value() ==
        Approx(1.0));
  CHECK(cost_per_million(result.points[1], result.rows[1].figures, constraints.prices).value() ==
        Approx(0.5));
  CHECK_FALSE(cost_per_million(result.points[2], result.rows[2].figures, constraints.prices));
  const SweepModelReport report = ranked(result, constraints);
  CHECK(report.best[2] == size_t{1});
  CHECK(report.front == std::vector<size_t>{0, 1});
  constraints.max_price_per_hour = 2;
  CHECK(ranked(result, constraints).best[0] == size_t{1});
  constraints.prices = {{"elsewhere", 1}};
  CHECK_FALSE(make_sweep_report(result, constraints).ok());
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

namespace {

// Predicts one part into its journal.
void run_part(SweepOptions options, const std::string& output, SweepPart part) {
  options.part = part;
  options.journal = sweep_part_file(output, part);
  swept(options);
}

MergedSweep merged(const SweepOptions& options, const std::string& output, size_t parts) {
  auto result = merge_sweep(options, sweep_part_files(output, parts));
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(*result);
}

}  // namespace

TEST_CASE("Parts of a sweep: each point is in exactly one") {
  std::vector<SweepPoint> plan(23);
  for (size_t p = 0; p < plan.size(); ++p) {
    plan[p].model = "model" + std::to_string(p % 4);
    plan[p].batch = static_cast<int64_t>(p % 3);
  }
  for (const size_t count : {1, 2, 5, 23, 40}) {
    std::vector<size_t> times(plan.size());
    for (size_t part = 0; part < count; ++part) {
      const std::vector<size_t> points = points_of_part(plan, {part, count});
      CHECK(points.size() >= plan.size() / count);
      CHECK(points.size() <= plan.size() / count + 1);
      CHECK(std::is_sorted(points.begin(), points.end()));
      for (const size_t p : points) {
        ++times[p];
      }
    }
    CHECK(times == std::vector<size_t>(plan.size(), 1));
  }
  // Four models, 12 imports of them: a part of two has 6 imports, not all 12.
  std::set<std::pair<std::string, int64_t>> imports;
  for (const size_t p : points_of_part(plan, {0, 2})) {
    imports.emplace(plan[p].model, plan[p].batch);
  }
  CHECK(imports.size() == 6);
}

TEST_CASE("Parts of a sweep: text") {
  const auto part = parse_sweep_part("2/8", "--part");
  REQUIRE(part.ok());
  CHECK(part->index == 1);
  CHECK(part->count == 8);
  for (const char* text : {"", "2", "0/8", "9/8", "-1/8", "1/0", "1/8/9", "a/b", "1/100001"}) {
    INFO(text);
    CHECK_FALSE(parse_sweep_part(text, "--part").ok());
  }
  CHECK(sweep_part_file("points.csv", {1, 8}) == "points.csv.part-2-of-8");
}

TEST_CASE("Parts of a sweep: together they are the whole, with errors and in any order") {
  const TemporaryFolder folder("sweep_parts");
  const std::string output = folder.path() + "/points.csv";
  SweepOptions options = small_sweep();
  options.axes.models.emplace_back("no_such.onnx");
  const SweepResult whole = swept(options);
  for (const size_t part : {2, 0, 1}) {
    run_part(options, output, {part, 3});
  }
  const MergedSweep all = merged(options, output, 3);
  CHECK(all.missing == 0);
  CHECK(all.incomplete.empty());
  check_same(all.result, whole);
  CHECK(all.result.failed() == 4);
}

TEST_CASE("Parts of a sweep: merging names parts that lack points") {
  const TemporaryFolder folder("sweep_parts");
  const std::string output = folder.path() + "/points.csv";
  const SweepOptions options = small_sweep();
  run_part(options, output, {0, 3});
  // The second part was stopped after its first point.
  SweepOptions stopped = options;
  stopped.part = {1, 3};
  stopped.journal = sweep_part_file(output, {1, 3});
  stopped.threads = 1;
  int stages = 0;
  Progress progress;
  progress.on_stage = [&](const std::string&) {
    return ++stages > 2 ? failed("stopped") : ok_status();
  };
  CHECK_FALSE(sweep(stopped, progress).ok());
  MergedSweep some = merged(options, output, 3);
  CHECK(some.incomplete == std::vector<size_t>{1, 2});
  CHECK(some.missing == 5);  // 8 points: 2, 3 and 3, and one of the second part is there
  // It goes on where it was, and a part that ran twice counts once.
  stopped.threads = 2;
  const auto resumed = sweep(stopped);
  REQUIRE(resumed.ok());
  CHECK(resumed->kept == 1);
  run_part(options, output, {2, 3});
  run_part(options, output, {2, 3});
  some = merged(options, output, 3);
  CHECK(some.missing == 0);
  check_same(some.result, swept(options));
}

TEST_CASE("Parts of a sweep: a part of another version is refused") {
  const TemporaryFolder folder("sweep_parts");
  const std::string output = folder.path() + "/points.csv";
  SweepOptions options = small_sweep();
  run_part(options, output, {0, 2});
  options.program = "dfsim 99";
  run_part(options, output, {1, 2});
  const auto result = merge_sweep(options, sweep_part_files(output, 2));
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().message().find("another version of dfsim") != std::string::npos);
  CHECK(result.status().message().find("part-1-of-2") != std::string::npos);
  // A sweep that goes on starts anew instead.
  options.part = {0, 2};
  options.journal = sweep_part_file(output, {0, 2});
  const auto again = sweep(options);
  REQUIRE(again.ok());
  CHECK(again->kept == 0);
  CHECK(merged(options, output, 2).missing == 0);
}

TEST_CASE("Parts of a sweep: a changed model or a file that is none of ours") {
  const TemporaryFolder folder("sweep_parts");
  const std::string output = folder.path() + "/points.csv";
  const std::string model = output + ".onnx";
  std::filesystem::copy_file(zoo_model("resnet18").path, model);
  SweepOptions options = small_sweep();
  options.axes.models = {model};
  run_part(options, output, {0, 1});
  CHECK(merged(options, output, 1).missing == 0);
  // A copy that is newer has the same content.
  std::filesystem::last_write_time(model, std::filesystem::file_time_type::clock::now());
  CHECK(merged(options, output, 1).missing == 0);
  std::filesystem::copy_file(zoo_model("mobilenet_v2").path, model,
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(merged(options, output, 1).missing == 4);
  const auto refused = merge_sweep(options, {model});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().message().find("found another file") != std::string::npos);
}
