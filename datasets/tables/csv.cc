// Splits lines at commas in place; only quoted fields are copied, into a scratch buffer that
// lives as long as the record.
#include "datasets/tables/csv.h"

#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Appends the quoted field that starts behind the quote at `line[pos]` to `scratch` and moves `pos`
// behind its closing quote; false when there is none.
bool unquote(std::string_view line, size_t* pos, std::string* scratch) {
  size_t i = *pos + 1;
  while (true) {
    const size_t quote = line.find('"', i);
    if (quote == std::string_view::npos) {
      return false;
    }
    scratch->append(line, i, quote - i);
    if (quote + 1 < line.size() && line[quote + 1] == '"') {
      scratch->push_back('"');
      i = quote + 2;
      continue;
    }
    *pos = quote + 1;
    return true;
  }
}

}  // namespace

bool split_csv_line(std::string_view line, std::string* scratch,
                    std::vector<std::string_view>* fields) {
  fields->clear();
  scratch->clear();
  scratch->reserve(line.size());  // views into it must not move
  size_t pos = 0;
  while (true) {
    if (pos < line.size() && line[pos] == '"') {
      const size_t start = scratch->size();
      if (!unquote(line, &pos, scratch) || (pos < line.size() && line[pos] != ',')) {
        fields->clear();
        return false;
      }
      fields->push_back(std::string_view(*scratch).substr(start));
    } else {
      const size_t comma = std::min(line.find(',', pos), line.size());
      fields->push_back(line.substr(pos, comma - pos));
      pos = comma;
    }
    if (pos >= line.size()) {
      return true;
    }
    ++pos;  // the comma; a field follows even at the end of the line
  }
}

StatusOr<CsvReader> CsvReader::open(const std::string& path, size_t max_line_bytes) {
  DFSIM_ASSIGN_OR_RETURN(LineReader lines, LineReader::open(path, max_line_bytes));
  return CsvReader(std::move(lines));
}

StatusOr<CsvReader::Record> CsvReader::next() {
  std::string_view line;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, lines_.next(&line));
    if (!more) {
      fields_.clear();
      return Record::kEnd;
    }
    if (line_number() == 1 && line.starts_with(kByteOrderMark)) {
      line.remove_prefix(kByteOrderMark.size());
    }
    if (!trim(line).empty()) {
      break;
    }
  }
  return split_csv_line(line, &scratch_, &fields_) ? Record::kFields : Record::kBadQuotes;
}

void append_csv_cell(std::string_view cell, std::string* out) {
  if (cell.find_first_of(",\"\n\r") == std::string_view::npos) {
    out->append(cell);
    return;
  }
  out->push_back('"');
  for (const char c : cell) {
    if (c == '"') {
      out->push_back('"');
    }
    out->push_back(c == '\n' || c == '\r' ? ' ' : c);
  }
  out->push_back('"');
}

std::vector<int> find_columns(std::span<const std::string_view> header,
                              std::span<const std::string_view> names) {
  std::vector<int> positions(names.size(), -1);
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t j = 0; j < header.size(); ++j) {
      if (trim(header[j]) == names[i]) {
        positions[i] = static_cast<int>(j);
        break;
      }
    }
  }
  return positions;
}

}  // namespace dfsim::inline datasets
