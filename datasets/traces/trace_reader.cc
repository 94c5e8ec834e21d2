// Asks every reader of the table whether the input is of its format, and lets the first that is
// surest read it.
#include "datasets/traces/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

// "a CTF trace (...) or a MindSpore profile (...)"
std::string folder_formats() {
  std::vector<std::string_view> names;
  for (const TraceReader& reader : trace_readers()) {
    if (!reader.folder.empty()) {
      names.push_back(reader.folder);
    }
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

Status no_reader(const TraceInput& input) {
  if (input.kind() == TraceInput::Kind::kFolder) {
    return invalid_input(
        fmt::format("{}: is a folder, expected a trace file, {}", input.path(), folder_formats()));
  }
  return invalid_input(
      fmt::format("{}: begins with '{}', which no trace format does that dfsim reads (see dfsim "
                  "analyze --help); is it an archive? Unpack it first",
                  input.path(), printable(input.content().substr(0, 8))));
}

StatusOr<Trace> read_input(TraceInput input) {
  const TraceReader* best = nullptr;
  Sniff surest = Sniff::kNo;
  for (const TraceReader& reader : trace_readers()) {
    const Sniff found = reader.sniff == nullptr ? Sniff::kNo : reader.sniff(input);
    if (found > surest) {
      best = &reader;
      surest = found;
    }
  }
  if (best == nullptr) {
    return no_reader(input);
  }
  const TraceWindow window = input.window();
  DFSIM_ASSIGN_OR_RETURN(Trace trace, best->read(std::move(input)));
  if (!best->cuts) {
    DFSIM_RETURN_IF_ERROR(cut_trace(window, &trace));
  }
  return trace;
}

}  // namespace

std::span<const TraceReader> trace_readers() {
  static const std::vector<TraceReader> kReaders = {
#define DFSIM_TRACE_READER(name) name##_trace_reader(),
#define DFSIM_TRACE_DIALECT(name) name##_trace_reader(),
#include "datasets/traces/trace_readers.inc"
#undef DFSIM_TRACE_READER
#undef DFSIM_TRACE_DIALECT
  };
  return kReaders;
}

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> kFormats = [] {
    std::vector<TraceFormat> formats;
    for (const TraceReader& reader : trace_readers()) {
      formats.push_back({reader.name, reader.description});
    }
    return formats;
  }();
  return kFormats;
}

StatusOr<Trace> read_trace(const std::string& path,
                           std::function<void(int64_t done, int64_t all)> progress,
                           const TraceWindow& window) {
  DFSIM_ASSIGN_OR_RETURN(TraceInput input, TraceInput::open(path));
  input.set_progress(std::move(progress));
  input.set_window(window);
  return read_input(std::move(input));
}

StatusOr<Trace> read_trace_content(const std::string& name, std::string content) {
  return read_input(TraceInput::of_content(name, std::move(content)));
}

void warn_of_repairs(const JsonStream& stream, Trace* trace) {
  const JsonStream::Repairs& repairs = stream.repairs();
  if (repairs.commas > 0) {
    trace->warn("trailing commas", 0, repairs.commas);
  }
  if (repairs.strange_values > 0) {
    trace->warn("values between the events that are not events", 0, repairs.strange_values);
  }
  if (repairs.cut_off) {
    trace->warn_of_file("the file is cut off: " + repairs.cut_off_reason, trace->events);
  }
}

Status nothing_usable(const Trace& trace, std::string_view what) {
  std::string message =
      fmt::format("{}: {} {}, but no span that can be used", trace.path, trace.events, what);
  if (!trace.warnings.empty()) {
    const TraceWarning& first = trace.warnings.front();
    message += first.of_file ? fmt::format("; {}", first.text)
                             : fmt::format("; {} {}", first.count, first.text);
  }
  return invalid_input(message);
}

}  // namespace dfsim::inline datasets
