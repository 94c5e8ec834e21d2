#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace dfsim::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kQuietTime{1};
constexpr std::chrono::milliseconds kRefresh{200};
constexpr size_t kMaxStageChars = 60;

thread_local const Progress* forwarded_progress = nullptr;

}  // namespace

ForwardedProgress::ForwardedProgress(Progress progress)
    : progress_(std::move(progress)), outer_(forwarded_progress) {
  forwarded_progress = &progress_;
}

ForwardedProgress::~ForwardedProgress() { forwarded_progress = outer_; }

const Progress* ForwardedProgress::current() { return forwarded_progress; }

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), forwarded_(ForwardedProgress::current()) {
  if (!quiet && forwarded_ == nullptr && ::isatty(STDERR_FILENO) != 0) {
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

Status ProgressLine::stage(std::string what) {
  if (forwarded_ != nullptr) {
    return forwarded_->stage(what);
  }
  const std::lock_guard lock(mutex_);
  stage_ = std::move(what);
  return ok_status();
}

void ProgressLine::note(const std::string& line) {
  if (forwarded_ != nullptr) {
    forwarded_->note(line);
    return;
  }
  if (quiet_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "{}{}\n", shown_ ? "\r\x1b[K" : "", line);
  shown_ = false;
}

Progress ProgressLine::callbacks() {
  Progress progress;
  progress.on_stage = [this](const std::string& step) { return stage(step); };
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

Progress silent_progress() {
  const Progress* forwarded = ForwardedProgress::current();
  return forwarded == nullptr ? Progress() : *forwarded;
}

Progress printed_notes(bool quiet) {
  if (ForwardedProgress::current() != nullptr) {
    return silent_progress();
  }
  Progress progress;
  if (!quiet) {
    progress.on_note = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  }
  return progress;
}

}  // namespace dfsim::cli
