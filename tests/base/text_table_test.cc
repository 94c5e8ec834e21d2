#include "base/text_table.h"

#include <catch2/catch.hpp>
#include <cstdlib>

namespace dfsim {
namespace {

TEST_CASE("fit_lines: keeps lines that fit") {
  CHECK(fit_lines("", 20) == "");
  CHECK(fit_lines("one\n\ntwo words\n", 20) == "one\n\ntwo words\n");
  CHECK(fit_lines("exactly twenty chars", 20) == "exactly twenty chars");
}

TEST_CASE("fit_lines: continues long lines below their value, or two columns deeper") {
  CHECK(fit_lines("  label   one two three four", 20) == "  label   one two\n          three four");
  CHECK(fit_lines("one two three four five", 12) == "one two\n  three four\n  five");
  CHECK(fit_lines("    one two three four", 14) == "    one two\n      three\n      four");
}

TEST_CASE("fit_lines: never breaks words, and counts width in characters") {
  CHECK(fit_lines("a/very/long/path/name end", 10) == "a/very/long/path/name\n  end");
  CHECK(fit_lines("\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9", 9) ==
        "\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9");
}

TEST_CASE("TextTable: narrows the gaps between columns before it cuts names") {
  setenv("COLUMNS", "40", 1);
  TextTable table({{"name"}, {"a", Align::kRight}, {"b", Align::kRight}, {"c", Align::kRight}});
  table.add_row({"a_name_of_20_letters", "12345", "123456", "1234"});
  CHECK(table.render() ==
        "name                     a      b    c\n"
        "-------------------- ----- ------ ----\n"
        "a_name_of_20_letters 12345 123456 1234\n");
  TextTable wide({{"name"}, {"a", Align::kRight}, {"b", Align::kRight}, {"c", Align::kRight}});
  wide.add_row({"a_name_of_26_letters_abcde", "1", "2", "3"});
  CHECK(wide.render() ==
        "name                        a  b  c\n"
        "--------------------------  -  -  -\n"
        "a_name_of_26_letters_abcde  1  2  3\n");
  unsetenv("COLUMNS");
}

TEST_CASE("TextTable: drops columns that contain only dashes") {
  TextTable table({{"name"}, {"a"}, {"b"}});
  table.add_row({"x", "-", "1"});
  table.add_row({"y", "-", "-"});
  table.drop_empty_columns();
  CHECK(table.render() == "name  b\n----  -\nx     1\ny     -\n");
}

}  // namespace
}  // namespace dfsim
