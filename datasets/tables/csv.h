// CSV records (RFC 4180 with quoted fields inside one line), streamed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/text_file.h"
#include "base/status.h"

namespace dfsim::inline datasets {

// Splits one line at commas outside quotes; a doubled quote in a quoted field is one quote. The
// views point into `line` or `scratch`. False when a quoted field does not end, or text follows
// one.
bool split_csv_line(std::string_view line, std::string* scratch,
                    std::vector<std::string_view>* fields);

class CsvReader {
 public:
  static StatusOr<CsvReader> open(const std::string& path,
                                  size_t max_line_bytes = LineReader::kDefaultMaxLineBytes);

  enum class Record {
    kEnd,
    kFields,
    kBadQuotes,  // fields() is empty
  };
  // Advances to the next line that is not blank. A byte order mark is skipped. Errors:
  // LineReader's.
  StatusOr<Record> next();
  // The record's cells, valid until the next call.
  std::span<const std::string_view> fields() const { return fields_; }
  int64_t line_number() const { return lines_.line_number(); }
  const std::string& path() const { return lines_.path(); }

 private:
  explicit CsvReader(LineReader lines) : lines_(std::move(lines)) {}

  LineReader lines_;
  std::string scratch_;
  std::vector<std::string_view> fields_;
};

// Quotes `cell` when it needs it and appends it to `out`.
void append_csv_cell(std::string_view cell, std::string* out);

// Where the named columns are in a header: positions[i] is that of names[i], or -1.
// Cells are compared without blanks at their ends.
std::vector<int> find_columns(std::span<const std::string_view> header,
                              std::span<const std::string_view> names);

}  // namespace dfsim::inline datasets
