#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/text.h"

namespace dfsim::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kQuietTime{1};
constexpr std::chrono::milliseconds kRefresh{200};
constexpr size_t kMaxStageChars = 60;

}  // namespace

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet) {
  if (!quiet && ::isatty(STDERR_FILENO) != 0) {
    watcher_ = std::thread([this] { watch(); });
  }
}

ProgressLine::~ProgressLine() {
  if (watcher_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    watcher_.join();
  }
}

void ProgressLine::stage(std::string what) {
  const std::lock_guard lock(mutex_);
  stage_ = std::move(what);
}

void ProgressLine::note(const std::string& line) {
  if (quiet_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "{}{}\n", shown_ ? "\r\x1b[K" : "", printable(line, line.size()));
  shown_ = false;
}

Progress ProgressLine::callbacks() {
  Progress progress;
  progress.on_stage = [this](const std::string& step) {
    stage(step);
    return ok_status();
  };
  progress.on_note = [this](const std::string& line) { note(line); };
  return progress;
}

void ProgressLine::watch() {
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kQuietTime, [this] { return done_; })) {
    return;
  }
  do {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
    fmt::print(stderr, "\r\x1b[K{} ({} s)", stage_.substr(0, kMaxStageChars), seconds);
    std::fflush(stderr);
    shown_ = true;
  } while (!changed_.wait_for(lock, kRefresh, [this] { return done_; }));
  fmt::print(stderr, "\r\x1b[K");
}

Progress printed_notes(bool quiet) {
  Progress progress;
  if (!quiet) {
    progress.on_note = [](const std::string& line) {
      fmt::print(stderr, "{}\n", printable(line, line.size()));
    };
  }
  return progress;
}

}  // namespace dfsim::cli
