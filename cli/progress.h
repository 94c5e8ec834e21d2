// Progress of work that may take long: one line on stderr, only on a terminal.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dfsim::cli {

// Shows the current stage and the seconds since the start once a second has passed; says nothing
// when stderr is no terminal, under --quiet, or when the work is quick. The line is wiped at the
// end, so that what comes after starts on a clean one.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What is being done now: "importing swin_t". Any thread.
  void stage(std::string what);

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stage_;
  bool done_ = false;
  std::thread watcher_;  // not started when there is nothing to show
};

}  // namespace dfsim::cli
