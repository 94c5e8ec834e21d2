// Progress of work that may take long: one line on stderr, only on a terminal.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "study/progress.h"

namespace dfsim::cli {

// While it lives, the progress lines of this thread go to a program that calls commands as
// functions: `progress` learns of stages and notes and may end the work.
class ForwardedProgress {
 public:
  explicit ForwardedProgress(Progress progress);
  ~ForwardedProgress();
  ForwardedProgress(const ForwardedProgress&) = delete;
  ForwardedProgress& operator=(const ForwardedProgress&) = delete;

  // The progress of this thread; nullptr when there is none.
  static const Progress* current();

 private:
  Progress progress_;
  const Progress* outer_;
};

// Shows the current stage and the seconds since the start once a second has passed; prints nothing
// when stderr is not a terminal, under --quiet, or when the work is quick. The line is wiped at the
// end, so that what comes after starts on a clean one.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // The current stage: "importing swin_t". Any thread. Error: whoever watches ends the work.
  Status stage(std::string what);
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
  const Progress* const forwarded_;  // instead of the terminal
  std::thread watcher_;              // not started when there is nothing to show
};

// Progress for commands that run programs which write to the terminal themselves: notes go to
// stderr, a line each, unless `quiet`; stages are not shown.
Progress printed_notes(bool quiet);

// Progress for commands that show none on a terminal.
Progress silent_progress();

}  // namespace dfsim::cli
