#include "cli/terminal_text.h"

#include <catch2/catch.hpp>

namespace dfsim::cli {
namespace {

std::string without_colors(std::string text) {
  for (size_t at = text.find("\x1b["); at != std::string::npos; at = text.find("\x1b[")) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  return text;
}

TEST_CASE("Colours: change no character of a report") {
  const std::string text =
      "DOES NOT FIT: needs 2 GB, the device has 1 GB\nlstm on a100: ≥ 3 us (9/s)\nThe host "
      "limits\n\n   time  operator\n  -----  --------\n   3 us  conv\n\n  latency        ≥ 3 us\n";
  const std::string shown = colored(text);
  CHECK(without_colors(shown) == text);
  CHECK(shown.find("\x1b[1;31mDOES NOT FIT") != std::string::npos);
  CHECK(shown.find("\x1b[1mlstm on a100") != std::string::npos);
  CHECK(shown.find("\x1b[1m   time  operator") != std::string::npos);
  CHECK(shown.find("\x1b[2m  -----  --------") != std::string::npos);
  CHECK(shown.find("\x1b[36m  latency\x1b[0m") != std::string::npos);
  CHECK(shown.find("\x1b[33m≥\x1b[0m 3 us\n") != std::string::npos);
}

TEST_CASE("Colours: leave what programs read as it is") {
  for (const char* const text :
       {"{\n  \"a b\": 1\n}\n", "[1, 2]\n", "<svg a=\"b\">\n", "| a | b |\n| --- | --- |\n",
        "**a b**\n", "name,op_type\nx y,z\n", ""}) {
    CHECK(colored(text) == text);
  }
}

}  // namespace
}  // namespace dfsim::cli
