// A simulated server's trace: both formats hold the same steps and requests, and nothing overlaps.
#include "report/trace/serving_trace.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include "datasets/traces/trace_reader.h"

namespace dfsim {
namespace {

StepRecord step(TimeNs start_ns, TimeNs end_ns, int64_t decodes, int64_t prefills) {
  StepRecord record;
  record.start_ns = start_ns;
  record.end_ns = end_ns;
  record.decodes = decodes;
  record.prefills = prefills;
  record.split_ns[0] = static_cast<double>(end_ns - start_ns);
  return record;
}

Sequence request(int64_t id, TimeNs arrival_ns, TimeNs admitted_ns, TimeNs first_ns,
                 TimeNs last_ns) {
  Sequence sequence;
  sequence.spec.id = id;
  sequence.spec.arrival_ns = arrival_ns;
  sequence.spec.prompt_tokens = 100;
  sequence.spec.output_tokens = 5;
  sequence.admitted_ns = admitted_ns;
  sequence.first_token_ns = first_ns;
  sequence.last_token_ns = last_ns;
  return sequence;
}

using SpanRow = std::tuple<TimeNs, TimeNs, std::string, std::string>;

std::vector<SpanRow> written(const std::string& name) {
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  auto trace = ServingTrace::open(path, {"replica 0"});
  REQUIRE(trace.ok());
  (*trace)->step(step(0, 2'000'000, 0, 2));
  (*trace)->step(step(2'000'000, 3'000'000, 2, 0));
  (*trace)->finished(request(0, 0, 0, 2'000'000, 3'000'000));
  (*trace)->step(step(3'000'000, 5'000'000, 1, 1));
  (*trace)->finished(request(1, 0, 500'000, 2'000'000, 5'000'000));
  (*trace)->finished(request(2, 3'000'000, 3'000'000, 5'000'000, 5'000'000));
  REQUIRE((*trace)->close().ok());
  const auto read = read_trace(path);
  std::filesystem::remove(path);
  INFO(read.status().message());
  REQUIRE(read.ok());
  std::vector<SpanRow> rows;
  for (const Span& span : read->spans) {
    rows.emplace_back(static_cast<TimeNs>(std::llround(span.start_us * 1e3)),
                      static_cast<TimeNs>(std::llround(span.end_us * 1e3)), read->text(span.name),
                      read->track(span.track).name);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_CASE("Serving trace: steps and requests are slices, in JSON as in Perfetto's format") {
  const std::vector<SpanRow> json = written("dfsim-serving.json");
  CHECK(json == written("dfsim-serving.pftrace"));
  std::map<std::string, int> count;
  for (const auto& [start, end, name, track] : json) {
    ++count[track == "engine steps" ? "step " + name : "request " + name];
  }
  CHECK(count == std::map<std::string, int>{{"step prefill", 1},
                                            {"step decode", 1},
                                            {"step prefill and decode", 1},
                                            {"request queue", 1},
                                            {"request prefill", 3},
                                            {"request decode", 2}});
  // Request 2 arrives when request 0 ends and takes its lane; request 1 has one of its own.
  std::map<std::string, TimeNs> busy_until;
  for (const auto& [start, end, name, track] : json) {
    CHECK(start >= busy_until[track]);
    busy_until[track] = end;
  }
  CHECK(busy_until.size() == 3);
}

TEST_CASE("Serving trace: a file that cannot be written is an error") {
  CHECK_FALSE(ServingTrace::open("/no/such/folder/trace.json", {"replica 0"}).ok());
}

}  // namespace
}  // namespace dfsim
