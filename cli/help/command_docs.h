// What is written about the commands, made from their tables: man pages, completions of shells and
// the reference page of options. Nothing here is kept by hand, so it cannot be out of date.
#pragma once

#include <string>
#include <vector>

#include "cli/option_table.h"

namespace dfsim::cli {

// A command with the commands that lead to it: {program, profiles, import}.
using CommandPath = std::vector<const CommandSpec*>;

// Every command below `program` that is not hidden, with itself first; depth first.
std::vector<CommandPath> visible_commands(const CommandSpec& program);

// The command at the end of `names`. Error (kNotFound): an unknown name, with the nearest one.
StatusOr<CommandPath> find_command(const CommandSpec& program,
                                   const std::vector<std::string>& names);

// "dfsim profiles import"; `separator` between the words.
std::string command_line(const CommandPath& path, const std::string& separator = " ");

// The options that are valid there: the command's own, and those of the program.
OptionTable options_at(const CommandPath& path);

// {"-o", "--output"}; {"MODEL"} for an argument.
std::vector<std::string> option_words(const OptionSpec& option);

// "dfsim predict [OPTIONS] MODEL".
std::string usage_line(const CommandPath& path);

// What the option's value is called: its own word or that of its type; "" for flags.
std::string value_word(const OptionSpec& option);
// What the option holds unless it is given; "" when --help does not show it.
std::string default_value(const OptionSpec& option);
// One sentence on what the option's values are and what goes with it; "" when there is nothing.
std::string constraints(const OptionSpec& option);

// The fixed words that a value may be, from its choices or names that suggest themselves.
std::vector<std::string> value_choices(const OptionSpec& option);
// True when the value is (or may be) the name of a file or a folder.
bool takes_file(const OptionSpec& option);

// A man page in section 1 (man(7) macros).
std::string man_page(const CommandPath& path, const std::string& version);
// All options of all commands, as Markdown.
std::string options_page(const CommandSpec& program);

// Scripts that shells source.
std::string bash_completion(const CommandSpec& program);
std::string zsh_completion(const CommandSpec& program);
std::string fish_completion(const CommandSpec& program);

}  // namespace dfsim::cli
