// Shared by the tests of the readers.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "datasets/traces/trace_reader.h"

namespace dfsim {

inline int64_t warnings_of(const Trace& trace, std::string_view part) {
  int64_t count = 0;
  for (const TraceWarning& warning : trace.warnings) {
    count += warning.text.find(part) != std::string::npos ? warning.count : 0;
  }
  return count;
}

// "name start-end" of each span, in order.
inline std::string list_spans(const Trace& trace) {
  std::string text;
  for (const Span& span : trace.spans) {
    text += fmt::format("{}{} {:g}-{:g}", text.empty() ? "" : ", ", trace.text(span.name),
                        span.start_us, span.end_us);
  }
  return text;
}

// Every cut of `content`, and every cut with one byte changed, gives a trace or one line.
inline void check_every_cut(const std::string& content) {
  for (size_t length = 0; length <= content.size(); ++length) {
    for (const char flip : {'\0', '\x01', '\x80'}) {
      std::string cut = content.substr(0, length);
      if (!cut.empty()) {
        cut[(length * 7919) % cut.size()] ^= flip;
      }
      const auto trace = read_trace_content("cut", std::move(cut));
      if (!trace.ok()) {
        INFO(trace.status().message());
        CHECK(trace.status().message().find('\n') == std::string::npos);
        CHECK(trace.status().message().find("cut") != std::string::npos);
      }
    }
  }
}

}  // namespace dfsim
