// TableReader: a CSV file with a header, whose columns are asked for by number.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "datasets/importers/row_sink.h"
#include "datasets/tables/csv.h"

namespace dfsim::inline datasets {

class TableReader {
 public:
  // `names` are the columns by number; others in the file are ignored. Those numbered in `required`
  // must be there. Errors: CsvReader's, an empty file, a missing column (kInvalidInput).
  static StatusOr<TableReader> open(const std::string& path,
                                    std::span<const std::string_view> names,
                                    std::span<const int> required);

  // Advances to the next sound row; rows with another number of cells than the header are dropped
  // into `sink`. False at the end. Errors: CsvReader's, and 1000 bad rows before any good one.
  StatusOr<bool> next(RowSink& sink);
  int64_t line_number() const { return csv_.line_number(); }
  std::span<const std::string> header() const { return header_; }

  // The cell of column number `column`, "" when the file does not have it.
  std::string_view cell(int column) const;
  // The cell at a position in header().
  std::string_view cell_at(size_t position) const { return csv_.fields()[position]; }
  bool has(int column) const { return positions_[static_cast<size_t>(column)] >= 0; }
  // None when the cell is not a (whole) number.
  std::optional<double> number(int column) const;
  std::optional<int64_t> integer(int column) const;

 private:
  explicit TableReader(CsvReader csv) : csv_(std::move(csv)) {}

  CsvReader csv_;
  std::vector<std::string> header_;
  std::vector<int> positions_;
};

// Why reading stops early: 1000 rows without one that can be used.
inline constexpr size_t kMostBadRows = 1000;
inline bool hopeless(const RowSink& sink) {
  return sink.added() == 0 && sink.dropped() >= kMostBadRows;
}

}  // namespace dfsim::inline datasets
