// Progress of work that may take long: one line on stderr, only on a terminal, or JSON for
// programs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/json/json_tree.h"
#include "study/progress.h"

namespace dfsim::cli {

// How progress is shown: "auto" is the line on a terminal; "json" one object per line on stderr, at
// each stage and at most five times a second in between; "none". Called once, before any work.
void choose_progress(const std::string& how);

// How far a stage is, and what that says about the time left. The rate is that since the stage's
// first report, so that a slow start (reading a file) does not spoil it.
class Advance {
 public:
  using Clock = std::chrono::steady_clock;

  // `total` 0 = not known.
  void set(double done, double total, const std::string& what, Clock::time_point now);
  // A stage begins: nothing to show until it reports. The rate goes on when it counts the same.
  void begin_stage() { is_current_ = false; }
  // ", 12 of 30 policies, 1.2/s, 15 s left"; "" before the first report.
  std::string text() const;
  // The fields "what", "done", "total", "rate_per_s" and "left_s"; null where no rate
  // or no total is known.
  JsonTree json() const;

 private:
  double rate_per_s() const;  // 0 = not known yet

  bool is_current_ = false;
  std::string what_;
  double first_done_ = 0;
  double done_ = 0;
  double total_ = 0;
  Clock::time_point begin_;
  Clock::time_point now_;
};

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

// Shows the current stage, its rate and the time left once a second has passed; prints nothing when
// stderr is not a terminal (but for "json"), under --quiet, or when the work is quick. The line is
// wiped at the end, so that what comes after starts on a clean one.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // The current stage: "importing swin_t". Any thread. Error: whoever watches ends the work.
  Status stage(std::string what);
  void advance(double done, double total, const std::string& what);
  // A line of its own, which stays; not under --quiet. Any thread.
  void note(const std::string& line);
  // For studies; valid as long as this.
  Progress callbacks();

 private:
  void watch();
  void print_json(const char* event, const JsonTree& fields);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stage_;
  Advance advance_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point printed_;  // the last report as JSON
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
