// The facts about commands that man pages, completions and the reference share.
#include "cli/help/command_docs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "base/text.h"

namespace dfsim::cli {
namespace {

void add_visible(const CommandPath& path, std::vector<CommandPath>* out) {
  out->push_back(path);
  for (const CommandSpec& command : path.back()->commands) {
    if (!command.hidden) {
      CommandPath inner = path;
      inner.push_back(&command);
      add_visible(inner, out);
    }
  }
}

template <typename T>
std::string shown_value(const T& value) {
  if constexpr (std::is_same_v<T, ParsedTarget> || std::is_same_v<T, bool*>) {
    return "";
  } else if constexpr (std::is_same_v<T, std::string*>) {
    return *value;
  } else if constexpr (std::is_arithmetic_v<std::remove_pointer_t<T>>) {
    return fmt::format("{}", *value);
  } else {
    return fmt::format("{}", fmt::join(*value, ","));
  }
}

std::string type_word(const OptionSpec& option) {
  const bool text = std::holds_alternative<std::string*>(option.target) ||
                    std::holds_alternative<std::vector<std::string>*>(option.target) ||
                    std::holds_alternative<ParsedTarget>(option.target);
  return text ? "TEXT" : "N";
}

}  // namespace

std::vector<CommandPath> visible_commands(const CommandSpec& program) {
  std::vector<CommandPath> commands;
  add_visible({&program}, &commands);
  return commands;
}

StatusOr<CommandPath> find_command(const CommandSpec& program,
                                   const std::vector<std::string>& names) {
  CommandPath path = {&program};
  for (const std::string& name : names) {
    const std::vector<CommandSpec>& commands = path.back()->commands;
    const auto found = std::ranges::find_if(
        commands, [&](const CommandSpec& command) { return command.name == name; });
    if (found == commands.end()) {
      std::vector<std::string> valid;
      for (const CommandSpec& command : commands) {
        if (!command.hidden) {
          valid.emplace_back(command.name);
        }
      }
      return not_found(unknown_name_message("command", printable(name), valid));
    }
    path.push_back(&*found);
  }
  return path;
}

std::string command_line(const CommandPath& path, const std::string& separator) {
  std::vector<std::string> words;
  for (const CommandSpec* command : path) {
    words.emplace_back(command->name);
  }
  return join(words, separator);
}

OptionTable options_at(const CommandPath& path) {
  static const OptionSpec kHelp = {.names = "-h,--help",
                                   .help = "Print this help message and exit"};
  OptionTable options = {kHelp};
  for (auto command = path.rbegin(); command != path.rend(); ++command) {
    options.insert(options.end(), (*command)->options.begin(), (*command)->options.end());
  }
  return options;
}

std::vector<std::string> option_words(const OptionSpec& option) { return listed(option.names); }

std::string usage_line(const CommandPath& path) {
  std::string line = command_line(path) + " [OPTIONS]";
  for (const OptionSpec& option : path.back()->options) {
    if (is_argument(option)) {
      const std::string word = std::string(option.names) + (takes_many(option) ? "..." : "");
      line += option.required ? " " + word : " [" + word + "]";
    }
  }
  return line + (path.back()->commands.empty() ? "" : " COMMAND");
}

std::string value_word(const OptionSpec& option) {
  if (is_flag(option)) {
    return "";
  }
  return option.value != nullptr ? option.value : type_word(option);
}

std::string default_value(const OptionSpec& option) {
  return option.show_default
             ? std::visit([](const auto& target) { return shown_value(target); }, option.target)
             : "";
}

std::string constraints(const OptionSpec& option) {
  std::vector<std::string> parts;
  if (option.required) {
    parts.emplace_back("required");
  }
  if (option.choices != nullptr) {
    parts.push_back("one of " + join(listed(option.choices), ", "));
  }
  if (option.positive) {
    parts.emplace_back("above 0");
  }
  if (option.range.limited()) {
    parts.push_back(fmt::format("{} to {}", option.range.least, option.range.greatest));
  }
  if (option.needs != nullptr) {
    parts.push_back("needs " + join(listed(option.needs), ", "));
  }
  if (option.excludes != nullptr) {
    parts.push_back("not with " + join(listed(option.excludes), ", "));
  }
  return join(parts, "; ");
}

std::vector<std::string> value_choices(const OptionSpec& option) {
  return option.choices != nullptr   ? listed(option.choices)
         : option.suggest != nullptr ? option.suggest()
                                     : std::vector<std::string>();
}

bool takes_file(const OptionSpec& option) {
  const std::string_view word = option.value != nullptr ? option.value : option.names;
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"FILE", "OUT", "PLAN", "FOLDER", "DIR", "PROGRAM"},
      [&](std::string_view part) { return word.find(part) != word.npos; });
}

}  // namespace dfsim::cli
