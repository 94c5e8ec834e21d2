// The adapter of CLI11: makes its App of command tables, and its errors one line each.
//
// CLI11 costs six seconds of compiler time wherever it is included, so this is the only such file.
// Help keeps CLI11's layout; descriptions are broken into lines that fit the terminal.
#include "cli/option_parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <type_traits>

#include "base/text.h"
#include "base/text_table.h"
#include "cli/behind_dashes.h"

namespace dfsim::cli {
namespace {

// --- help ---

constexpr size_t kNamesColumns = 30;  // of the options' names, before their descriptions

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNamesColumns); }

  std::string make_option_desc(const CLI::Option* option) const override {
    return described(option->get_description());
  }

  // CLI11 shows what a flag such as --no-cache sets its variable to: "--no-cache{false}".
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    constexpr std::string_view kSetsFalse = "{false}";
    for (size_t at = name.find(kSetsFalse); at != std::string::npos; at = name.find(kSetsFalse)) {
      name.erase(at, kSetsFalse.size());
    }
    return name;
  }

  // CLI11 lists the options that one needs or excludes in the order of their addresses, which
  // differs from run to run; here they are in the order of their names.
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    for (const auto& others : {option->get_needs(), option->get_excludes()}) {
      std::string listed_text;
      std::set<std::string> names;
      for (const CLI::Option* other : others) {
        listed_text += " " + other->get_name();
        names.insert(" " + other->get_name());
      }
      if (names.size() > 1) {
        std::string sorted;
        for (const std::string& name : names) {
          sorted += name;
        }
        text.replace(text.find(":" + listed_text) + 1, listed_text.size(), sorted);
      }
    }
    return text;
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             described(command->get_description()), kNamesColumns);
    return out.str();
  }

  std::string make_description(const CLI::App* app) const override {
    return fit_lines(CLI::Formatter::make_description(app));
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    return fit_lines(CLI::Formatter::make_usage(app, std::move(name)));
  }

  std::string make_footer(const CLI::App* app) const override {
    return fit_lines(CLI::Formatter::make_footer(app));
  }

 private:
  // CLI11 puts every line below the first one.
  static std::string described(const std::string& text) {
    const size_t room = text_width() - kNamesColumns;
    std::string lines;
    for (size_t begin = 0; begin < text.size();) {
      size_t end = text.size();
      if (end - begin > room) {
        const size_t blank = text.rfind(' ', begin + room);
        end = blank == text.npos || blank <= begin ? text.find(' ', begin + room) : blank;
        end = std::min(end, text.size());
      }
      lines += (lines.empty() ? "" : "\n") + text.substr(begin, end - begin);
      begin = std::min(text.find_first_not_of(' ', end), text.size());
    }
    return lines;
  }
};

// --- options ---

// Reads the values of an option whose type is the table's own business.
CLI::callback_t read_by(const ParsedTarget& target, std::string names) {
  return [target, names = std::move(names)](const CLI::results_t& values) {
    for (const std::string& value : values) {
      const Status status = target.read(target.into, value);
      if (!status.ok()) {
        throw CLI::ValidationError(names + ": " + status.message());
      }
    }
    return true;
  };
}

CLI::Option* add_to_app(CLI::App& app, const OptionSpec& spec) {
  const std::string names = spec.names;
  return std::visit(
      [&](const auto& target) -> CLI::Option* {
        using Target = std::decay_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, bool*>) {
          return app.add_flag((spec.sets ? "" : "!") + names, *target, spec.help);
        } else if constexpr (std::is_same_v<Target, ParsedTarget>) {
          return app.add_option(names, read_by(target, names), spec.help);
        } else {
          return app.add_option(names, *target, spec.help);
        }
      },
      spec.target);
}

bool holds_reals(const OptionTarget& target) {
  return std::holds_alternative<double*>(target) ||
         std::holds_alternative<std::vector<double>*>(target);
}

bool holds_whole_numbers(const OptionTarget& target) {
  return std::holds_alternative<int32_t*>(target) || std::holds_alternative<uint32_t*>(target) ||
         std::holds_alternative<int64_t*>(target) || std::holds_alternative<uint64_t*>(target) ||
         std::holds_alternative<std::vector<int64_t>*>(target) ||
         std::holds_alternative<std::vector<uint64_t>*>(target);
}

bool is_signed(const OptionTarget& target) {
  return std::holds_alternative<int32_t*>(target) || std::holds_alternative<int64_t*>(target) ||
         std::holds_alternative<std::vector<int64_t>*>(target);
}

// CLI11 takes 010 for eight, 0x10 for sixteen and, of unsigned numbers, -1 for a huge one; numbers
// that are too large become the largest.
CLI::Validator plain_whole_number(bool negative_too) {
  const auto check = [negative_too](const std::string& text) {
    if (is_plain_whole_number(text, negative_too)) {
      return std::string();
    }
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    return fmt::format("found {}, expected a whole number {}", printable(text),
                       digits && text[0] != '0' ? "below 2^63" : "such as 8");
  };
  return CLI::Validator(check, "");  // --help says nothing about it
}

CLI::Validator plain_real_number() {
  const auto check = [](const std::string& text) {
    double number = 0;
    const bool decimal = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
    const bool fine = decimal && CLI::detail::lexical_cast(text, number) && std::isfinite(number);
    return fine ? std::string()
                : fmt::format("found {}, expected a number such as 0.5", printable(text));
  };
  return CLI::Validator(check, "");
}

template <typename Number>
CLI::Validator within(const NumberRange& range) {
  const auto least = static_cast<Number>(range.least);
  const auto greatest = static_cast<Number>(range.greatest);
  const auto check = [least, greatest](const std::string& text) {
    Number number{};
    const bool fine =
        CLI::detail::lexical_cast(text, number) && number >= least && number <= greatest;
    return fine ? std::string() : fmt::format("found {}, expected {} to {}", text, least, greatest);
  };
  return CLI::Validator(check, fmt::format("{} to {}", least, greatest));
}

CLI::Validator above_zero() {
  const auto check = [](const std::string& text) {
    double number = 0;
    const bool fine = CLI::detail::lexical_cast(text, number) && number > 0;
    return fine ? std::string() : fmt::format("found {}, expected a number above 0", text);
  };
  return CLI::Validator(check, "POSITIVE");
}

void add_limits(CLI::Option* option, const OptionSpec& spec) {
  if (spec.choices != nullptr) {
    option->check(CLI::IsMember(listed(spec.choices)));
  }
  if (spec.positive) {
    option->check(above_zero());
  }
  if (spec.range.limited()) {
    option->check(holds_reals(spec.target) ? within<double>(spec.range)
                                           : within<int64_t>(spec.range));
  }
  if (holds_whole_numbers(spec.target)) {
    option->check(plain_whole_number(is_signed(spec.target)));
  } else if (holds_reals(spec.target)) {
    option->check(plain_real_number());
  }
}

void add_options(CLI::App& app, const OptionTable& table) {
  std::vector<CLI::Option*> added;
  for (const OptionSpec& spec : table) {
    CLI::Option* option = add_to_app(app, spec);
    option->required(spec.required);
    if (spec.value != nullptr) {
      option->option_text(spec.value);
    }
    if (spec.group != nullptr) {
      option->group(spec.group);
    }
    if (spec.one_at_a_time) {
      // Without the second call CLI11 takes the next argument for one more value.
      option->expected(1)->allow_extra_args(false)->multi_option_policy(
          CLI::MultiOptionPolicy::TakeAll);
    }
    if (spec.show_default) {
      option->capture_default_str();
    }
    add_limits(option, spec);
    added.push_back(option);
  }
  // Once all are there, since an option may name a later one.
  for (size_t i = 0; i < table.size(); ++i) {
    for (const std::string& name : listed(table[i].needs)) {
      added[i]->needs(app.get_option(name));
    }
    for (const std::string& name : listed(table[i].excludes)) {
      added[i]->excludes(app.get_option(name));
    }
  }
}

// Words that may name a command; nothing: any may.
using NamedWords = std::optional<std::set<std::string_view>>;

// Adds what is below `spec`; `selected` gets the command that was on the command line. A command
// that no word names gets its name and summary alone: CLI11 takes a fifth of a millisecond for the
// options of each, and a run uses one.
void fill_app(CLI::App& app, const CommandSpec& spec, const std::string& common,
              const NamedWords& words, const CommandSpec** selected) {
  add_options(app, spec.options);
  app.footer(footer_of(spec, common));
  if (spec.commands.empty()) {
    app.callback([&spec, selected] { *selected = &spec; });
    return;
  }
  app.require_subcommand(1);
  for (const CommandSpec& command : spec.commands) {
    CLI::App* added = app.add_subcommand(command.name, command.summary);
    if (command.hidden) {
      added->group("");
    }
    if (!words || words->contains(command.name)) {
      fill_app(*added, command, common, words, selected);
    }
  }
}

// --- errors ---

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
    if (!subcommand->get_group().empty()) {
      names.push_back(subcommand->get_name());
    }
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

// "; dfsim hardware lists the machines" for an option that is required, is missing and has a hint.
std::string missing_hint(const CommandSpec& root, const std::vector<const CLI::App*>& chain,
                         const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) {
    return "";
  }
  const std::string message = error.what();
  const std::string missing = message.substr(0, message.find(' '));
  const CommandSpec* command = &root;
  for (size_t i = 1; i < chain.size(); ++i) {
    command = &*std::ranges::find(command->commands, chain[i]->get_name(), &CommandSpec::name);
  }
  for (const OptionSpec& option : command->options) {
    const std::vector<std::string> names = listed(option.names);
    if (option.hint != nullptr && std::ranges::find(names, missing) != names.end()) {
      return std::string("; ") + option.hint;
    }
  }
  return "";
}

std::string usage_error_message(const CommandSpec& root, const CLI::App& app,
                                const CLI::ParseError& error) {
  const std::vector<const CLI::App*> chain = parsed_chain(app);
  const std::vector<std::string> commands = command_names(*chain.back());
  std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  // The mark in front of arguments, which is left over when an option is refused.
  std::erase(extras, "--");
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
  return printable(error.what(), kMaxMessageChars) + missing_hint(root, chain, error);
}

// The App of a program; `words` and `selected` as in fill_app().
std::unique_ptr<CLI::App> make_app(const CommandSpec& root, const NamedWords& words,
                                   const CommandSpec** selected) {
  auto app = std::make_unique<CLI::App>(root.summary, root.name);
  // Before commands are added: they inherit these.
  app->formatter(std::make_shared<HelpFormatter>());
  app->fallthrough();
  fill_app(*app, root, root.footer, words, selected);
  return app;
}

}  // namespace

ParsedCommandLine parse_command_line(const CommandSpec& root, int argc, const char* const* argv) {
  ParsedCommandLine parsed;
  const std::unique_ptr<CLI::App> app =
      make_app(root, std::set<std::string_view>(argv, argv + argc), &parsed.command);
  if (const CommandSpec* command = take_behind_dashes(root, argc, argv); command != nullptr) {
    for (const OptionSpec& option : command->options) {
      if (is_argument(option)) {
        app->get_subcommand(command->name)->get_option(option.names)->required(false);
      }
    }
  }
  try {
    app->parse(argc, argv);
  } catch (const CLI::Success&) {
    parsed.command = nullptr;
    parsed.text = app->help();
  } catch (const CLI::ParseError& error) {
    parsed.command = nullptr;
    parsed.refused = true;
    parsed.text = usage_error_message(root, *app, error);
    parsed.hint =
        fmt::format("run '{} --help' for its arguments", command_line_of(parsed_chain(*app)));
  }
  return parsed;
}

StatusOr<std::string> help_text(const CommandSpec& root, const std::vector<std::string>& path) {
  // CLI11 answers --help of the innermost command that it recognises, so an unknown one must be
  // found before.
  const CommandSpec* inner = &root;
  for (const std::string& name : path) {
    const auto found = std::ranges::find(inner->commands, name, &CommandSpec::name);
    if (found == inner->commands.end()) {
      std::vector<std::string> names;
      for (const CommandSpec& command : inner->commands) {
        if (!command.hidden) {
          names.emplace_back(command.name);
        }
      }
      return not_found(unknown_name_message("command", name, std::move(names)));
    }
    inner = &*found;
  }
  const CommandSpec* selected = nullptr;
  const std::unique_ptr<CLI::App> app = make_app(root, std::nullopt, &selected);
  std::vector<std::string> words = path;
  words.emplace_back("--help");
  std::reverse(words.begin(), words.end());  // as parse() takes a vector
  try {
    app->parse(words);
  } catch (const CLI::Success&) {
    return app->help();
  } catch (const CLI::ParseError& error) {
    return not_found(usage_error_message(root, *app, error));
  }
  return failed("--help was not understood");
}

}  // namespace dfsim::cli
