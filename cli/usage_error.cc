#include "cli/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace dfsim::cli {
namespace {

// The chain of commands that were recognised: the root, then subcommands inwards.
std::vector<const CLI::App*> parsed_chain(const CLI::App& app) {
  std::vector<const CLI::App*> chain = {&app};
  while (!chain.back()->get_subcommands().empty()) {
    chain.push_back(chain.back()->get_subcommands().front());
  }
  return chain;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(subcommand->get_name());
  }
  return names;
}

// Long names of all options that were valid at this place.
std::vector<std::string> option_names(const std::vector<const CLI::App*>& chain) {
  std::vector<std::string> names;
  for (const CLI::App* command : chain) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  // --help is every command's.
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string command_line_of(const std::vector<const CLI::App*>& chain) {
  std::vector<std::string> words;
  for (const CLI::App* command : chain) {
    words.push_back(command->get_name());
  }
  return join(words, " ");
}

}  // namespace

std::string usage_error_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<const CLI::App*> chain = parsed_chain(app);
  const std::vector<std::string> commands = command_names(*chain.back());
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  if (!extras.empty()) {
    const std::string& extra = extras.front();
    if (extra.size() > 1 && extra.front() == '-') {
      const std::string name = extra.substr(0, extra.find('='));
      return unknown_name_message("option", name, option_names(chain));
    }
    if (!commands.empty()) {
      return unknown_name_message("command", extra, commands);
    }
    return fmt::format("{}: unexpected argument '{}'", command_line_of(chain), printable(extra));
  }
  if (!commands.empty()) {
    return fmt::format("{}: no command given; valid: {}", command_line_of(chain),
                       join(commands, ", "));
  }
  constexpr size_t kMaxMessageChars = 400;
  return printable(error.what(), kMaxMessageChars);
}

std::string usage_hint(const CLI::App& app) {
  const std::string command = command_line_of(parsed_chain(app));
  return fmt::format("Run '{} --help' for its arguments", command);
}

}  // namespace dfsim::cli
