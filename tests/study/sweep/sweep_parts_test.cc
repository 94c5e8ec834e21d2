// Parts of a sweep: every point in one of them, merged by hand-made orders and after stops.
#include "study/sweep/sweep_parts.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/study/sweep/sweep_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

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
  std::vector<SweepPoint> listed(23);
  for (size_t p = 0; p < listed.size(); ++p) {
    listed[p].model = "model" + std::to_string(p % 4);
    listed[p].batch = static_cast<int64_t>(p % 3);
  }
  const SweepPlan plan({}, false, listed);
  for (const size_t count : {1, 2, 5, 23, 40}) {
    std::vector<size_t> times(plan.size());
    const SweepParts parts(plan, count);
    for (size_t part = 0; part < count; ++part) {
      const std::vector<uint32_t> points = parts.points(part);
      CHECK(points.size() >= plan.size() / count);
      CHECK(points.size() <= plan.size() / count + 1);
      CHECK(std::is_sorted(points.begin(), points.end()));
      CHECK(plan.part(points).size() == points.size());
      for (size_t i = 0; i < points.size(); ++i) {
        CHECK(plan.part(points)[i] == listed[points[i]]);
      }
      for (const uint32_t p : points) {
        ++times[p];
      }
    }
    CHECK(times == std::vector<size_t>(plan.size(), 1));
  }
  // Four models, 12 imports of them: a part of two has 6 imports, not all 12.
  std::set<std::pair<std::string, int64_t>> imports;
  for (const uint32_t p : SweepParts(plan, 2).points(0)) {
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
  // It resumes, and a part that ran twice counts once.
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
  CHECK(result.status().message().find("another version of dfsim, dfsim; expected dfsim 99") !=
        std::string::npos);
  CHECK(result.status().message().find("part-1-of-2") != std::string::npos);
  // A sweep that goes on starts again instead.
  options.part = {0, 2};
  options.journal = sweep_part_file(output, {0, 2});
  const auto again = sweep(options);
  REQUIRE(again.ok());
  CHECK(again->kept == 0);
  CHECK(merged(options, output, 2).missing == 0);
}

TEST_CASE("Parts of a sweep: a changed model or another file") {
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
