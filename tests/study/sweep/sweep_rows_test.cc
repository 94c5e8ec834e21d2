// Rows of a sweep, in memory and in a temporary file.
#include "study/sweep/sweep_rows.h"

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

SweepRow row_number(size_t r) {
  SweepRow row;
  row.runtime = "runtime " + std::to_string(r % 3);
  if (r % 5 == 0) {
    row.error = "error " + std::to_string(r);
  } else {
    row.figures.latency_ns = static_cast<TimeNs>(r) * 1000;
    row.figures.bound_only_fraction = static_cast<double>(r) / 7;
  }
  return row;
}

SweepRows made(size_t size, size_t most_in_memory) {
  auto rows = SweepRows::make(size, most_in_memory);
  INFO(rows.status().message());
  REQUIRE(rows.ok());
  return std::move(*rows);
}

}  // namespace

TEST_CASE("SweepRows: gives back what threads set, from memory and from a file") {
  constexpr size_t kRows = 1000;
  for (const size_t most : {kRows, kRows - 1, size_t{0}}) {
    INFO(most);
    SweepRows rows = made(kRows, most);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (size_t r = t; r < kRows; r += 3) {
          if (!rows.set(r, row_number(r)).ok()) {
            std::abort();
          }
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    const SweepRows moved = std::move(rows);
    REQUIRE(moved.size() == kRows);
    size_t r = 0;
    for (const SweepRow row : moved) {
      const SweepRow expected = row_number(r++);
      REQUIRE(row.runtime == expected.runtime);
      REQUIRE(row.error == expected.error);
      REQUIRE(row.figures.latency_ns == expected.figures.latency_ns);
      REQUIRE(row.figures.bound_only_fraction == expected.figures.bound_only_fraction);
    }
    CHECK(r == kRows);
  }
}

TEST_CASE("SweepRows: a row that was never set has no error and no figures") {
  for (const size_t most : {size_t{2}, size_t{0}}) {
    const SweepRows rows = made(2, most);
    CHECK(rows[1].error.empty());
    CHECK(rows[1].runtime.empty());
    CHECK(rows[1].figures.latency_ns == 0);
  }
  CHECK(SweepRows().empty());
}

TEST_CASE("SweepRows: a directory for temporary files that is not there is named") {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  const auto rows = SweepRows::make(10, 0);
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", kept.c_str(), 1);
  }
  REQUIRE_FALSE(rows.ok());
  CHECK(rows.status().message().find("set TMPDIR") != std::string::npos);
}
