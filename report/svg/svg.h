// What the SVG drawings of this room share.
#pragma once

#include <string>

namespace dfsim::inline report {

// `text` as printable XML character data of at most 120 bytes (base/text.h), which fits any
// drawing.
std::string svg_escaped(const std::string& text);

// A <text> element at (x, y) pixels; `anchor` is start, middle or end.
std::string svg_text(double x, double y, const std::string& text, const char* anchor = "start");

}  // namespace dfsim::inline report
