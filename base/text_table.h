// Plain text for terminals: tables (aligned columns, a header rule) and lines that fit a width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dfsim::inline base {

// Columns that text for people takes: COLUMNS or those of the terminal that stdout is, from 40 to
// 1000; 80 when neither is known.
size_t text_width();

// Breaks lines of more than `width` columns at blanks. A line goes on below where its value begins
// ("  label     value"), or two columns deeper than it begins. Words are never broken. O(text).
std::string fit_lines(std::string_view text, size_t width = text_width());

enum class Align { kLeft, kRight };

inline constexpr size_t kAnyWidth = 1000;

// Rows of cells under headers. Width counts UTF-8 code points. When the table is wider than
// `max_width` or text_width(), cells of `wrap` columns go on in the next line, first behind a '/',
// '.', '_', '-' or blank; then the widest left-aligned column is shortened with "..." in its
// middle; when that is not enough, columns move closer together.
class TextTable {
 public:
  struct Column {
    std::string header;
    Align align = Align::kLeft;
    bool wrap = false;      // names that must stay whole; for left-aligned columns
    bool optional = false;  // left out, the last first, where words of names would be broken
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // `cells` has one entry per column.
  void add_row(std::vector<std::string> cells);
  // Leaves out columns where every row has "-" or nothing.
  void drop_empty_columns();
  // Every line ends with '\n' and has no trailing blanks; `indent` blanks come first.
  std::string render(size_t max_width = kAnyWidth, size_t indent = 0) const;
  // A table of GitHub's Markdown; whole cells, with '|', '<' and '`' escaped.
  std::string markdown() const;

 private:
  void drop_column(size_t column);
  // Whether names in columns of these widths go on in the middle of a word.
  bool breaks_words(const std::vector<size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dfsim::inline base
