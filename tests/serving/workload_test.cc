// Where requests come from: lengths, closed and open loops, traces and their errors.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include "serving/workload/request_source.h"
#include "serving/workload/trace_reader.h"

namespace dfsim {
namespace {

std::vector<RequestSpec> all_of(RequestSource& source) {
  std::vector<RequestSpec> requests;
  while (true) {
    const auto time = source.peek();
    REQUIRE(time.ok());
    if (!time->has_value()) {
      return requests;
    }
    requests.push_back(source.take());
    CHECK(requests.back().arrival_ns == **time);
  }
}

// A file that is removed at the end of the test.
class TraceFileFixture {
 public:
  TraceFileFixture(const std::string& name, const std::string& text) : path_(name) {
    std::ofstream(path_) << text;
  }
  ~TraceFileFixture() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string error_of(const std::string& text) {
  const TraceFileFixture file("trace_reader_test.txt", text);
  auto trace = RequestTraceReader::open(file.path());
  if (!trace.ok()) {
    return trace.status().message();
  }
  while (true) {
    const auto request = (*trace)->next();
    if (!request.ok()) {
      return request.status().message();
    }
    if (!request->has_value()) {
      return "";
    }
  }
}

TEST_CASE("Length ranges: a range ratio takes both ends in, a fixed length draws nothing") {
  const auto range = make_length_range("prompt", 1000, 0.8, 1.2);
  REQUIRE(range.ok());
  CHECK(range->low == 800);
  CHECK(range->high == 1200);
  Rng rng(1);
  int64_t lowest = 10000;
  int64_t highest = 0;
  for (int i = 0; i < 20000; ++i) {
    const int64_t length = range->draw(rng);
    lowest = std::min(lowest, length);
    highest = std::max(highest, length);
  }
  CHECK(lowest == 800);
  CHECK(highest == 1200);
  Rng fixed(7);
  CHECK(LengthRange{5, 5}.draw(fixed) == 5);
  CHECK(fixed.next() == Rng(7).next());
  for (const auto& [tokens, low, high] : std::vector<std::tuple<int64_t, double, double>>{
           {0, 1, 1}, {10, 0, 1}, {10, 1.2, 0.8}, {10, 1, 11}, {10, NAN, 1}}) {
    CHECK_FALSE(make_length_range("prompt", tokens, low, high).ok());
  }
}

TEST_CASE("Closed loop: as many requests are out as there are users, until all were sent") {
  auto source = make_closed_loop({3, 5, 0, 0}, {{10, 10}, {2, 2}, {}}, 1);
  REQUIRE(source.ok());
  CHECK(all_of(**source).size() == 3);
  (*source)->finished(100);
  (*source)->finished(50);
  const std::vector<RequestSpec> next = all_of(**source);
  REQUIRE(next.size() == 2);
  CHECK(next[0].arrival_ns == 50);
  CHECK(next[1].arrival_ns == 100);
  (*source)->finished(200);
  CHECK(all_of(**source).empty());
}

TEST_CASE("Open loop: the rate, its spread, and the same requests for the same seed") {
  for (const double burstiness : {0.25, 1.0, 4.0}) {
    auto source = make_open_loop({100, burstiness, 50000}, {{10, 20}, {1, 5}, {}}, 3);
    auto again = make_open_loop({100, burstiness, 50000}, {{10, 20}, {1, 5}, {}}, 3);
    REQUIRE(source.ok());
    const std::vector<RequestSpec> requests = all_of(**source);
    const std::vector<RequestSpec> same = all_of(**again);
    REQUIRE(requests.size() == 50000);
    CHECK(static_cast<double>(requests.back().arrival_ns) == Approx(500e9).epsilon(0.05));
    // A gamma distribution's coefficient of variation is 1 / sqrt(shape).
    double sum = 0;
    double squares = 0;
    for (size_t i = 1; i < requests.size(); ++i) {
      const double gap = static_cast<double>(requests[i].arrival_ns - requests[i - 1].arrival_ns);
      sum += gap;
      squares += gap * gap;
      CHECK(requests[i].arrival_ns == same[i].arrival_ns);
      CHECK(requests[i].prompt_tokens == same[i].prompt_tokens);
    }
    const double mean = sum / 49999;
    CHECK(std::sqrt(squares / 49999 - mean * mean) / mean ==
          Approx(1 / std::sqrt(burstiness)).epsilon(0.05));
  }
}

TEST_CASE("Workloads: rates, counts and prefixes out of range are refused") {
  const SyntheticLengths lengths = {{10, 10}, {2, 2}, {}};
  CHECK_FALSE(make_open_loop({0, 1, 10}, lengths, 1).ok());
  CHECK_FALSE(make_open_loop({-1, 1, 10}, lengths, 1).ok());
  CHECK_FALSE(make_open_loop({NAN, 1, 10}, lengths, 1).ok());
  CHECK_FALSE(make_open_loop({1, 0, 10}, lengths, 1).ok());
  CHECK_FALSE(make_open_loop({1, 1, 0}, lengths, 1).ok());
  CHECK_FALSE(make_closed_loop({0, 10, 0, 0}, lengths, 1).ok());
  CHECK_FALSE(make_closed_loop({1, 10, -1, 0}, lengths, 1).ok());
  CHECK_FALSE(make_closed_loop({1, 10, 0, 0}, {{10, 10}, {2, 2}, {11, 1}}, 1).ok());
}

TEST_CASE("Traces: Azure, BurstGPT, Mooncake and lists of lengths are read") {
  const auto first_two = [](const std::string& text) {
    const TraceFileFixture file("trace_reader_test.txt", text);
    auto trace = RequestTraceReader::open(file.path());
    REQUIRE(trace.ok());
    std::vector<RequestSpec> requests;
    for (int i = 0; i < 2; ++i) {
      auto request = (*trace)->next();
      INFO(request.status().message());
      REQUIRE(request.ok());
      REQUIRE(request->has_value());
      requests.push_back(**request);
    }
    return requests;
  };
  const auto azure = first_two(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:59:59.5000000,374,44\r\n"
      "2023-11-16 19:00:01.0000000,396,109\r\n");
  CHECK(azure[0].prompt_tokens == 374);
  CHECK(azure[1].output_tokens == 109);
  CHECK(azure[1].arrival_ns == 1'500'000'000);
  // A request without a response failed: it is left out.
  const auto burst = first_two(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,Conversation log\n"
      "118,GPT-4,417,276,693,Conversation log\n");
  CHECK(burst[1].prompt_tokens == 417);
  CHECK(burst[1].arrival_ns == 113'000'000'000);
  const auto mooncake = first_two(
      "{\"timestamp\": 0, \"input_length\": 6755, \"output_length\": 500, \"hash_ids\": [46, 47]}\n"
      "{\"timestamp\": 3000, \"input_length\": 7319, \"output_length\": 490, \"hash_ids\": "
      "[46]}\n");
  CHECK(mooncake[0].prefix_hashes == std::vector<uint64_t>{46, 47});
  CHECK(mooncake[0].tokens_per_hash == 512);
  CHECK(mooncake[1].arrival_ns == 3'000'000'000);
  const auto lengths = first_two("prompt_len,output_len\n10,20\n30,40\n");
  CHECK(lengths[1].prompt_tokens == 30);
}

TEST_CASE("Traces: an error names the line") {
  CHECK(error_of("") == "trace_reader_test.txt: the file is empty, expected a trace of requests");
  CHECK(error_of("a,b\n1,2\n").find("line 1: no column of prompt tokens") != std::string::npos);
  const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  CHECK(error_of(header + "1,10,10\n2,10\n").find("line 3: 2 fields, expected 3") !=
        std::string::npos);
  CHECK(error_of(header + "1,10,10\n2,x,10\n").find("line 3: prompt tokens are 'x'") !=
        std::string::npos);
  CHECK(error_of(header + "1,0,10\n").find("line 2: a prompt of 0 tokens") != std::string::npos);
  CHECK(error_of(header + "1,10,-4\n").find("line 2: an output of -4") != std::string::npos);
  CHECK(error_of(header + "5,10,10\n4,10,10\n").find("line 3: its time lies 1.0") !=
        std::string::npos);
  CHECK(error_of(header + "soon,10,10\n").find("line 2: the time is 'soon'") != std::string::npos);
  CHECK(
      error_of("{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 5}\n{\"timestamp\": 1\n")
          .find("line 2: no JSON object") != std::string::npos);
  CHECK(error_of(
            "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 5}\n{\"timestamp\": 1}\n")
            .find("line 2: no number of prompt tokens") != std::string::npos);
}

TEST_CASE("Replay: arrivals are divided by the speedup, lengths alone are refused") {
  const TraceFileFixture file("trace_reader_test.txt",
                              "timestamp,isl,osl\n10,5,5\n12,5,5\n14,5,5\n");
  auto source = make_replay({file.path(), 4, 2});
  REQUIRE(source.ok());
  const std::vector<RequestSpec> requests = all_of(**source);
  REQUIRE(requests.size() == 2);
  CHECK(requests[1].arrival_ns == 500'000'000);
  CHECK_FALSE(make_replay({file.path(), 0, 0}).ok());
  const TraceFileFixture timeless("timeless_trace_test.txt", "isl,osl\n5,5\n");
  CHECK_FALSE(make_replay({timeless.path(), 1, 0}).ok());
}

}  // namespace
}  // namespace dfsim
