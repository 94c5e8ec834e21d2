// The reference page of all options: one section and one table per command.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/help/command_docs.h"

namespace dfsim::cli {
namespace {

// A bar would end a cell, and angle brackets would be a tag.
std::string table_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') {
      cell += "\\|";
    } else if (c == '<') {
      cell += "&lt;";
    } else {
      cell += c;
    }
  }
  return cell;
}

std::string option_row(const OptionSpec& option) {
  std::string names;
  for (const std::string& word : option_words(option)) {
    names += (names.empty() ? "`" : ", `") + word + "`";
  }
  if (const std::string value = value_word(option);
      !value.empty() && (!is_argument(option) || option.value)) {
    names += " " + table_cell(value);
  }
  std::string about = table_cell(option.help);
  if (const std::string value = default_value(option); !value.empty()) {
    about += fmt::format("; default: `{}`", value);
  }
  if (const std::string more = constraints(option); !more.empty()) {
    about += " (" + table_cell(more) + ")";
  }
  return fmt::format("| {} | {} |\n", names, about);
}

// The text as a sentence: with a full stop unless it already ends as one.
std::string sentence(std::string text) {
  if (!text.empty() && std::string_view(".?!").find(text.back()) == std::string_view::npos) {
    text += '.';
  }
  return text;
}

std::string command_section(const CommandPath& path) {
  const CommandSpec& command = *path.back();
  std::string text = fmt::format("## {}\n\n{}\n\n```\n{}\n```\n", command_line(path),
                                 sentence(command.summary), usage_line(path));
  if (!command.options.empty()) {
    text += "\n| Option | Meaning |\n|---|---|\n";
    for (const OptionSpec& option : command.options) {
      text += option_row(option);
    }
  }
  for (const CommandExample& example : command.examples) {
    text += fmt::format("\n`{}`: {}\n", example.line, sentence(example.shows));
  }
  return text;
}

}  // namespace

std::string options_page(const CommandSpec& program) {
  std::string text =
      "# Options of every command\n\n"
      "`dfsim help --format markdown` writes this page from the tables that also make the parser,\n"
      "`--help`, the man pages and the completions.\n";
  for (const CommandPath& path : visible_commands(program)) {
    text += "\n" + command_section(path);
  }
  return text;
}

}  // namespace dfsim::cli
