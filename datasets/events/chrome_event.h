// One event of the Trace Event Format, which most profilers write in a dialect of their own.
// Format: "Trace Event Format", Google, 2016.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/json_value.h"

namespace dfsim::inline datasets {

// The field of a top object that holds the events; the top may also be their array itself.
inline constexpr std::string_view kTraceEventList = "traceEvents";

// Texts live until the parser's next event. Values of `args` are JSON text as it stands in the
// file.
struct ChromeEvent {
  static constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

  int64_t index = 0;  // from 1, in the order of the file
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view process;  // numbers as their text
  std::string_view thread;
  std::string_view id;
  double start_us = kMissing;
  double duration_us = kMissing;
  std::string_view raw_args;  // the object as it stands in the file; taken apart when asked for

  bool has_start() const { return !std::isnan(start_us); }
  bool has_duration() const { return !std::isnan(duration_us); }
  using Args = std::vector<std::pair<std::string_view, std::string_view>>;
  const Args& args() const;
  // For events that come from elsewhere: instead of raw_args.
  void set_args(Args args) {
    args_ = std::move(args);
    split_ = true;
  }
  void clear_args() {
    raw_args = {};
    args_.clear();
    split_ = false;
  }
  // The value of an argument as JSON text, or "".
  std::string_view arg(std::string_view key) const;
  // The text of a string argument (escapes as they are), or of any other value.
  std::string_view text_arg(std::string_view key) const;
  // A whole number, also one between quotes, or `otherwise`.
  int64_t int_arg(std::string_view key, int64_t otherwise = -1) const;
  double number_arg(std::string_view key, double otherwise) const;

 private:
  mutable Args args_;
  mutable bool split_ = false;
};

class ChromeEventParser {
 public:
  // Reads one object with kJsonPaddingBytes readable bytes behind it. False when it is no JSON.
  bool parse(std::string_view json, ChromeEvent* event);

 private:
  JsonParser parser_;
};

}  // namespace dfsim::inline datasets
