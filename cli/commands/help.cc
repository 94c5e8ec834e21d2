// dfsim help: --help of any command, and everything else that is written from the option tables.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/io/file.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/help/command_docs.h"
#include "cli/option_parser.h"
#include "cli/program.h"

namespace dfsim::cli {
namespace {

namespace fs = std::filesystem;

struct HelpCommand {
  std::vector<std::string> path;
  std::string format = "text";
  std::string output = "-";
  std::string folder;
};

StatusOr<std::string> help_in_format(const HelpCommand& options, const CommandSpec& program) {
  DFSIM_ASSIGN_OR_RETURN(const CommandPath path, find_command(program, options.path));
  if (options.format == "man") {
    return man_page(path, DFSIM_VERSION);
  }
  if (options.format == "text") {
    return help_text(program, options.path);
  }
  if (!options.path.empty()) {
    return invalid_input(fmt::format("--format {}: is for all commands at once; leave out '{}'",
                                     options.format, join(options.path, " ")));
  }
  return options.format == "markdown" ? options_page(program)
         : options.format == "bash"   ? bash_completion(program)
         : options.format == "zsh"    ? zsh_completion(program)
                                      : fish_completion(program);
}

// The layout below share/ of an installation.
Status write_share(const CommandSpec& program, const fs::path& folder) {
  std::vector<std::pair<fs::path, std::string>> files = {
      {"bash-completion/completions/dfsim", bash_completion(program)},
      {"zsh/vendor-completions/_dfsim", zsh_completion(program)},
      {"fish/vendor_completions.d/dfsim.fish", fish_completion(program)},
      {"doc/dfsim/options.md", options_page(program)}};
  for (const CommandPath& path : visible_commands(program)) {
    files.emplace_back("man/man1/" + command_line(path, "-") + ".1", man_page(path, DFSIM_VERSION));
  }
  for (const auto& [name, text] : files) {
    const fs::path file = folder / name;
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) {
      return failed(fmt::format("{}: cannot make the folder: {}",
                                printable(file.parent_path().string()), error.message()));
    }
    DFSIM_RETURN_IF_ERROR(write_file(file.string(), text));
  }
  return ok_status();
}

Status run_help(const HelpCommand& options) {
  GlobalOptions unused;
  const CommandSpec program = dfsim_program(unused);
  if (!options.folder.empty()) {
    return write_share(program, options.folder);
  }
  DFSIM_ASSIGN_OR_RETURN(const std::string text, help_in_format(options, program));
  return write_file(options.output, text);
}

OptionTable help_options(HelpCommand& o) {
  return {{.names = "COMMAND", .target = &o.path, .help = "The command; without one, the program"},
          {.names = "--format",
           .target = &o.format,
           .help = "text, a man page, the reference of all options, or a shell's completion script",
           .value = "FORMAT",
           .show_default = true,
           .choices = "text,man,markdown,bash,zsh,fish"},
          {.names = "--share",
           .target = &o.folder,
           .help = "Write all man pages, completions and the reference below this folder, as an "
                   "installation has them",
           .value = "DIR"},
          {.names = "-o,--output",
           .target = &o.output,
           .help = "Where the result goes; - is stdout",
           .value = "FILE"}};
}

}  // namespace

CommandSpec help_command() {
  const auto options = std::make_shared<HelpCommand>();
  return {.name = "help",
          .summary = "Help of a command, as text, man page, reference or completion script",
          .options = help_options(*options),
          .run = [options](const GlobalOptions&) { return run_help(*options); },
          .hidden = true};
}

}  // namespace dfsim::cli
