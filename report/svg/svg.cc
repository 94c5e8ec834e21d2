#include "report/svg/svg.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dfsim::inline report {

namespace {
constexpr size_t kTextBytes = 120;

// Rules of CSS are stronger than the attributes that elements have, so the drawing itself is the
// light one. They name the class, as they would otherwise hold for a whole page around the drawing.
constexpr const char* kDark =
    "<style>@media (prefers-color-scheme:dark){"
    ".dfsim text{fill:#e6edf3}"
    ".dfsim [fill=\"white\"]{fill:#161b22}.dfsim [stroke=\"white\"]{stroke:#161b22}"
    ".dfsim [fill=\"black\"]{fill:#e6edf3}.dfsim [stroke=\"black\"]{stroke:#e6edf3}"
    ".dfsim [fill=\"#666666\"]{fill:#aaaaaa}.dfsim [stroke=\"#666666\"]{stroke:#aaaaaa}"
    ".dfsim [fill=\"#0072B2\"]{fill:#4aa8e0}.dfsim [stroke=\"#0072B2\"]{stroke:#4aa8e0}"
    ".dfsim [stroke=\"#ddd\"]{stroke:#3d444d}"
    ".dfsim [fill=\"#dbe5f0\"]{fill:#25364a}"
    "}</style>\n";
}  // namespace

std::string svg_head(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"dfsim\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n{2}"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height, kDark);
}

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
