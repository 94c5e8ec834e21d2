// colored() looks at whole lines: reports have few forms, and no renderer needs to know of colours
// or to count the width of what cannot be seen.
#include "cli/terminal_text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/io/file.h"

namespace dfsim::cli {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kCyan = "\x1b[36m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr size_t kMostLabel = 24;

bool color_on_stdout = false;
bool color_on_stderr = false;

bool terminal_takes_colors(int file) {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  // mpirun gives each process a terminal of its own and collects what it prints.
  const bool is_collected = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
  return ::isatty(file) != 0 && !is_collected && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

std::string in_color(std::string_view text, std::string_view color) {
  return std::string(color) + std::string(text) + std::string(kPlain);
}

// The line of dashes below a table's header.
bool is_rule(std::string_view line) {
  return line.find('-') != line.npos && line.find_first_not_of("- ") == line.npos;
}

bool is_warning(std::string_view line) {
  return line.starts_with("INCOMPLETE: ") || line.starts_with("DOES NOT FIT: ");
}

// Length of "  label  " in front of a value; 0 for other lines.
size_t label_length(std::string_view line) {
  if (!line.starts_with("  ") || line.size() < 4 || line[2] == ' ') {
    return 0;
  }
  const size_t gap = line.find("  ", 2);
  const size_t value = gap == line.npos ? line.npos : line.find_first_not_of(' ', gap);
  return value != line.npos && value <= kMostLabel ? gap : 0;
}

// Every "≥ 12 ms" of a line.
std::string with_limits(std::string_view line) {
  std::string out;
  constexpr std::string_view kSign = "≥";
  for (size_t at = line.find(kSign); at != line.npos; at = line.find(kSign)) {
    out += line.substr(0, at);
    out += in_color(kSign, kYellow);
    line.remove_prefix(at + kSign.size());
  }
  return out + std::string(line);
}

// Text that a report laid out for a person: its first line has words, or heads a table. JSON, XML,
// Markdown and CSV begin otherwise.
bool is_report(std::string_view text) {
  if (text.empty() || std::string_view("{[<|*#").find(text.front()) != std::string_view::npos) {
    return false;
  }
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view second = text.substr(std::min(end + 1, text.size()));
  return text.substr(0, end).find(' ') != std::string_view::npos ||
         is_rule(second.substr(0, second.find('\n')));
}

}  // namespace

void choose_color(const std::string& when) {
  color_on_stdout = when == "always" || (when == "auto" && terminal_takes_colors(STDOUT_FILENO));
  color_on_stderr = when == "always" || (when == "auto" && terminal_takes_colors(STDERR_FILENO));
}

bool colors_errors() { return color_on_stderr; }

std::string colored(std::string_view text) {
  if (!is_report(text)) {
    return std::string(text);
  }
  std::string out;
  bool is_first = true;
  bool in_table = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view next = text.substr(0, text.find('\n'));
    if (is_warning(line)) {
      out += in_color(line, kRed);
    } else if (is_rule(line)) {
      out += in_color(line, kDim);
      in_table = true;
    } else if (is_rule(next) || (is_first && !line.empty())) {
      out += in_color(line, kBold);
      is_first = false;
    } else if (const size_t label = in_table ? 0 : label_length(line); label > 0) {
      out += in_color(line.substr(0, label), kCyan) + with_limits(line.substr(label));
    } else {
      out += with_limits(line);
    }
    in_table = in_table && !line.empty();
    out += '\n';
  }
  return out;
}

Status write_result(const std::string& path, const std::string& content) {
  return path == "-" && color_on_stdout ? write_file(path, colored(content))
                                        : write_file(path, content);
}

}  // namespace dfsim::cli
