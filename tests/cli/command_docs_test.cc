// Checks the pages that dfsim writes from the tables of its commands.
#include "cli/help/command_docs.h"

#include <catch2/catch.hpp>
#include <set>

#include "cli/option_parser.h"
#include "cli/program.h"

namespace dfsim::cli {
namespace {

TEST_CASE("Exit codes: bad input and failed work differ") {
  CHECK(exit_code_for(ok_status()) == kExitOk);
  CHECK(exit_code_for(failed("the disk is full")) == kExitWorkFailed);
  CHECK(exit_code_for(invalid_input("a model")) == kExitBadInput);
  CHECK(exit_code_for(not_found("a file")) == kExitBadInput);
  CHECK(exit_code_for(unsupported("an opset")) == kExitBadInput);
}

TEST_CASE("Commands: every option is described, and names are used once") {
  GlobalOptions global;
  const CommandSpec program = dfsim_program(global);
  const std::vector<CommandPath> commands = visible_commands(program);
  REQUIRE(commands.size() > 20);
  for (const CommandPath& path : commands) {
    INFO(command_line(path));
    CHECK_FALSE(std::string(path.back()->summary).empty());
    // A command does something itself or has commands that do.
    CHECK(path.back()->commands.empty() == static_cast<bool>(path.back()->run));
    std::set<std::string> seen;
    for (const OptionSpec& option : options_at(path)) {
      INFO(option.names);
      CHECK_FALSE(option.help.empty());
      for (const std::string& word : option_words(option)) {
        CHECK(seen.insert(word).second);
      }
    }
    for (const OptionSpec& option : path.back()->options) {
      for (const char* list : {option.needs, option.excludes}) {
        for (const std::string& name : listed(list)) {
          INFO(option.names << " names " << name);
          CHECK(seen.contains(name));
        }
      }
    }
  }
}

TEST_CASE("Commands: --help of each one names all of its options") {
  GlobalOptions global;
  const CommandSpec program = dfsim_program(global);
  for (const CommandPath& path : visible_commands(program)) {
    std::vector<std::string> names;
    for (size_t i = 1; i < path.size(); ++i) {
      names.emplace_back(path[i]->name);
    }
    const StatusOr<std::string> help = help_text(program, names);
    INFO(command_line(path));
    REQUIRE(help.ok());
    // The root has its exit codes; each command shows how it is called.
    if (!names.empty()) {
      CHECK_THAT(*help, Catch::Contains("\n  dfsim " + names.front()));
      CHECK_FALSE(path.back()->examples.empty());
    }
    for (const OptionSpec& option : path.back()->options) {
      CHECK_THAT(*help, Catch::Contains(option_words(option).back()));
    }
  }
}

TEST_CASE("Man pages: a line of text never begins as a macro, and dashes are dashes") {
  bool flag = false;
  const CommandSpec command = {.name = "work",
                               .summary = "Does it",
                               .options = {{.names = "--a-flag",
                                            .target = &flag,
                                            .help = ".hidden files and back\\slashes"}},
                               .examples = {{"tool work --a-flag", "works with it"}}};
  const CommandSpec tool = {.name = "tool", .summary = "A tool", .commands = {command}};
  const std::string page = man_page({&tool, &tool.commands[0]}, "1.0");
  CHECK_THAT(page, Catch::StartsWith(".TH TOOL\\-WORK 1"));
  CHECK_THAT(page,
             Catch::Contains("\\fB\\-\\-a\\-flag\\fR\n\\&.hidden files and back\\eslashes\n"));
  CHECK_THAT(page, Catch::Contains(".SH EXAMPLES\n.TP\n\\fBtool work \\-\\-a\\-flag\\fR\n"));
  CHECK_THAT(page, Catch::Contains("\\fBtool\\fR(1)"));
}

TEST_CASE("Reference of options: gives limits and relations in words") {
  std::string mode = "fast";
  double x = 1;
  const OptionSpec option = {.names = "--mode",
                             .target = &mode,
                             .help = "How",
                             .required = true,
                             .show_default = true,
                             .choices = "fast,exact",
                             .needs = "--hw"};
  CHECK(constraints(option) == "required; one of fast, exact; needs --hw");
  CHECK(default_value(option) == "fast");
  CHECK(value_word(option) == "TEXT");
  CHECK(constraints({.names = "-x", .target = &x, .positive = true, .range = {0, 2.5}}) ==
        "above 0; 0 to 2.5");
}

TEST_CASE("Reference of options: every command has a section and every option a row") {
  GlobalOptions global;
  const CommandSpec program = dfsim_program(global);
  const std::string page = options_page(program);
  for (const CommandPath& path : visible_commands(program)) {
    CHECK_THAT(page, Catch::Contains("\n## " + command_line(path) + "\n"));
  }
  CHECK_THAT(page, Catch::Contains("| `-o`, `--output` FILE |"));
  CHECK_THAT(page, !Catch::Contains("FILE|NAME"));          // a bar would end the cell
  CHECK_THAT(page, Catch::Contains("what would help?\n"));  // a question gets no full stop
}

TEST_CASE("Commands: a path of names finds a command, and a wrong path gives the nearest name") {
  GlobalOptions global;
  const CommandSpec program = dfsim_program(global);
  const auto found = find_command(program, {"profiles", "import"});
  REQUIRE(found.ok());
  CHECK(command_line(*found, "-") == "dfsim-profiles-import");
  CHECK_THAT(usage_line(*found), Catch::StartsWith("dfsim profiles import [OPTIONS] FILE..."));
  CHECK_THAT(find_command(program, {"predcit"}).status().message(),
             Catch::StartsWith("unknown command 'predcit'; did you mean 'predict'?"));
}

}  // namespace
}  // namespace dfsim::cli
