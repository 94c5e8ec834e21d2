// The whole program as data: its commands, its global options, its exit codes.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/option_table.h"

namespace dfsim::cli {

// Documented in docs/commands/README.md and in `dfsim --help`.
inline constexpr int kExitOk = 0;
inline constexpr int kExitWorkFailed = 1;  // the input was fine, the work could not be completed
inline constexpr int kExitBadInput = 2;    // bad usage, or a file that cannot be used

// cli/ is the only place that turns a Status into an exit code.
int exit_code_for(const Status& status);

// All commands, in the order of --help. `global` outlives the result.
CommandSpec dfsim_program(GlobalOptions& global);

// Messages from `level` on go to stderr, in the program's form. Any number of calls.
void log_to_stderr(const std::string& level);

// Parses the arguments, runs the command that they name and returns the exit code. Results go to
// stdout, messages to stderr.
int run_dfsim(int argc, const char* const* argv);

}  // namespace dfsim::cli
