// dfsim: parses the command line, runs one subcommand, turns its Status into an exit code.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <exception>
#include <new>

#include "cli/command.h"
#include "cli/help_format.h"
#include "cli/usage_error.h"

namespace dfsim::cli {

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

namespace {

void print_error(std::string_view message) { fmt::print(stderr, "dfsim: error: {}\n", message); }

int run(int argc, char** argv) {
  CLI::App app("dfsim: how long will this model take on that machine, why, and what would help?",
               "dfsim");
  app.formatter(make_help_formatter());
  GlobalOptions global;
  app.add_flag("-q,--quiet", global.quiet, "No progress and no notes on stderr, only errors");
  app.add_option("--log-level", global.log_level, "What is logged to stderr")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
  app.require_subcommand(1);
  app.fallthrough();
  app.footer("Exit codes: 0 fine, 1 the work failed, 2 bad usage or bad input.");
  Registrar registrar(app, global);
  register_commands(registrar);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    print_error(usage_error_message(app, error));
    fmt::print(stderr, "{}\n", usage_hint(app));
    return kExitBadInput;
  }
  spdlog::set_default_logger(spdlog::stderr_color_mt("dfsim"));
  spdlog::set_pattern("dfsim: %l: %v");
  spdlog::set_level(spdlog::level::from_str(global.quiet ? "error" : global.log_level));
  const Status status = registrar.selected()();
  if (!status.ok()) {
    print_error(status.message());
  }
  return exit_code_for(status);
}

}  // namespace
}  // namespace dfsim::cli

int main(int argc, char** argv) {
  try {
    return dfsim::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "dfsim: error: out of memory: the input needs more than this machine (or its limit) gives; "
        "take a smaller input or a larger machine; of traces, --no-advice needs a third\n",
        stderr);
    return dfsim::cli::kExitWorkFailed;
  } catch (const std::exception& error) {
    // Nothing of ours throws: this is a third party's surprise.
    std::fprintf(stderr, "dfsim: error: %s\n", error.what());
    return dfsim::cli::kExitWorkFailed;
  }
}
