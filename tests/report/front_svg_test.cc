// The drawing of a search: well-formed, every served candidate a point, names escaped.
#include "report/svg/front_svg.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

DeploymentSearch two_of_three() {
  DeploymentSearch search;
  for (int i = 0; i < 3; ++i) {
    DeploymentCandidate c;
    c.widths.tp = 1 << i;
    c.users = 8;
    c.tokens_per_s_per_user = 10.0 * (i + 1);
    c.tokens_per_s_per_gpu = {300.0 - 100 * i, 0, 0};
    c.within_limits = i > 0;
    c.on_front = i > 0;
    search.candidates.push_back(c);
  }
  search.candidates[0].failure = "does not fit";
  search.front = {2, 1};
  return search;
}

TEST_CASE("Front drawing: a point per served load, the front as a line with names") {
  const std::string svg = front_svg(two_of_three(), "llama <70b> & more");
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(occurrences(svg, "<circle ") == 2);
  CHECK(occurrences(svg, "<polyline ") == 1);
  CHECK(occurrences(svg, ">tp 4, bf16<") == 1);
  CHECK(occurrences(svg, ">tp 2, bf16<") == 1);
  CHECK(occurrences(svg, "llama &lt;70b&gt; &amp; more") == 1);
  CHECK(occurrences(svg, "nan") == 0);
}

TEST_CASE("Front drawing: a search without results still has axes") {
  const std::string svg = front_svg({}, "nothing");
  CHECK(occurrences(svg, "nan") + occurrences(svg, "inf") == 0);
  CHECK(occurrences(svg, "output tokens per second and user") == 1);
}

}  // namespace
}  // namespace dfsim
