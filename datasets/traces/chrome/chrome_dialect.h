// ChromeDialect: what a profiler means by the events of the Trace Event Format that it writes. One
// *_dialect.cc each; trace_readers.inc lists them.
#pragma once

#include <memory>
#include <string_view>

#include "datasets/events/chrome_event.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

// Gives the events of one dialect their meaning. Called in the file's order.
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

// Dialects that traces of other forms have, too: dfsim's own, and events without a known meaning.
std::unique_ptr<ChromeDialect> make_dfsim_dialect();
std::unique_ptr<ChromeDialect> make_plain_dialect();

}  // namespace dfsim::inline datasets
