// Keeps the signals that end a program away from a thread for a moment.
#pragma once

#include <csignal>

namespace dfsim::inline base {

// While one lives, SIGINT, SIGTERM and SIGHUP wait for this thread; another thread may still get
// them. For the steps between making something that the handler has to remove (a file, a child
// process) and telling the handler about it. Cost: two system calls.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      sigaddset(&held, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  // The signals that were blocked before: what a child process starts with.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_ = {};
};

}  // namespace dfsim::inline base
