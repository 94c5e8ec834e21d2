#include "datasets/tables/table_reader.h"

#include <fmt/format.h>

#include "base/text.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {

StatusOr<TableReader> TableReader::open(const std::string& path,
                                        std::span<const std::string_view> names,
                                        std::span<const int> required) {
  DFSIM_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::open(path));
  DFSIM_ASSIGN_OR_RETURN(const CsvReader::Record record, csv.next());
  if (record == CsvReader::Record::kEnd) {
    return invalid_input(fmt::format("{}: is empty, expected a CSV header", path));
  }
  if (record == CsvReader::Record::kBadQuotes) {
    return invalid_input(fmt::format("{}:1: a quoted field has no end", path));
  }
  TableReader table(std::move(csv));
  table.positions_ = find_columns(table.csv_.fields(), names);
  for (const std::string_view name : table.csv_.fields()) {
    table.header_.emplace_back(trim(name));
  }
  for (const int column : required) {
    if (!table.has(column)) {
      const std::string_view name = names[static_cast<size_t>(column)];
      const std::string nearest = nearest_name(name, table.header_);
      return invalid_input(fmt::format(
          "{}: column '{}' is missing{}; is this file of the named format?", path, name,
          nearest.empty() ? "" : fmt::format(" (the nearest is '{}')", printable(nearest))));
    }
  }
  return table;
}

StatusOr<bool> TableReader::next(RowSink& sink) {
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const CsvReader::Record record, csv_.next());
    if (record == CsvReader::Record::kEnd) {
      return false;
    }
    if (hopeless(sink)) {
      return invalid_input(
          fmt::format("{}: none of the first {} rows can be used; is this file of "
                      "the named format?",
                      csv_.path(), sink.dropped()));
    }
    if (record == CsvReader::Record::kBadQuotes) {
      sink.drop(line_number(), DropReason::kMalformed, "a quoted field has no end");
    } else if (csv_.fields().size() != header_.size()) {
      sink.drop(line_number(), DropReason::kMalformed,
                fmt::format("{} columns, expected {}", csv_.fields().size(), header_.size()));
    } else {
      return true;
    }
  }
}

std::string_view TableReader::cell(int column) const {
  const int position = positions_[static_cast<size_t>(column)];
  return position < 0 ? std::string_view() : trim(csv_.fields()[static_cast<size_t>(position)]);
}

std::optional<double> TableReader::number(int column) const {
  return parse_number<double>(cell(column));
}

std::optional<int64_t> TableReader::integer(int column) const {
  const auto value = number(column);
  if (!value.has_value() || !(std::abs(*value) < 9e15) ||
      *value != static_cast<double>(static_cast<int64_t>(*value))) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*value);
}

}  // namespace dfsim::inline datasets
