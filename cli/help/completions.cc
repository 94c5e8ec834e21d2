// Completion scripts for bash, zsh and fish: the words that may come next, from the tables.
//
// Each script first finds the command among the words before the cursor, skipping the values of
// global options, and then offers that command's options, its own commands, and for the value of an
// option its choices, the names that it suggests, or files.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/help/command_docs.h"

namespace dfsim::cli {
namespace {

std::vector<std::string> visible_names(const CommandSpec& command) {
  std::vector<std::string> names;
  for (const CommandSpec& inner : command.commands) {
    if (!inner.hidden) {
      names.emplace_back(inner.name);
    }
  }
  return names;
}

// The path without the program: "" or "profiles import".
std::string words_after_program(const CommandPath& path) {
  return command_line(CommandPath(path.begin() + 1, path.end()));
}

// For text inside single quotes of a shell.
std::string single_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

// Global options that take a value, as a shell pattern: "--log-level"; never empty.
std::string global_value_options(const CommandSpec& program) {
  std::vector<std::string> words = {"--"};
  for (const OptionSpec& option : program.options) {
    if (!is_flag(option)) {
      for (const std::string& word : option_words(option)) {
        words.push_back(word);
      }
    }
  }
  return join(words, "|");
}

// --- bash ---

// One case of the value's option: what may follow --hw.
std::string bash_value_case(const OptionSpec& option) {
  std::string reply = "COMPREPLY=(";
  if (const auto choices = value_choices(option); !choices.empty()) {
    reply += fmt::format("$(compgen -W {} -- \"$current\")", single_quoted(join(choices, " ")));
  }
  if (takes_file(option)) {
    reply += fmt::format("{}$(compgen -f -- \"$current\")", reply.back() == '(' ? "" : " ");
  }
  return fmt::format("        {}) {}) ; return ;;\n", join(option_words(option), "|"), reply);
}

std::string bash_case(const CommandPath& path) {
  std::string values;
  std::vector<std::string> words = visible_names(*path.back());
  bool files = false;
  for (const OptionSpec& option : options_at(path)) {
    if (is_argument(option)) {
      files = true;
      continue;
    }
    for (const std::string& word : option_words(option)) {
      words.push_back(word);
    }
    if (!is_flag(option)) {
      values += bash_value_case(option);
    }
  }
  std::string text = fmt::format("    {})\n", single_quoted(words_after_program(path)));
  if (!values.empty()) {
    text += "      case $previous in\n" + values + "      esac\n";
  }
  text += fmt::format("      words={}\n      files={}\n      ;;\n", single_quoted(join(words, " ")),
                      files ? "yes" : "no");
  return text;
}

constexpr std::string_view kBashBody = R"(_dfsim() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command='' words='' files=no i
  # bash makes a word of its own of the sign in --option=value.
  [[ $current == '=' ]] && current=''
  [[ $previous == '=' && COMP_CWORD -gt 1 ]] && previous=${{COMP_WORDS[COMP_CWORD-2]}}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      {}) ((i++)) ;;
      -*) ;;
      *)
        case "$command ${{COMP_WORDS[i]}}" in
          {}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
        esac
        ;;
    esac
  done
  case $command in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ $files == yes && $current != -* ]]; then
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _dfsim dfsim
)";

// --- zsh ---

// Text inside the brackets of an _arguments specification.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

std::string zsh_value(const OptionSpec& option) {
  const auto choices = value_choices(option);
  std::string action;
  if (!choices.empty() && takes_file(option)) {
    action = "_alternative \"names:name:(" + join(choices, " ") + ")\" \"files:file:_files\"";
    return "{" + action + "}";
  }
  return choices.empty() ? (takes_file(option) ? "_files" : " ") : "(" + join(choices, " ") + ")";
}

std::string zsh_argument(const OptionSpec& option) {
  const std::string value =
      is_flag(option) ? "" : ":" + zsh_text(value_word(option)) + ":" + zsh_value(option);
  if (is_argument(option)) {
    const std::string many = takes_many(option) ? "*" : "";
    return "    " + single_quoted(many + ":" + option.names + ":_files") + " \\\n";
  }
  std::string text;
  for (const std::string& word : option_words(option)) {
    const std::string many = takes_many(option) ? "*" : "";
    const std::string entry = fmt::format("{}{}[{}]{}", many, word, zsh_text(option.help), value);
    text += fmt::format("    {} \\\n", single_quoted(entry));
  }
  return text;
}

std::string zsh_function(const CommandPath& path) {
  std::string text = fmt::format("_{}() {{\n", command_line(path, "_"));
  const std::vector<std::string> inner = visible_names(*path.back());
  if (!inner.empty()) {
    text += "  local -a commands=(\n";
    for (const CommandSpec& command : path.back()->commands) {
      if (!command.hidden) {
        text +=
            "    " + single_quoted(zsh_text(command.name) + ":" + zsh_text(command.summary)) + "\n";
      }
    }
    text += "  )\n  local context state line\n  local -A opt_args\n";
  }
  text += "  _arguments \\\n";
  for (const OptionSpec& option : options_at(path)) {
    text += zsh_argument(option);
  }
  if (inner.empty()) {
    return text + "    && return 0\n}\n";
  }
  text +=
      "    '1: :->command' '*:: :->rest' && return 0\n  case $state in\n"
      "    command) _describe command commands ;;\n    rest)\n      case $words[1] in\n";
  for (const std::string& name : inner) {
    text += fmt::format("        {}) _{}_{} ;;\n", name, command_line(path, "_"), name);
  }
  return text + "      esac\n      ;;\n  esac\n}\n";
}

// --- fish ---

// True in fish when the words so far are those of `path` and of no command below it.
std::string fish_condition(const CommandPath& path) {
  std::vector<std::string> parts;
  for (size_t i = 1; i < path.size(); ++i) {
    parts.push_back(fmt::format("__fish_seen_subcommand_from {}", path[i]->name));
  }
  if (const auto inner = visible_names(*path.back()); !inner.empty()) {
    parts.push_back("not __fish_seen_subcommand_from " + join(inner, " "));
  }
  return join(parts, "; and ");
}

std::string fish_option(const OptionSpec& option, const std::string& condition) {
  std::string line = "complete -c dfsim";
  if (!condition.empty()) {
    line += " -n " + single_quoted(condition);
  }
  for (const std::string& word : option_words(option)) {
    line += word.starts_with("--") ? " -l " + word.substr(2) : " -s " + word.substr(1);
  }
  if (!is_flag(option)) {
    line += takes_file(option) ? " -r -F" : " -x";
    if (const auto choices = value_choices(option); !choices.empty()) {
      line += " -a " + single_quoted(join(choices, " "));
    }
  }
  return line + " -d " + single_quoted(option.help) + "\n";
}

}  // namespace

std::string bash_completion(const CommandSpec& program) {
  std::vector<std::string> commands;
  std::string cases;
  for (const CommandPath& path : visible_commands(program)) {
    cases += bash_case(path);
    if (path.size() > 1) {
      const std::string above = words_after_program(CommandPath(path.begin(), path.end() - 1));
      commands.push_back("'" + above + " " + path.back()->name + "'");
    }
  }
  return "# bash completion for dfsim, written by `dfsim help --format bash`\n" +
         fmt::format(kBashBody, global_value_options(program), join(commands, "|"), cases);
}

std::string zsh_completion(const CommandSpec& program) {
  std::string text =
      "#compdef dfsim\n# zsh completion for dfsim, written by `dfsim help --format zsh`\n";
  for (const CommandPath& path : visible_commands(program)) {
    text += "\n" + zsh_function(path);
  }
  return text + "\n_dfsim \"$@\"\n";
}

std::string fish_completion(const CommandSpec& program) {
  std::string text = "# fish completion for dfsim, written by `dfsim help --format fish`\n";
  for (const CommandPath& path : visible_commands(program)) {
    const std::string condition = fish_condition(path);
    for (const CommandSpec& command : path.back()->commands) {
      if (!command.hidden) {
        text += fmt::format("complete -c dfsim -f -n {} -a {} -d {}\n", single_quoted(condition),
                            command.name, single_quoted(command.summary));
      }
    }
    // Global options appear once, for the program.
    OptionTable options = path.back()->options;
    for (const OptionSpec& option : options) {
      if (!is_argument(option)) {
        text += fish_option(option, path.size() > 1 ? condition : "");
      }
    }
  }
  return text;
}

}  // namespace dfsim::cli
