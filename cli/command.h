// The frame of every subcommand: global options, registration, exit codes.
//
// One file per subcommand (cmd_NAME.cc) with one function that adds it to the CLI11 app; the
// explicit list of those functions is in commands.cc. cli/ is the only place that turns a Status
// into an exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/status.h"

namespace dfsim::cli {

// Documented in docs/commands/README.md and in `dfsim --help`.
inline constexpr int kExitOk = 0;
inline constexpr int kExitWorkFailed = 1;  // the input was fine, the work could not be completed
inline constexpr int kExitBadInput = 2;    // bad usage, or a file that cannot be used

int exit_code_for(const Status& status);

struct GlobalOptions {
  bool quiet = false;
  std::string log_level = "warning";
};

// What a subcommand sets up: `run` is called after parsing; a non-OK status ends the program with
// its message on stderr and its exit code.
using Run = std::function<Status()>;

// Adds a subcommand whose callback stores `run` for main() to call.
class Registrar {
 public:
  Registrar(CLI::App& app, const GlobalOptions& global) : app_(app), global_(global) {}

  const GlobalOptions& global() const { return global_; }
  CLI::App& app() { return app_; }
  // Call once the options of `command` are declared.
  void on_run(CLI::App* command, Run run) {
    command->callback([this, run = std::move(run)] { selected_ = run; });
  }
  const Run& selected() const { return selected_; }

 private:
  CLI::App& app_;
  const GlobalOptions& global_;
  Run selected_;
};

// Adds every subcommand, in the order of --help.
void register_commands(Registrar& registrar);

}  // namespace dfsim::cli
