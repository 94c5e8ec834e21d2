#include "cli/help_format.h"

#include <algorithm>
#include <sstream>

#include "base/text_table.h"

namespace dfsim::cli {
namespace {

constexpr size_t kNames = 30;  // columns of the options' names, before their descriptions

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNames); }

  std::string make_option_desc(const CLI::Option* option) const override {
    return described(option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             described(command->get_description()), kNames);
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
    const size_t room = text_width() - kNames;
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

}  // namespace

std::shared_ptr<CLI::Formatter> make_help_formatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace dfsim::cli
