// Progress of work that may take long: one line on stderr, only on a terminal.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "study/progress.h"

namespace dfsim::cli {

// Shows the current stage and the seconds since the start once a second has passed; says nothing
// when stderr is no terminal, under --quiet, or when the work is quick. The line is wiped at the
// end, so that what comes after starts on a clean one.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // What is being done now: "importing swin_t". Any thread.
  void stage(std::string what);
  // A line of its own, which stays; not under --quiet. Any thread.
  void note(const std::string& line);
  // For studies; valid as long as this.
  Progress callbacks();

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stage_;
  bool done_ = false;
  bool shown_ = false;  // there is something to wipe
  const bool quiet_;
  std::thread watcher_;  // not started when there is nothing to show
};

// Progress for commands that run programs which write to the terminal themselves: notes go to
// stderr, a line each, unless `quiet`; stages are not shown.
Progress printed_notes(bool quiet);

}  // namespace dfsim::cli
