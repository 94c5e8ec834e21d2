#include "base/text_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/check.h"

namespace dfsim {
namespace {

constexpr size_t kGap = 2;          // blanks between columns
constexpr size_t kLeastColumn = 8;  // columns are not shortened below this

// Columns of the reader's terminal: COLUMNS, or what stdout says if it is one; SIZE_MAX when nobody
// tells.
size_t terminal_width() {
  constexpr size_t kLeast = 40;
  const char* columns = std::getenv("COLUMNS");
  if (columns != nullptr) {
    const std::string_view text = columns;
    size_t width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error == std::errc() && end == text.data() + text.size() && width >= kLeast) {
      return width;
    }
  }
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col >= kLeast) {
    return size.ws_col;
  }
  return SIZE_MAX;
}

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

size_t display_width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

// Byte offset of code point `n` of `text`.
size_t byte_offset(const std::string& text, size_t n) {
  size_t offset = 0;
  while (offset < text.size() && (n > 0 || !starts_code_point(text[offset]))) {
    n -= starts_code_point(text[offset]) ? 1 : 0;
    ++offset;
  }
  return offset;
}

std::string shortened(const std::string& text, size_t width) {
  const size_t have = display_width(text);
  if (have <= width) {
    return text;
  }
  const size_t tail = (width - 3) * 2 / 3;  // the end of a layer's name tells more than its start
  const size_t head = width - 3 - tail;
  return text.substr(0, byte_offset(text, head)) + "..." +
         text.substr(byte_offset(text, have - tail));
}

std::string padded(const std::string& text, size_t width, Align align) {
  const size_t have = display_width(text);
  const std::string blanks(width > have ? width - have : 0, ' ');
  return align == Align::kLeft ? text + blanks : blanks + text;
}

}  // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  DFSIM_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::render(size_t max_width, size_t indent) const {
  std::vector<size_t> widths;
  size_t total = indent;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = display_width(columns_[c].header);
    for (const auto& row : rows_) {
      width = std::max(width, display_width(row[c]));
    }
    widths.push_back(width);
    total += width + (c > 0 ? kGap : 0);
  }
  max_width = std::min(max_width, terminal_width());
  while (total > max_width) {
    size_t widest = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].align == Align::kLeft && widths[c] > kLeastColumn &&
          (widest == columns_.size() || widths[c] > widths[widest])) {
        widest = c;
      }
    }
    if (widest == columns_.size()) {
      break;
    }
    --widths[widest];
    --total;
  }

  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line(indent, ' ');
    for (size_t c = 0; c < columns_.size(); ++c) {
      line += c > 0 ? std::string(kGap, ' ') : "";
      line += padded(shortened(cell_of(c), widths[c]), widths[c], columns_[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line([&](size_t c) { return columns_[c].header; });
  add_line([&](size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : rows_) {
    add_line([&](size_t c) { return row[c]; });
  }
  return out;
}

}  // namespace dfsim
