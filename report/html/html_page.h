// A report as one HTML file that needs nothing else: charts, style and data are inside.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline report {

// `json` is what a command prints with --json; the page shows what is in it and computes nothing.
// Error (kInvalidInput): no JSON of predict, compare, analyze, diff, replay, roofline, partition,
// sweep or llm serve; `place` begins the message.
StatusOr<std::string> html_page(std::string_view place, std::string_view json);

// Reads why such a JSON is not complete: "the work of 271 of 612 operators is not known";
// "" for a complete result.
std::string incomplete_reason(std::string_view json);

}  // namespace dfsim::inline report
