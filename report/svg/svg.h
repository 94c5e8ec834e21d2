// Helpers that this module's SVG drawings share.
#pragma once

#include <string>

namespace dfsim::inline report {

// The start of a drawing of that size in pixels: the <svg> element and its paper. The drawing is
// light, and dark where the reader prefers that (prefers-color-scheme). Drawings use "black" and
// "#666666" for lines, "#ddd" for grids and "white" for gaps, which are the colours that change.
std::string svg_head(double width, double height);

// `text` as printable XML character data of at most 120 bytes (base/text.h), which fits any
// drawing.
std::string svg_escaped(const std::string& text);

// A <text> element at (x, y) pixels; `anchor` is start, middle or end.
std::string svg_text(double x, double y, const std::string& text, const char* anchor = "start");

}  // namespace dfsim::inline report
