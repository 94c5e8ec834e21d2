// What to tell a user whose command line was refused.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dfsim::cli {

// One line about the first thing wrong: an unknown command or option is named with its nearest
// valid name, anything else is told in CLI11's words. `app` is the root, after its parse() threw.
std::string usage_error_message(const CLI::App& app, const CLI::ParseError& error);

// Where to read on: "Run 'dfsim predict --help' for its arguments".
std::string usage_hint(const CLI::App& app);

}  // namespace dfsim::cli
