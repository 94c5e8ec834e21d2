// From command tables to a parsed command line. The only header of the command-line library's
// adapter: option_parser.cc alone includes CLI11.
#pragma once

#include <string>
#include <vector>

#include "cli/option_table.h"

namespace dfsim::cli {

struct ParsedCommandLine {
  const CommandSpec* command = nullptr;  // what to run; nullptr: print `text` and end
  bool refused = false;                  // `text` is an error message, not help
  std::string text;
  std::string hint;  // where to read on, when refused
};

// Fills the targets of the options and finds the command. `root` is the program: its options are
// valid before and behind every command, too. `root` must outlive the result.
//
// A refused command line gets one line about the first thing wrong with it: an unknown command or
// option is answered with the nearest valid name.
ParsedCommandLine parse_command_line(const CommandSpec& root, int argc, const char* const* argv);

// What --help prints for the command at the end of `path`, names from the root's commands inwards;
// the program's own for an empty path. Error: an unknown name, with the nearest valid one.
StatusOr<std::string> help_text(const CommandSpec& root, const std::vector<std::string>& path);

}  // namespace dfsim::cli
