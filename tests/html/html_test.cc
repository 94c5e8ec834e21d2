// The page of a report without a browser: it is whole, offline and safe.
#include <catch2/catch.hpp>

#include "report/html/html_page.h"
#include "schedulers/registry.h"

namespace dfsim {
namespace {

std::string page(std::string_view json) {
  auto made = html_page("test", json);
  if (!made.ok()) {
    FAIL(made.status().message());
  }
  return std::move(made).value();
}

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_CASE("HTML page: one file contains everything it needs") {
  const std::string html = page(R"({"schema":"dfsim.roofline/1","rooflines":[],"mark":"@APP@"})");
  CHECK(html.size() < 2'000'000);
  CHECK(html.starts_with("<!DOCTYPE html>"));
  CHECK(html.ends_with("</html>\n"));
  CHECK(count(html, "@DATA@") == 0);
  CHECK(count(html, "\"mark\":\"@APP@\"") == 1);  // data is not searched for marks
  CHECK(count(html, "<script") == 3);
  CHECK(count(html, "</script>") == 3);
  CHECK(count(html, "<script src") == 0);
  CHECK(count(html, "<link") == 0);
}

TEST_CASE("HTML page: every policy has a family, and so a colour") {
  const std::string html = page(R"({"schema":"dfsim.roofline/1","rooflines":[]})");
  const size_t families = html.find("const FAMILIES = [");
  REQUIRE(families != std::string::npos);
  const std::string list = html.substr(families, html.find("];", families) - families);
  for (const PolicyInfo& policy : builtin_policies()) {
    INFO(policy.name);
    CHECK((list.find(" " + policy.name + " ") != std::string::npos ||
           list.find(" " + policy.name + "'") != std::string::npos ||
           list.find("'" + policy.name + " ") != std::string::npos));
  }
}

TEST_CASE("HTML page: names from a trace cannot escape from the data") {
  const std::string html =
      page(R"({"schema":"dfsim.analyze/1","traces":[{"path":"</script><script>alert(1)<!--"}]})");
  CHECK(count(html, "</script><script>alert") == 0);
  CHECK(count(html, "<\\/script>") >= 1);
  CHECK(count(html, "<!--") == 0);
}

TEST_CASE("HTML page: accepts only results of dfsim") {
  for (const std::string_view json : {"", "nonsense", "[]", "{}", "[1]", "7", "{\"schema\":3}",
                                      "{\"schema\":\"dfsim.analyze/99\"}"}) {
    const auto made = html_page("file.json", json);
    REQUIRE_FALSE(made.ok());
    CHECK(made.status().message().starts_with("file.json: "));
    CHECK(made.status().message().find('\n') == std::string::npos);
  }
  CHECK(html_page("x", R"({"schema":"dfsim.compare-many/1","instances":[]})").ok());
  CHECK(html_page("x", R"({"schema":"dfsim.predict/1"})").ok());
  CHECK(html_page("x", R"({"schema":"dfsim.llm-serve/1"})").ok());
}

}  // namespace
}  // namespace dfsim
