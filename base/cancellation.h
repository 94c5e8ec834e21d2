// Cancellation: work whose caller no longer wants the result ends soon, in the middle of its loops.
//
// A caller that may lose interest (a server whose client hangs up or whose time limit passes, a
// Python program at Ctrl-C) does its work in run_cancellable(). Loops that may take long call
// cancellation_point() once per turn: per operator, task, candidate, or some hundred events.
// There the work ends by an exception, WorkCancelled, which only run_cancellable() catches: the
// loops are deep inside code that has no other reason to fail, and it saves every function on the
// way an error to pass on. Code between the two must be ready for it as it is for std::bad_alloc:
// owners free what they hold. A cancellation point never skips work on its own: without
// run_cancellable(), as on the command line, it does nothing.
//
// Cost: a cancellation point is one read of a thread-local pointer without a
// caller that can cancel, and a counter with one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>

#include "base/status.h"

namespace dfsim::inline base {

// The exception of a cancellation point. Not a std::exception, so that code which catches the
// exceptions of third-party libraries lets it pass.
struct WorkCancelled {};

// Whether the caller has lost interest. Called from any thread that works for it, often: about once
// per 64 cancellation points.
using CancelQuestion = std::function<bool()>;

namespace internal {

// Shared by the threads of one piece of work.
struct CancelState {
  CancelQuestion wants_to_cancel;
  std::atomic<bool> cancelled = false;
};

// The work of this thread; nullptr when no caller can cancel it.
inline constinit thread_local CancelState* current_cancel_state = nullptr;
inline constinit thread_local uint32_t cancellation_points = 0;

// Asks the caller at every 64th call. Throws WorkCancelled when the work is to end.
void poll_cancellation(CancelState& state);

// Makes `state` that of this thread while it lives.
class CancelScope {
 public:
  explicit CancelScope(CancelState* state) : outer_(std::exchange(current_cancel_state, state)) {
    cancellation_points = 0;  // the same work asks at the same points each time
  }
  ~CancelScope() { current_cancel_state = outer_; }
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  CancelState* outer_;
};

}  // namespace internal

// Throws WorkCancelled when the caller has lost interest in this thread's work.
inline void cancellation_point() {
  if (internal::current_cancel_state != nullptr) {
    internal::poll_cancellation(*internal::current_cancel_state);
  }
}

// The status of cancelled work.
Status cancelled_status();

// Returns work(), or cancelled_status() when `wants_to_cancel` said true at a cancellation point.
// The result of `work` is a Status or a StatusOr.
template <typename Work>
auto run_cancellable(CancelQuestion wants_to_cancel, Work&& work) -> decltype(work()) {
  internal::CancelState state{std::move(wants_to_cancel)};
  const internal::CancelScope scope(&state);
  try {
    return work();
  } catch (const WorkCancelled&) {
    return cancelled_status();
  }
}

// Calls `work` on `count` threads at a time, one of which is this one (0 counts as 1), and returns
// when all have returned. All can be cancelled as this one can; when one throws, this function does
// so after the others have ended.
void run_on_threads(size_t count, const std::function<void()>& work);

}  // namespace dfsim::inline base
