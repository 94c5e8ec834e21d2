// One event of the Trace Event Format, which most profilers write in a dialect of their own.
// simdjson stays inside chrome_event.cc. Format: "Trace Event Format", Google, 2016.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

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
  ChromeEventParser();
  ~ChromeEventParser();
  ChromeEventParser(const ChromeEventParser&) = delete;
  ChromeEventParser& operator=(const ChromeEventParser&) = delete;

  // Reads one object; JsonStream::kPaddingBytes behind `json` must be readable. False when it is
  // no JSON.
  bool parse(std::string_view json, ChromeEvent* event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What makes a dialect of the format out of its events. Called in the file's order.
class ChromeDialect {
 public:
  virtual ~ChromeDialect() = default;
  // As Trace::format.
  virtual std::string_view name() const = 0;
  // Whether only this dialect has such an event, or such a field of the top object.
  virtual bool claims(const ChromeEvent& event) const = 0;
  virtual bool claims_field(std::string_view key) const = 0;
  // What a complete event ("X", or a pair of "B" and "E") is. `span` comes with times, name, track
  // and kind kOther; false leaves the span out.
  virtual bool describe(const ChromeEvent& event, Trace* trace, Span* span) const = 0;
  // Any other event that the dialect understands in a way of its own; true = done with it.
  virtual bool read_other(const ChromeEvent& event, Trace* trace) const = 0;
  virtual void read_field(std::string_view key, std::string_view json, Trace* trace) const = 0;
  // After the last event, before spans are sorted.
  virtual void finish(Trace* trace) const = 0;
};

std::unique_ptr<ChromeDialect> make_kineto_dialect();
std::unique_ptr<ChromeDialect> make_ort_dialect();
std::unique_ptr<ChromeDialect> make_tensorflow_dialect();
std::unique_ptr<ChromeDialect> make_dfsim_dialect();
std::unique_ptr<ChromeDialect> make_plain_dialect();

}  // namespace dfsim::inline datasets
