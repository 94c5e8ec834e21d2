// Man pages (man(7)): every text is escaped, since a line that begins with a dot would be a macro.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/help/command_docs.h"

namespace dfsim::cli {
namespace {

std::string capitals(std::string text) {
  for (char& c : text) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) {
      escaped += "\\&";
      escaped += c;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string man_option(const OptionSpec& option) {
  std::string head;
  for (const std::string& word : option_words(option)) {
    head += (head.empty() ? "" : ", ") + ("\\fB" + roff(word) + "\\fR");
  }
  if (!is_flag(option) && (!is_argument(option) || option.value != nullptr)) {
    head += " \\fI" + roff(value_word(option)) + "\\fR";
  }
  std::string text = roff(option.help);
  if (const std::string value = default_value(option); !value.empty()) {
    text += roff("; default: " + value);
  }
  if (const std::string more = constraints(option); !more.empty()) {
    text += roff(" (" + more + ")");
  }
  return fmt::format(".TP\n{}\n{}\n", head, text);
}

// Options under their headings, in the order in which headings first come.
std::string man_options(const OptionTable& options) {
  std::vector<std::pair<std::string, std::string>> sections = {{"Arguments", ""}, {"Options", ""}};
  for (const OptionSpec& option : options) {
    const std::string name = is_argument(option)       ? "Arguments"
                             : option.group != nullptr ? option.group
                                                       : "Options";
    auto section = sections.begin();
    while (section != sections.end() && section->first != name) {
      ++section;
    }
    if (section == sections.end()) {
      section = sections.insert(section, {name, ""});
    }
    section->second += man_option(option);
  }
  std::string text;
  for (const auto& [name, body] : sections) {
    if (!body.empty()) {
      text += fmt::format(".SH {}\n{}", capitals(name), body);
    }
  }
  return text;
}

std::string man_commands(const CommandPath& path) {
  std::string text;
  for (const CommandSpec& command : path.back()->commands) {
    if (!command.hidden) {
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(command.name), roff(command.summary));
    }
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

std::string man_examples(const CommandSpec& command) {
  std::string text;
  for (const CommandExample& example : command.examples) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(example.line), roff(example.shows));
  }
  return text.empty() ? "" : ".SH EXAMPLES\n" + text;
}

std::string man_see_also(const CommandPath& path) {
  std::vector<std::string> pages;
  if (path.size() > 1) {
    const CommandPath above(path.begin(), path.end() - 1);
    pages.push_back(command_line(above, "-"));
  }
  for (const CommandSpec& command : path.back()->commands) {
    if (!command.hidden) {
      pages.push_back(command_line(path, "-") + "-" + command.name);
    }
  }
  for (std::string& page : pages) {
    page = "\\fB" + roff(page) + "\\fR(1)";
  }
  return ".SH SEE ALSO\n" + join(pages, ",\n") + "\n";
}

}  // namespace

std::string man_page(const CommandPath& path, const std::string& version) {
  const CommandSpec& command = *path.back();
  std::string text = fmt::format(".TH {} 1 \"\" \"dfsim {}\" \"dfsim manual\"\n",
                                 roff(capitals(command_line(path, "-"))), roff(version));
  text +=
      fmt::format(".SH NAME\n{} \\- {}\n", roff(command_line(path, "-")), roff(command.summary));
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n", roff(usage_line(path)));
  text += man_commands(path);
  text += man_options(options_at(path));
  if (!command.footer.empty()) {
    text += ".SH NOTES\n.nf\n" + roff(command.footer) + "\n.fi\n";
  }
  text += man_examples(command);
  text +=
      ".SH EXIT STATUS\n0 when all went well, 1 when the work failed, 2 for bad usage or bad "
      "input.\n";
  return text + man_see_also(path);
}

}  // namespace dfsim::cli
