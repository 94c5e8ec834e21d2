#include "report/svg/svg.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dfsim::inline report {

namespace {
constexpr size_t kTextBytes = 120;
}  // namespace

std::string svg_escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text, kTextBytes)) {
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  }
  return out;
}

std::string svg_text(double x, double y, const std::string& text, const char* anchor) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     svg_escaped(text));
}

}  // namespace dfsim::inline report
