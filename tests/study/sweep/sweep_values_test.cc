// The values that a user gives a sweep: names of files with commas, and messages that say where
// the value is.
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_plan.h"
#include "tests/study/sweep/sweep_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;
using Catch::Contains;
using Catch::EndsWith;

namespace {

// The message about a sweep file with that text.
std::string file_message(const TemporaryFolder& folder, const std::string& text) {
  SweepOptions options;
  const Status status = read_sweep_file(folder.file("s.yaml", text), &options);
  CHECK_FALSE(status.ok());
  return status.message();
}

}  // namespace

TEST_CASE("Sweep values: commas separate, but for the path of a file as a whole") {
  const TemporaryFolder folder("sweep_commas");
  const std::string model = folder.file("a,b.onnx", "x");
  CHECK(listed_values("a,b,c") == std::vector<std::string>{"a", "b", "c"});
  CHECK(listed_values(model) == std::vector<std::string>{model});
  CHECK(listed_values("hf:" + model) == std::vector<std::string>{"hf:" + model});
  CHECK(listed_values(model + ",c").size() == 3);
  SweepOptions options;
  const Status read =
      read_sweep_file(folder.file("s.yaml", "models: " + model + "\nhw: a100,l4\n"), &options);
  REQUIRE(read.ok());
  CHECK(options.axes.models == std::vector<std::string>{model});
  CHECK(options.axes.hardware.size() == 2);
}

TEST_CASE("Sweep values: the path of a file is not a pattern") {
  const TemporaryFolder folder("sweep_brackets");
  SweepOptions options;
  options.axes.models = {folder.file("a[1].onnx", "x")};
  options.axes.hardware = {"a100"};
  const auto points = plan_sweep(options);
  REQUIRE(points.ok());
  CHECK((*points)[0].model == options.axes.models[0]);
}

TEST_CASE("Sweep files: wrong values are named with their place") {
  const TemporaryFolder folder("sweep_places");
  CHECK_THAT(file_message(folder, "hw: a100\nbatch: [1, 2, foo]\n"),
             Contains("s.yaml:2:15: batch: found 'foo', expected numbers from 1 on"));
  CHECK_THAT(file_message(folder, "batch: 4:1\n"), Contains("s.yaml:1:8: batch: found '4:1'"));
  CHECK_THAT(file_message(folder, "param: {s: [1, x]}\n"),
             Contains("s.yaml:1:12: param s: found 'x'"));
  CHECK_THAT(file_message(folder, "combine: foo\n"),
             Contains("s.yaml:1:10: combine: unknown way to combine 'foo'"));
  CHECK_THAT(file_message(folder, "mode: learn\n"), Contains("s.yaml:1:7: mode: unknown mode"));
  CHECK_THAT(file_message(folder, "policy: heftt\n"), Contains("s.yaml:1:9: policy: unknown"));
  CHECK_THAT(file_message(folder, "optimizer: adm\n"), Contains("s.yaml:1:12: optimizer: unknown"));
  CHECK_THAT(file_message(folder, "recompute: al\n"), Contains("s.yaml:1:12: recompute: unknown"));
  CHECK_THAT(file_message(folder, "precision: [fp16, nope.yaml]\n"),
             Contains("s.yaml:1:19: precision: nope.yaml: no such file of rules"));
  CHECK_THAT(file_message(folder, "points: [{model: m, hw: a100, mode: learn}]\n"),
             Contains("s.yaml:1:37: ") && Contains("unknown mode 'learn'"));
  CHECK_THAT(file_message(folder, ""), EndsWith("see docs/commands/sweep.md"));
}

TEST_CASE("Sweep values: messages name the sweep's own options") {
  const auto long_series = parse_series("1:1000000000000", "--batch");
  REQUIRE_FALSE(long_series.ok());
  CHECK_THAT(long_series.status().message(),
             Contains("--batch: found more than 2000000 numbers in '1:1000000000000', expected"));
  SweepOptions options = small_sweep();
  options.axes.params = {"foo=1"};
  const SweepResult result = swept(options);
  const std::string error = result.rows[0].error;
  CHECK_THAT(error, Contains("--param: unknown dimension 'foo'"));
  CHECK_THAT(error, !Contains("--dim"));
  options = small_sweep();
  options.axes.precisions = {"fp16", "nope.yaml"};
  CHECK_THAT(sweep(options).status().message(),
             Contains("--precision: nope.yaml: no such file of rules; check the path"));
  options = small_sweep();
  options.combine = "foo";
  CHECK_THAT(sweep(options).status().message(), Contains("--combine: unknown way to combine"));
}
