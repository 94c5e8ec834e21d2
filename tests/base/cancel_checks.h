// Shared by tests of cancellation: work that asks often whether it is still wanted, and ends when
// it is not. Measured in questions, not in time, so that no test depends on the
// machine.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "base/cancellation.h"

namespace dfsim::testing {

using Work = std::function<Status()>;

// How often the whole work asks.
inline size_t questions_of(const Work& work) {
  size_t asked = 0;
  const Status status = run_cancellable(
      [&] {
        ++asked;
        return false;
      },
      work);
  INFO(status.message());
  CHECK(status.ok());
  return asked;
}

// Cancels at some of the questions, the first and the last among them.
inline void check_cancels(const Work& work, size_t least_questions) {
  const size_t all = questions_of(work);
  CHECK(all >= least_questions);
  for (const size_t at : {size_t{1}, all / 4, all / 2, all * 3 / 4, all}) {
    size_t asked = 0;
    const Status status = run_cancellable([&] { return ++asked >= std::max<size_t>(at, 1); }, work);
    CHECK(status.message() == "cancelled");
    CHECK(asked == std::max<size_t>(at, 1));
  }
}

}  // namespace dfsim::testing
