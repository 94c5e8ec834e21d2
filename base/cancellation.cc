#include "base/cancellation.h"

#include <mutex>
#include <thread>
#include <vector>

namespace dfsim::inline base {
namespace internal {

void poll_cancellation(CancelState& state) {
  constexpr uint32_t kPointsPerQuestion = 64;
  if (++cancellation_points % kPointsPerQuestion == 0 && state.wants_to_cancel()) {
    state.cancelled = true;
  }
  // Another thread of the same work may have asked.
  if (state.cancelled.load(std::memory_order_relaxed)) {
    throw WorkCancelled();
  }
}

}  // namespace internal

Status cancelled_status() { return failed("cancelled"); }

void run_on_threads(size_t count, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr thrown;
  internal::CancelState* const state = internal::current_cancel_state;
  const auto run = [&] {
    const internal::CancelScope scope(state);
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < count; ++i) {
      threads.emplace_back(run);
    }
    run();
  }  // joins
  if (thrown != nullptr) {
    std::rethrow_exception(thrown);
  }
}

}  // namespace dfsim::inline base
