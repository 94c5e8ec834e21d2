#include "base/cancellation.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>

using namespace dfsim;

namespace {

// More cancellation points than lie between two questions.
void pass_points(int count) {
  for (int i = 0; i < count; ++i) {
    cancellation_point();
  }
}

}  // namespace

TEST_CASE("Cancellation: a point does nothing without a caller that can cancel") {
  pass_points(1000);
  CHECK(run_cancellable([] { return false; },
                        [] {
                          pass_points(1000);
                          return StatusOr<int>(7);
                        })
            .value() == 7);
  pass_points(1000);  // the question is gone
}

TEST_CASE("Cancellation: ends the work inside a loop") {
  int turns = 0;
  const Status status = run_cancellable([&] { return turns > 500; },
                                        [&] {
                                          for (; turns < 1'000'000; ++turns) {
                                            cancellation_point();
                                          }
                                          return ok_status();
                                        });
  CHECK(status.message() == "cancelled");
  CHECK(turns > 500);
  CHECK(turns < 1000);
}

TEST_CASE("Cancellation: the inner of two questions counts, then the outer again") {
  const auto inner = [] {
    return run_cancellable([] { return true; },
                           [] {
                             pass_points(1000);
                             return ok_status();
                           });
  };
  const Status outer = run_cancellable([] { return false; },
                                       [&] {
                                         CHECK(inner().message() == "cancelled");
                                         pass_points(1000);
                                         return ok_status();
                                       });
  CHECK(outer.ok());
}

TEST_CASE("Cancellation: reaches the threads that share the work") {
  std::atomic<int> running = 0;
  std::atomic<int> returned = 0;
  const Status status = run_cancellable([&] { return running == 3; },
                                        [&] {
                                          run_on_threads(3, [&] {
                                            ++running;
                                            while (true) {
                                              cancellation_point();
                                            }
                                          });
                                          ++returned;
                                          return ok_status();
                                        });
  CHECK(status.message() == "cancelled");
  CHECK(returned == 0);
}

TEST_CASE("run_on_threads: calls the work on so many threads and passes exceptions on") {
  std::atomic<int> calls = 0;
  run_on_threads(4, [&] { ++calls; });
  CHECK(calls == 4);
  run_on_threads(0, [&] { ++calls; });
  CHECK(calls == 5);
  const auto own = std::this_thread::get_id();
  CHECK_THROWS_AS(run_on_threads(2,
                                 [&] {
                                   ++calls;
                                   if (std::this_thread::get_id() != own) {
                                     throw std::runtime_error("on the other thread");
                                   }
                                 }),
                  std::runtime_error);
  CHECK(calls == 7);
}
