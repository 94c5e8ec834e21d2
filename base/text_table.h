// Plain text tables for terminals: aligned columns, a header rule, fits a given width.
#pragma once

#include <string>
#include <vector>

namespace dfsim {

enum class Align { kLeft, kRight };

// Rows of cells under headers. Width counts UTF-8 code points. When the table is wider than
// `max_width`, the widest left-aligned column is shortened with "..." in its middle.
class TextTable {
 public:
  struct Column {
    std::string header;
    Align align = Align::kLeft;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // `cells` has one entry per column.
  void add_row(std::vector<std::string> cells);
  // Every line ends with '\n' and has no trailing blanks; `indent` blanks come first.
  std::string render(size_t max_width = 100, size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dfsim
