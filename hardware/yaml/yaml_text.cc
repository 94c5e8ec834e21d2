// A scan of the bytes before yaml-cpp sees them. yaml-cpp recurses on nested brackets and needs
// quadratic time on some of them, so depth and size are bounded here; the scan knows just enough
// of quotes and comments never to undercount depth.
#include "hardware/yaml/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace dfsim::inline hardware {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

// Walks one line at a time and keeps the bracket depth across lines. Quotes are followed only
// within a line: a bracket inside a quoted text of several lines may be counted, which can refuse a
// strange file but never lets a deep one through unseen by the parser's own limit.
class TextChecker {
 public:
  explicit TextChecker(const std::string& file) : file_(file) {}

  Status check_line(std::string_view line) {
    ++line_;
    const size_t indent = std::min(line.find_first_not_of(" \t\r"), line.size());
    if (indent == line.size() || line[indent] == '#') {
      return check_bytes(line);
    }
    has_content_ = true;
    DFSIM_RETURN_IF_ERROR(check_bytes(line));
    if (const size_t tab = line.substr(0, indent).find('\t'); tab != std::string_view::npos) {
      return error(tab, "found a tab, expected blanks to indent; replace it by blanks");
    }
    DFSIM_RETURN_IF_ERROR(check_dashes(line.substr(indent), indent));
    return check_brackets(line);
  }
  bool has_content() const { return has_content_; }

 private:
  Status error(size_t column, std::string_view message) const {
    return yaml_error(file_, {line_, static_cast<int>(column) + 1}, message);
  }
  Status check_bytes(std::string_view line) const {
    const auto it = std::find_if(line.begin(), line.end(), is_control);
    if (it != line.end()) {
      return error(static_cast<size_t>(it - line.begin()),
                   fmt::format("found the byte 0x{:02x}, expected text; give a YAML file",
                               static_cast<unsigned char>(*it)));
    }
    std::string body(line);
    std::replace_if(
        body.begin(), body.end(), [](char c) { return c == '\t' || c == '\r'; }, ' ');
    if (printable(body, body.size()) != body) {
      return error(0, "found bytes that are not UTF-8, expected text; give a YAML file in UTF-8");
    }
    return ok_status();
  }
  Status check_dashes(std::string_view rest, size_t column) const {
    int depth = 0;
    while (rest.size() >= 2 && std::string_view("-?:").find(rest[0]) != std::string_view::npos &&
           rest[1] == ' ') {
      if (++depth > kMaxYamlDepth) {
        return error(column, too_deep());
      }
      const size_t skip = std::min(rest.find_first_not_of(' ', 1), rest.size());
      rest.remove_prefix(skip);
      column += skip;
    }
    return ok_status();
  }
  Status check_brackets(std::string_view line) {
    char quote = '\0';
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quote != '\0') {
        i += quote == '"' && c == '\\' ? 1 : 0;
        quote = c == quote ? '\0' : quote;
      } else if (c == '#' && (i == 0 || line[i - 1] == ' ')) {
        break;
      } else if ((c == '"' || c == '\'') && starts_value(line, i)) {
        quote = c;
      } else if (c == '[' || c == '{') {
        if (++depth_ > kMaxYamlDepth) {
          return error(i, too_deep());
        }
      } else if ((c == ']' || c == '}') && depth_ > 0) {
        --depth_;
      }
    }
    return ok_status();
  }
  // An apostrophe inside a plain text opens no quotes.
  static bool starts_value(std::string_view line, size_t at) {
    return at == 0 || std::string_view(" ,:[{").find(line[at - 1]) != std::string_view::npos;
  }
  static std::string too_deep() {
    return fmt::format(
        "found more than {} nested levels, expected at most that; remove the nesting",
        kMaxYamlDepth);
  }

  const std::string& file_;
  int line_ = 0;
  int depth_ = 0;
  bool has_content_ = false;
};

}  // namespace

Status yaml_error(const std::string& file, YamlPlace place, std::string_view message) {
  return invalid_input(fmt::format("{}:{}:{}: {}", file, place.line, place.column, message));
}

Status check_yaml_text(std::string_view text, const std::string& file, std::string_view page) {
  if (static_cast<int64_t>(text.size()) > kMaxYamlBytes) {
    return invalid_input(fmt::format("{}: found {}, expected at most {}; give a hardware file",
                                     file, format_bytes(static_cast<Bytes>(text.size())),
                                     format_bytes(kMaxYamlBytes)));
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") {
    text.remove_prefix(3);
  }
  TextChecker checker(file);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    DFSIM_RETURN_IF_ERROR(checker.check_line(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!checker.has_content()) {
    return yaml_error(file, YamlPlace{},
                      fmt::format("found nothing, expected settings; see {}", page));
  }
  return ok_status();
}

}  // namespace dfsim::inline hardware
