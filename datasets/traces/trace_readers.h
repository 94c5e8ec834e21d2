// The table of trace formats: one TraceReader each, which the format's own file defines and
// trace_readers.inc lists.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "datasets/traces/trace.h"
#include "datasets/traces/trace_input.h"

namespace dfsim::inline datasets {

class ChromeDialect;

// Whether an input is of a format. A reader says kMaybe when other formats may look like it: it
// reads the input only when no reader says kYes. Among equals the first of the table reads it.
enum class Sniff : uint8_t { kNo, kMaybe, kYes };

// A format has `sniff` and `read`, or it is a dialect of the Trace Event Format and has `dialect`:
// the reader of that format asks all dialects about the events.
struct TraceReader {
  std::string_view name;         // as Trace::format
  std::string_view description;  // for --help
  // Looks at the input's first bytes, of binary formats at its first messages, of folders at the
  // names of files.
  Sniff (*sniff)(const TraceInput& input) = nullptr;
  // Gives a finished trace (finish_trace), or one line of error.
  StatusOr<Trace> (*read)(TraceInput input) = nullptr;
  std::unique_ptr<ChromeDialect> (*dialect)() = nullptr;
  // For formats that are folders: their name in messages, and the files that a test may write to
  // make such a folder, separated by blanks.
  std::string_view folder = "";
  std::string_view folder_files = "";
  bool cuts = false;  // keeps TraceInput::window() alone
};

// In the order of trace_readers.inc.
std::span<const TraceReader> trace_readers();

#define DFSIM_TRACE_READER(name) TraceReader name##_trace_reader();
#define DFSIM_TRACE_DIALECT(name) TraceReader name##_trace_reader();
#include "datasets/traces/trace_readers.inc"
#undef DFSIM_TRACE_READER
#undef DFSIM_TRACE_DIALECT

// ---- What readers share.

// Warns of what a stream repaired. Trace::events must be counted.
void warn_of_repairs(const JsonStream& stream, Trace* trace);
// The error for a trace without a span: "PATH: 7 nodes, but no span that can be used; 7 nodes
// without a duration".
Status nothing_usable(const Trace& trace, std::string_view what);

}  // namespace dfsim::inline datasets
