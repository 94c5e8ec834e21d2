#include "cli/progress.h"

#include <catch2/catch.hpp>

namespace dfsim::cli {
namespace {

using std::chrono::seconds;

TEST_CASE("Progress: the rate and the time left are those since the first report") {
  Advance advance;
  CHECK(advance.text().empty());
  const Advance::Clock::time_point begin;
  advance.set(2, 30, "policies", begin);
  CHECK(advance.text() == ", 2 of 30 policies");  // no rate yet
  CHECK(advance.json().compact_text() ==
        R"({"what":"policies","done":2.0,"total":30.0,"rate_per_s":null,"left_s":null})");
  advance.set(12, 30, "policies", begin + seconds(5));
  CHECK(advance.text() == ", 12 of 30 policies, 2/s, 9 s left");
  CHECK(advance.json().compact_text() ==
        R"({"what":"policies","done":12.0,"total":30.0,"rate_per_s":2.0,"left_s":9.0})");
}

TEST_CASE("Progress: a stage that reports nothing shows no old figures, the rate goes on") {
  Advance advance;
  const Advance::Clock::time_point begin;
  advance.set(0, 1000, "points", begin);
  advance.set(1, 1000, "points", begin + seconds(10));
  CHECK(advance.text() == ", 1 of 1000 points, 0.1/s, 2 h 46 min left");
  advance.begin_stage();
  CHECK(advance.text().empty());
  advance.set(2.5, 1000, "points", begin + seconds(20));
  CHECK(advance.text() == ", 2.5 of 1000 points, 0.12/s, 2 h 13 min left");
  advance.set(0, 4, "plans", begin + seconds(30));
  CHECK(advance.text() == ", 0 of 4 plans");
}

TEST_CASE("Progress: without a total there is a rate and no time left") {
  Advance advance;
  const Advance::Clock::time_point begin;
  advance.set(100, 0, "requests", begin);
  CHECK(advance.text() == ", 100 requests");
  advance.set(300, 0, "requests", begin + seconds(4));
  CHECK(advance.text() == ", 300 requests, 50/s");
  CHECK(advance.json().compact_text() ==
        R"({"what":"requests","done":300.0,"total":null,"rate_per_s":50.0,"left_s":null})");
}

}  // namespace
}  // namespace dfsim::cli
