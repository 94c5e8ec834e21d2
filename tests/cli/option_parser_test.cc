// Option tables become a parsed command line: every kind of target, every constraint, every
// message.
#include "cli/option_parser.h"

#include <catch2/catch.hpp>

namespace dfsim::cli {
namespace {

struct Size {
  int64_t width = 0;
  int64_t height = 0;
};

StatusOr<Size> read_size(const std::string& text) {
  const size_t x = text.find('x');
  if (x == std::string::npos) {
    return invalid_input("found '" + text + "', expected WIDTHxHEIGHT");
  }
  return Size{std::stoll(text.substr(0, x)), std::stoll(text.substr(x + 1))};
}

// One option of each kind.
struct Values {
  bool flag = false;
  bool kept = true;
  std::string text = "none";
  int32_t number = 3;
  uint32_t small = 1;
  int64_t large = 0;
  uint64_t count = 0;
  double ratio = 0.5;
  std::vector<std::string> files;
  std::vector<std::string> dims;
  std::vector<int64_t> whole;
  std::vector<uint64_t> counts;
  std::vector<double> ratios;
  Size size;
  bool quiet = false;
};

OptionTable all_kinds(Values& v) {
  return {
      {.names = "FILE", .target = &v.files, .help = "Inputs", .value = "FILE...", .required = true},
      {.names = "-f,--flag", .target = &v.flag, .help = "A flag"},
      {.names = "--no-kept", .target = &v.kept, .help = "Unsets", .sets = false},
      {.names = "--text", .target = &v.text, .help = "A word", .choices = "none,some,all"},
      {.names = "--number",
       .target = &v.number,
       .help = "N",
       .show_default = true,
       .range = {1, 8}},
      {.names = "--small", .target = &v.small, .help = "N"},
      {.names = "--large", .target = &v.large, .help = "N", .positive = true},
      {.names = "--count", .target = &v.count, .help = "N"},
      {.names = "--ratio", .target = &v.ratio, .help = "X", .range = {0.1, 2.5}},
      {.names = "--dim", .target = &v.dims, .help = "D", .one_at_a_time = true},
      {.names = "--whole", .target = &v.whole, .help = "N..."},
      {.names = "--counts", .target = &v.counts, .help = "N..."},
      {.names = "--ratios", .target = &v.ratios, .help = "X..."},
      {.names = "--size", .target = parsed<read_size>(&v.size), .help = "S", .value = "WxH"},
      {.names = "--with-flag", .target = &v.quiet, .help = "Needs the flag", .needs = "--flag"},
      {.names = "--alone", .target = &v.quiet, .help = "Not with it", .excludes = "--flag,--text"},
  };
}

CommandSpec make_program(Values& v) {
  const auto fine = [](const GlobalOptions&) { return ok_status(); };
  CommandSpec inner = {.name = "inner", .summary = "Below a command", .run = fine};
  return {
      .name = "tool",
      .summary = "A tool",
      .options = {{.names = "-q,--quiet", .target = &v.quiet, .help = "Less", .group = "Noise"}},
      .footer = "The end.",
      .commands = {
          {.name = "work", .summary = "Does the work", .options = all_kinds(v), .run = fine},
          {.name = "group", .summary = "Has commands", .commands = {inner}},
          {.name = "secret", .summary = "Not listed", .run = fine, .hidden = true}}};
}

struct Parsed {
  Values values;
  std::string command;
  bool refused = false;
  std::string text;
  std::string hint;
};

Parsed parse(std::vector<const char*> words) {
  Parsed result;
  const CommandSpec program = make_program(result.values);
  words.insert(words.begin(), "tool");
  const ParsedCommandLine line =
      parse_command_line(program, static_cast<int>(words.size()), words.data());
  result.command = line.command == nullptr ? "" : line.command->name;
  result.refused = line.refused;
  result.text = line.text;
  result.hint = line.hint;
  return result;
}

TEST_CASE("Option tables: a command line without options leaves the defaults") {
  const Parsed parsed = parse({"work", "a"});
  REQUIRE(parsed.command == "work");
  CHECK(parsed.values.files == std::vector<std::string>{"a"});
  CHECK(parsed.values.text == "none");
  CHECK(parsed.values.number == 3);
  CHECK(parsed.values.kept);
  CHECK_FALSE(parsed.values.flag);
}

TEST_CASE("Option tables: every kind of target gets its value") {
  const Parsed parsed = parse({"work",        "a",         "b",
                               "-f",          "--no-kept", "--text",
                               "all",         "--number",  "8",
                               "--small",     "7",         "--large",
                               "90000000000", "--count",   "5",
                               "--ratio",     "0.25",      "--whole",
                               "1",           "-2",        "--counts",
                               "3",           "4",         "--ratios",
                               "1.5",         "2",         "--size=640x480"});
  INFO(parsed.text);
  REQUIRE(parsed.command == "work");
  const Values& v = parsed.values;
  CHECK(v.files == std::vector<std::string>{"a", "b"});
  CHECK(v.flag);
  CHECK_FALSE(v.kept);
  CHECK(v.text == "all");
  CHECK(v.number == 8);
  CHECK(v.small == 7);
  CHECK(v.large == 90000000000);
  CHECK(v.count == 5);
  CHECK(v.ratio == 0.25);
  CHECK(v.whole == std::vector<int64_t>{1, -2});
  CHECK(v.counts == std::vector<uint64_t>{3, 4});
  CHECK(v.ratios == std::vector<double>{1.5, 2});
  CHECK(v.size.width == 640);
  CHECK(v.size.height == 480);
}

TEST_CASE("Option tables: an option that takes one value at a time leaves the next to arguments") {
  const Parsed parsed = parse({"work", "--dim", "n=1", "a", "--dim", "m=2"});
  REQUIRE(parsed.command == "work");
  CHECK(parsed.values.dims == std::vector<std::string>{"n=1", "m=2"});
  CHECK(parsed.values.files == std::vector<std::string>{"a"});
}

TEST_CASE("Option tables: options of the program may come before or after a command") {
  CHECK(parse({"-q", "work", "a"}).values.quiet);
  CHECK(parse({"work", "a", "--quiet"}).values.quiet);
}

TEST_CASE("Option tables: values outside their limits are refused by name") {
  const auto message = [](const char* option, const char* value) {
    const Parsed parsed = parse({"work", "a", option, value});
    CHECK(parsed.refused);
    CHECK(parsed.hint == "run 'tool work --help' for its arguments");
    return parsed.text;
  };
  CHECK(message("--number", "9") == "--number: found 9, expected 1 to 8");
  CHECK(message("--number", "1.5") == "--number: found 1.5, expected 1 to 8");
  CHECK(message("--ratio", "3") == "--ratio: found 3, expected 0.1 to 2.5");
  CHECK(message("--text", "few") == "--text: few not in {none,some,all}");
  CHECK(message("--size", "640") == "--size: found '640', expected WIDTHxHEIGHT");
  CHECK_THAT(message("--large", "0"), Catch::StartsWith("--large: "));
  CHECK_THAT(message("--small", "-1"), Catch::Contains("--small"));
  CHECK_THAT(message("--count", "many"), Catch::Contains("--count"));
}

TEST_CASE("Option tables: missing, needed and excluded options are refused") {
  CHECK(parse({"work"}).text == "FILE is required");
  CHECK(parse({"work", "a", "--with-flag"}).text == "--with-flag requires --flag");
  CHECK(parse({"work", "a", "--with-flag", "--flag"}).command == "work");
  CHECK(parse({"work", "a", "--alone", "--text", "all"}).refused);
  CHECK(parse({"work", "a", "--alone", "--flag"}).refused);
  CHECK(parse({"work", "a", "--alone"}).command == "work");
}

TEST_CASE("Option tables: an unknown name gives the nearest valid one") {
  CHECK_THAT(parse({"work", "a", "--nmber", "2"}).text,
             Catch::StartsWith("unknown option '--nmber'; did you mean '--number'?"));
  CHECK_THAT(parse({"wrok"}).text,
             Catch::StartsWith("unknown command 'wrok'; did you mean 'work'?"));
  CHECK(parse({"group", "inner", "more"}).text == "tool group inner: unexpected argument 'more'");
}

TEST_CASE("Option tables: a program and a command of commands ask for one") {
  CHECK(parse({}).text == "tool: no command given; valid: work, group");
  CHECK(parse({"group"}).text == "tool group: no command given; valid: inner");
  CHECK(parse({"group", "inner"}).command == "inner");
}

TEST_CASE("Option tables: hidden commands work and are not listed") {
  CHECK(parse({"secret"}).command == "secret");
  const std::string help = parse({"--help"}).text;
  CHECK_THAT(help, Catch::Contains("Does the work") && !Catch::Contains("Not listed"));
}

TEST_CASE("Option tables: --help shows headings, defaults and the footer and runs nothing") {
  const Parsed help = parse({"work", "--help"});
  CHECK(help.command.empty());
  CHECK_FALSE(help.refused);
  CHECK_THAT(help.text, Catch::Contains("--number INT:1 to 8=3") && Catch::Contains("FILE..."));
  CHECK_THAT(parse({"--help"}).text, Catch::Contains("Noise:") && Catch::Contains("The end."));
}

TEST_CASE("Option tables: help_text() is --help of the command that a path names") {
  Values values;
  const CommandSpec program = make_program(values);
  CHECK(help_text(program, {"work"}).value() == parse({"work", "--help"}).text);
  CHECK(help_text(program, {}).value() == parse({"--help"}).text);
  CHECK_FALSE(help_text(program, {"wrok"}).ok());
}

}  // namespace
}  // namespace dfsim::cli
