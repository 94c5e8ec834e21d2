// Progress on terminals and as JSON. A thread of its own redraws the line, because work reports
// when it has something done and not when a second has passed. When commands run inside another
// program, its callback gets the events instead.
#include "cli/progress.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace dfsim::cli {
namespace {

using Clock = std::chrono::steady_clock;

enum class ProgressStyle { kLine, kJson, kNone };

ProgressStyle progress_style = ProgressStyle::kLine;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// "9 s", "3 min 20 s", "2 h 5 min": no more precise than a forecast is.
std::string left_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(seconds + 0.5, 1e9));
  if (whole < 60) {
    return fmt::format("{} s", whole);
  }
  return whole < 3600 ? fmt::format("{} min {} s", whole / 60, whole % 60)
                      : fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

// A number of things done, without a tail of zeros.
std::string count_text(double count) {
  return count == std::floor(count) ? fmt::format("{:.0f}", count) : fmt::format("{:.1f}", count);
}

constexpr std::chrono::seconds kQuietTime{1};
constexpr std::chrono::milliseconds kRefresh{200};
constexpr size_t kMaxStageChars = 36;  // and as much for rate and time left

// Decisions go to the log of level info: "cost model device=gpu0 model=a100".
void add_log(Progress* progress) {
  if (!spdlog::should_log(spdlog::level::info)) {
    return;
  }
  progress->on_decision = [](const std::string& subject, const Progress::Facts& facts) {
    std::string line = subject;
    for (const auto& [name, value] : facts) {
      const bool quoted = value.empty() || value.find_first_of(" \"=") != std::string::npos;
      line += fmt::format(" {}={}", name, quoted ? JsonTree(value).compact_text() : value);
    }
    spdlog::info("{}", line);
  };
}

thread_local const Progress* forwarded_progress = nullptr;

}  // namespace

void choose_progress(const std::string& how) {
  progress_style = how == "json"   ? ProgressStyle::kJson
                   : how == "none" ? ProgressStyle::kNone
                                   : ProgressStyle::kLine;
}

void Advance::set(double done, double total, const std::string& what, Clock::time_point now) {
  if (what != what_ || done < done_) {
    what_ = what;
    first_done_ = done;
    begin_ = now;
  }
  is_current_ = true;
  done_ = done;
  total_ = total;
  now_ = now;
}

double Advance::rate_per_s() const {
  const double seconds = seconds_between(begin_, now_);
  return seconds > 0 ? (done_ - first_done_) / seconds : 0;
}

std::string Advance::text() const {
  if (!is_current_) {
    return "";
  }
  std::string text =
      total_ > 0 ? fmt::format(", {} of {} {}", count_text(done_), count_text(total_), what_)
                 : fmt::format(", {} {}", count_text(done_), what_);
  if (const double rate = rate_per_s(); rate > 0) {
    text += fmt::format(", {:.2g}/s", rate);
    text += total_ > 0 ? fmt::format(", {} left", left_text((total_ - done_) / rate)) : "";
  }
  return text;
}

JsonTree Advance::json() const {
  const double rate = rate_per_s();
  return {
      {"what", what_},
      {"done", done_},
      {"total", total_ > 0 ? JsonTree(total_) : JsonTree(nullptr)},
      {"rate_per_s", rate > 0 ? JsonTree(rate) : JsonTree(nullptr)},
      {"left_s", rate > 0 && total_ > 0 ? JsonTree((total_ - done_) / rate) : JsonTree(nullptr)}};
}

ForwardedProgress::ForwardedProgress(Progress progress)
    : progress_(std::move(progress)), outer_(forwarded_progress) {
  forwarded_progress = &progress_;
}

ForwardedProgress::~ForwardedProgress() { forwarded_progress = outer_; }

const Progress* ForwardedProgress::current() { return forwarded_progress; }

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), forwarded_(ForwardedProgress::current()) {
  if (!quiet && forwarded_ == nullptr && progress_style == ProgressStyle::kLine &&
      ::isatty(STDERR_FILENO) != 0) {
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
  advance_.begin_stage();
  print_json("stage", JsonTree::object());
  return ok_status();
}

void ProgressLine::advance(double done, double total, const std::string& what) {
  if (forwarded_ != nullptr) {
    forwarded_->advance(done, total, what);
    return;
  }
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  advance_.set(done, total, what, now);
  if (now - printed_ >= kRefresh) {
    print_json("advance", advance_.json());
  }
}

void ProgressLine::print_json(const char* event, const JsonTree& fields) {
  if (quiet_ || progress_style != ProgressStyle::kJson) {
    return;
  }
  printed_ = Clock::now();
  JsonTree json = {
      {"event", event}, {"stage", stage_}, {"elapsed_s", seconds_between(start_, printed_)}};
  json.update(fields);
  fmt::print(stderr, "{}\n", json.compact_text());
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
  if (progress_style == ProgressStyle::kJson) {
    print_json("note", {{"text", line}});
    return;
  }
  fmt::print(stderr, "{}{}\n", shown_ ? "\r\x1b[K" : "", printable(line, line.size()));
  shown_ = false;
}

Progress ProgressLine::callbacks() {
  Progress progress;
  progress.on_stage = [this](const std::string& step) { return stage(step); };
  // Some figures cost time, so work computes none that no one sees.
  const bool shown = forwarded_ != nullptr || watcher_.joinable() ||
                     (!quiet_ && progress_style == ProgressStyle::kJson);
  if (shown) {
    progress.on_advance = [this](double done, double total, const std::string& what) {
      advance(done, total, what);
    };
  }
  add_log(&progress);
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
    fmt::print(stderr, "\r\x1b[K{}{} ({} s)", stage_.substr(0, kMaxStageChars), advance_.text(),
               seconds);
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
  add_log(&progress);
  if (!quiet) {
    progress.on_note = [](const std::string& line) {
      fmt::print(stderr, "{}\n", printable(line, line.size()));
    };
  }
  return progress;
}

}  // namespace dfsim::cli
