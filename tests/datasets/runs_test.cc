#include "datasets/profiles/runs.h"

#include <catch2/catch.hpp>

#include "tests/datasets/test_files.h"

namespace dfsim {
namespace {

using Catch::Matchers::Contains;

Status status_of(const std::string& content) {
  const ScratchFolder folder;
  return read_runs(folder.write("runs.csv", content)).status();
}

TEST_CASE("Measured runs: every column is read, in any order of columns") {
  const ScratchFolder folder;
  const auto runs = read_runs(folder.write(
      "runs.csv",
      "batch,network,device,time_ms,dims,dtype,runtime,runtime_version,spread_ms,samples,ops_ms,"
      "ops,arena_bytes,date,provenance\n"
      "8,bert,\"CPU, 2 "
      "threads\",12.5,a=1;b=2,float16,ort,1.31,0.5,9,11,70,4096,2026-11-22,here\n"));
  REQUIRE(runs.ok());
  REQUIRE(runs->size() == 1);
  const NetworkRun& run = runs->front();
  CHECK(run.network == "bert");
  CHECK(run.batch == 8);
  CHECK(run.dims == std::vector<std::string>{"a=1", "b=2"});
  CHECK(run.dtype == DType::kFloat16);
  CHECK(run.device == "CPU, 2 threads");
  CHECK(run.time_ns == 12'500'000);
  CHECK(run.spread_ns == 500'000);
  CHECK(run.samples == 9);
  CHECK(run.ops_ns == 11'000'000);
  CHECK(run.ops == 70);
  CHECK(run.arena_bytes == 4096);
  CHECK(run.date == "2026-11-22");
  CHECK(run.line == 2);
}

TEST_CASE("Measured runs: missing columns stay unknown") {
  const ScratchFolder folder;
  const auto runs = read_runs(folder.write("r.csv", "network,batch,device,time_ms\nn,1,cpu,3\n"));
  REQUIRE(runs.ok());
  CHECK(runs->front().ops_ns == -1);
  CHECK(runs->front().ops == -1);
  CHECK(runs->front().arena_bytes == -1);
  CHECK(runs->front().spread_ns == -1);
  CHECK(runs->front().dims.empty());
}

TEST_CASE("Measured runs: errors of bad files give the place and the fault") {
  CHECK_THAT(status_of("network,batch,device,time_msec\nn,1,c,1\n").message(),
             Contains("runs.csv:1") && Contains("time_msec") && Contains("time_ms"));
  CHECK_THAT(status_of("network,batch,device\nn,1,c\n").message(),
             Contains("'time_ms' is missing"));
  CHECK_THAT(status_of("network,network,batch,device,time_ms\nn,n,1,c,1\n").message(),
             Contains("twice"));
  CHECK_THAT(status_of("network,batch,device,time_ms\n").message(), Contains("no run"));
  CHECK_THAT(status_of("").message(), Contains("no header"));
  CHECK_THAT(status_of("network,batch,device,time_ms\nn,1,c\n").message(),
             Contains("runs.csv:2: found 3 columns, expected 4"));
  for (const char* row : {"n,0,c,1", "n,x,c,1", "n,,c,1", "n,1,c,0", "n,1,c,-1", "n,1,c,nan",
                          "n,1,c,inf", "n,1,c,1e300", "n,1,c,", ",1,c,1", "n,1,,1"}) {
    INFO(row);
    const Status status = status_of(std::string("network,batch,device,time_ms\n") + row + "\n");
    CHECK(status.code() == StatusCode::kInvalidInput);
    CHECK_THAT(status.message(), Contains("runs.csv:2") && Contains("expected"));
  }
  CHECK(read_runs("/nonexistent/runs.csv").status().code() == StatusCode::kNotFound);
}

TEST_CASE("Measured runs: shapes are static unless the row says open") {
  const ScratchFolder folder;
  const auto runs = read_runs(folder.write(
      "r.csv",
      "network,batch,device,time_ms,shapes\na,1,cpu,3,open\nb,1,cpu,3,static\nc,1,cpu,3,\n"));
  REQUIRE(runs.ok());
  CHECK((*runs)[0].open_shapes);
  CHECK_FALSE((*runs)[1].open_shapes);
  CHECK_FALSE((*runs)[2].open_shapes);
  const Status wrong = status_of("network,batch,device,time_ms,shapes\na,1,cpu,3,dynamic\n");
  CHECK(wrong.code() == StatusCode::kInvalidInput);
  CHECK_THAT(wrong.message(), Contains("column 'shapes': found 'dynamic'") &&
                                  Contains("expected 'static' or 'open'"));
}

}  // namespace
}  // namespace dfsim
