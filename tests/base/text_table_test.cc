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

TEST_CASE("TextTable: columns that wrap show names whole, behind a separator where there is one") {
  setenv("COLUMNS", "40", 1);
  TextTable table({{"name", Align::kLeft, true}, {"a", Align::kRight}});
  table.add_row({"  encoder/layer.0/attention/self/query/MatMul", "12"});
  table.add_row({std::string(40, 'x'), "3"});
  CHECK(table.render(34) ==
        "name                             a\n"
        "------------------------------  --\n"
        "  encoder/layer.0/attention/    12\n"
        "    self/query/MatMul\n"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx   3\n"
        "  xxxxxxxxxx\n");
  unsetenv("COLUMNS");
}

TEST_CASE("text_width: COLUMNS beyond 100 is respected, nonsense is not") {
  for (const auto& [columns, width] :
       {std::pair("250", 250), {"100000", 1000}, {"12", 80}, {"wide", 80}, {"", 80}}) {
    setenv("COLUMNS", columns, 1);
    INFO(columns);
    CHECK(text_width() == static_cast<size_t>(width));
  }
  unsetenv("COLUMNS");
}

TEST_CASE("TextTable: leaves optional columns out where words of names would be broken") {
  setenv("COLUMNS", "40", 1);
  const auto table = [](const std::string& name) {
    TextTable made({{"name", Align::kLeft, true},
                    {"first", Align::kRight, false, true},
                    {"second", Align::kRight, false, true},
                    {"last", Align::kRight}});
    made.add_row({name, "1234567890", "123456789", "123456"});
    return made;
  };
  // With all columns, names have 12 characters at most.
  CHECK(table("best-single-one").render().find("second") != std::string::npos);
  CHECK(table("datacentricity").render() ==
        "name                 first    last\n"
        "--------------  ----------  ------\n"
        "datacentricity  1234567890  123456\n");
  CHECK(table(std::string(34, 'n')).render().find("first") == std::string::npos);
  unsetenv("COLUMNS");
}

TEST_CASE("TextTable: Markdown has whole cells and escapes what would end them") {
  TextTable table({{"a|b"}, {"n", Align::kRight}});
  table.add_row({"x_y <z>", "1"});
  CHECK(table.markdown() == "| a\\|b | n |\n| --- | ---: |\n| x\\_y \\<z> | 1 |\n");
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
