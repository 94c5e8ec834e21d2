// The list of commands, and what happens around every one of them: logging is set up, a Status
// becomes a message and an exit code.
#include "cli/program.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/io/file.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/option_parser.h"
#include "cli/output_check.h"
#include "cli/progress.h"
#include "cli/terminal_text.h"

namespace dfsim::cli {
namespace {

// An error is one line, whatever the names of files and options in it hold.
void print_error(std::string_view message) {
  fmt::print(stderr, "dfsim: {} {}\n", colors_errors() ? "\x1b[1;31merror:\x1b[0m" : "error:",
             printable(message, message.size()));
}

// The exit code for a status, whose message goes to stderr.
int reported(const Status& status) {
  if (!status.ok()) {
    print_error(status.message());
  }
  return exit_code_for(status);
}

void set_up_logging(const GlobalOptions& global) {
  choose_color(global.color);
  choose_progress(global.progress);
  log_to_stderr(global.quiet ? "error" : global.log_level);
}

}  // namespace

void log_to_stderr(const std::string& level) {
  if (spdlog::get("dfsim") == nullptr) {
    spdlog::set_default_logger(spdlog::stderr_color_mt("dfsim"));
  }
  spdlog::set_pattern("dfsim: %l: %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

int exit_code_for(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kFailed:
      return kExitWorkFailed;
    case StatusCode::kInvalidInput:
    case StatusCode::kNotFound:
    case StatusCode::kUnsupported:
      return kExitBadInput;
  }
  return kExitWorkFailed;
}

CommandSpec dfsim_program(GlobalOptions& global) {
  CommandSpec program = {
      .name = "dfsim",
      .summary = "dfsim: how long will this model take on that machine, why, and what would help?",
      .options =
          {{.names = "-q,--quiet",
            .target = &global.quiet,
            .help = "No progress and no notes on stderr, only errors"},
           {.names = "--version", .target = &global.version, .help = "Print the version and exit"},
           {.names = "--color",
            .target = &global.color,
            .help = "Colour in text for people: auto is on a terminal, unless NO_COLOR is "
                    "set",
            .value = "WHEN",
            .show_default = true,
            .choices = "auto,always,never"},
           {.names = "--progress",
            .target = &global.progress,
            .help = "Progress of work that takes more than a second: auto is a line on a terminal, "
                    "json an object per line on stderr",
            .value = "HOW",
            .show_default = true,
            .choices = "auto,json,none"},
           {.names = "--log-level",
            .target = &global.log_level,
            .help = "Least severe messages to log to stderr",
            .show_default = true,
            .choices = "trace,debug,info,warning,error,off"}},
      .footer = "Exit codes: 0 fine, 1 the work failed, 2 bad usage or bad input."};
#define DFSIM_COMMAND(name) program.commands.push_back(name##_command());
#include "cli/commands/commands.inc"
#undef DFSIM_COMMAND
  return program;
}

int run_dfsim(int argc, const char* const* argv) {
  GlobalOptions global;
  const CommandSpec program = dfsim_program(global);
  // The only option that needs no command.
  static constexpr const char* kVersion[] = {"dfsim", "version"};
  const bool version_alone = argc == 2 && std::string_view(argv[1]) == "--version";
  const ParsedCommandLine parsed = version_alone ? parse_command_line(program, 2, kVersion)
                                                 : parse_command_line(program, argc, argv);
  if (parsed.refused) {
    print_error(parsed.text + "; " + parsed.hint);
    return kExitBadInput;
  }
  if (parsed.command == nullptr) {
    return reported(write_file("-", parsed.text));
  }
  set_up_logging(global);
  const Status outputs = check_outputs(parsed.command->options);
  const Status status = !outputs.ok()    ? outputs
                        : global.version ? version_command().run(global)
                                         : parsed.command->run(global);
  // A command may have printed through stdio; a full disk shows only when that is flushed.
  if (status.ok() && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    return reported(failed(fmt::format("stdout: cannot be written: {}", std::strerror(errno))));
  }
  return reported(status);
}

}  // namespace dfsim::cli
