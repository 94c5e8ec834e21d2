// DFSIM_CHECK: an assertion for our own bugs, kept in release builds. Never for user input.
#pragma once

namespace dfsim::inline base::internal {
// Prints the failed condition and its place to stderr, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace dfsim::inline base::internal

#define DFSIM_CHECK(condition)                                         \
  do {                                                                 \
    if (!(condition)) {                                                \
      ::dfsim::internal::check_failed(#condition, __FILE__, __LINE__); \
    }                                                                  \
  } while (false)
