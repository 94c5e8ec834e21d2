// Lays out tables for terminals. A table that is too wide shrinks its widest column until it
// fits, and cells continue below where columns wrap. Widths are counted in code points, colours
// not at all.
#include "base/text_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/check.h"

namespace dfsim::inline base {
namespace {

constexpr size_t kGap = 2;           // blanks between columns
constexpr size_t kNarrowGap = 1;     // where they would not fit
constexpr size_t kGoodColumn = 20;   // columns move closer before they are shortened below this
constexpr size_t kLeastColumn = 8;   // columns are not shortened below this
constexpr size_t kLeastWidth = 40;   // narrower terminals get long lines
constexpr size_t kUsualWidth = 80;   // when the width is unknown
constexpr size_t kGoodWrapped = 28;  // the same of columns that wrap
constexpr size_t kMostHanging = 24;  // labels are no longer than this

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

size_t display_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

// Byte offset of code point `n` of `text`.
size_t byte_offset(std::string_view text, size_t n) {
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

// The cell in lines of at most `width`; those behind the first are two columns deeper than it.
std::vector<std::string> wrapped(std::string_view cell, size_t width) {
  std::vector<std::string> lines;
  const size_t begin = std::min(cell.find_first_not_of(' '), cell.size());
  const std::string deeper(std::min(begin + 2, width / 2), ' ');
  std::string start;
  while (start.size() + display_width(cell) > width) {
    const size_t edge = byte_offset(cell, width - start.size());
    size_t end = cell.substr(0, edge).find_last_of("/._- ");
    end = end == cell.npos || end < edge / 3 ? edge : end + 1;
    lines.push_back(start + std::string(cell.substr(0, end)));
    cell.remove_prefix(end);
    start = deeper;
  }
  lines.push_back(start + std::string(cell));
  return lines;
}

// The widest part of a cell that wrapped() does not break when it has the room.
size_t longest_word(std::string_view cell) {
  size_t longest = 0;
  const size_t begin = std::min(cell.find_first_not_of(' '), cell.size());
  for (size_t at = begin; at < cell.size();) {
    const size_t separator = cell.find_first_of("/._- ", at);
    const size_t end = separator == cell.npos ? cell.size() : separator + 1;
    const bool is_first = at == begin;
    longest = std::max(longest,
                       (is_first ? begin : begin + 2) + display_width(cell.substr(at, end - at)));
    at = end;
  }
  return longest;
}

// Where a line that does not fit goes on.
size_t hanging_indent(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", begin);
  const size_t value = gap == line.npos ? line.npos : line.find_first_not_of(' ', gap);
  return value != line.npos && value <= kMostHanging ? value : begin + 2;
}

void add_fitted(std::string line, size_t width, std::string* out) {
  const size_t indent = hanging_indent(line);
  while (display_width(line) > width) {
    // The last blank before the edge, or the first behind it.
    const size_t edge = byte_offset(line, width);
    size_t blank = line.rfind(' ', edge);
    if (blank == line.npos || blank < indent) {
      blank = line.find(' ', edge);
    }
    const size_t rest = line.find_first_not_of(' ', blank);
    if (blank == line.npos || rest == line.npos) {
      break;
    }
    line.insert(rest, std::string(indent, ' '));
    out->append(line, 0, line.find_last_not_of(' ', blank) + 1);
    *out += '\n';
    line.erase(0, rest);
  }
  *out += line;
}

// Narrows the widest of `chosen` columns by one, none below `least`; false when there is none.
template <typename Chosen>
bool narrow_widest(const std::vector<TextTable::Column>& columns, size_t least,
                   const Chosen& chosen, std::vector<size_t>* widths) {
  size_t widest = columns.size();
  for (size_t c = 0; c < columns.size(); ++c) {
    if (chosen(columns[c]) && (*widths)[c] > least &&
        (widest == columns.size() || (*widths)[c] > (*widths)[widest])) {
      widest = c;
    }
  }
  if (widest == columns.size()) {
    return false;
  }
  --(*widths)[widest];
  return true;
}

// Widths of the columns in at most `room` columns of text, `gap` between them, the left-aligned
// ones no shorter than `least`; false when that cannot be.
bool fit_columns(const std::vector<TextTable::Column>& columns, size_t room, size_t gap,
                 size_t least, std::vector<size_t>* widths) {
  size_t total = gap * (columns.size() - 1);
  for (const size_t width : *widths) {
    total += width;
  }
  const auto wraps = [](const TextTable::Column& column) { return column.wrap; };
  const auto is_left = [](const TextTable::Column& column) {
    return column.align == Align::kLeft && !column.wrap;
  };
  const size_t least_wrapped = least == kGoodColumn ? kGoodWrapped : least;
  for (; total > room; --total) {
    if (!narrow_widest(columns, kGoodWrapped, wraps, widths) &&
        !narrow_widest(columns, least, is_left, widths) &&
        !narrow_widest(columns, least_wrapped, wraps, widths)) {
      return false;
    }
  }
  return true;
}

// A cell of a Markdown table.
std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '`' || c == '\\' || c == '*' || c == '_') {
      out += '\\';
    }
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

size_t text_width() {
  const char* columns = std::getenv("COLUMNS");
  if (columns != nullptr) {
    const std::string_view text = columns;
    size_t width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error == std::errc() && end == text.data() + text.size() && width >= kLeastWidth) {
      return std::min(width, kAnyWidth);
    }
  }
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col >= kLeastWidth) {
    return std::min<size_t>(size.ws_col, kAnyWidth);
  }
  return kUsualWidth;
}

std::string fit_lines(std::string_view text, size_t width) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    add_fitted(std::string(text.substr(0, end)), width, &out);
    if (end == text.size()) {
      break;
    }
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

void TextTable::add_row(std::vector<std::string> cells) {
  DFSIM_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::drop_empty_columns() {
  for (size_t c = columns_.size(); c-- > 0;) {
    const auto empty = [c](const auto& row) { return row[c] == "-" || row[c].empty(); };
    if (!rows_.empty() && std::all_of(rows_.begin(), rows_.end(), empty)) {
      drop_column(c);
    }
  }
}

void TextTable::drop_column(size_t column) {
  columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(column));
  for (auto& row : rows_) {
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

bool TextTable::breaks_words(const std::vector<size_t>& widths) const {
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].wrap && std::ranges::any_of(rows_, [&](const auto& row) {
          return display_width(row[c]) > widths[c] && longest_word(row[c]) > widths[c];
        })) {
      return true;
    }
  }
  return false;
}

std::string TextTable::render(size_t max_width, size_t indent) const {
  std::vector<size_t> full;
  for (size_t c = 0; c < columns_.size(); ++c) {
    full.push_back(display_width(columns_[c].header));
    for (const auto& row : rows_) {
      full.back() = std::max(full.back(), display_width(row[c]));
    }
  }
  const size_t room = std::min(max_width, text_width()) - indent;
  size_t gap = kGap;
  std::vector<size_t> widths = full;
  if (!fit_columns(columns_, room, gap, kGoodColumn, &widths)) {
    gap = kNarrowGap;
    widths = full;
    fit_columns(columns_, room, gap, kLeastColumn, &widths);
  }
  const auto optional =
      std::ranges::find(columns_.rbegin(), columns_.rend(), true, &Column::optional);
  if (optional != columns_.rend() && breaks_words(widths)) {
    TextTable narrower = *this;
    narrower.drop_column(static_cast<size_t>(columns_.rend() - optional) - 1);
    return narrower.render(max_width, indent);
  }

  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::vector<std::vector<std::string>> cells(columns_.size());
    size_t lines = 1;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].wrap) {
        cells[c] = wrapped(cell_of(c), widths[c]);
      } else {
        cells[c] = {shortened(cell_of(c), widths[c])};
      }
      lines = std::max(lines, cells[c].size());
    }
    for (size_t l = 0; l < lines; ++l) {
      std::string line(indent, ' ');
      for (size_t c = 0; c < columns_.size(); ++c) {
        line += c > 0 ? std::string(gap, ' ') : "";
        line += padded(l < cells[c].size() ? cells[c][l] : "", widths[c], columns_[c].align);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
  };
  add_line([&](size_t c) { return columns_[c].header; });
  add_line([&](size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : rows_) {
    add_line([&](size_t c) { return row[c]; });
  }
  return out;
}

std::string TextTable::markdown() const {
  std::string out = "|";
  for (const Column& column : columns_) {
    out += ' ' + markdown_cell(column.header) + " |";
  }
  out += "\n|";
  for (const Column& column : columns_) {
    out += column.align == Align::kRight ? " ---: |" : " --- |";
  }
  for (const auto& row : rows_) {
    out += "\n|";
    for (const std::string& cell : row) {
      out += ' ' + markdown_cell(cell) + " |";
    }
  }
  return out + '\n';
}

}  // namespace dfsim::inline base
