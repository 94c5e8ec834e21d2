// Reading decides between CSV and JSON Lines by the first byte of the (unpacked) content and
// streams rows into a sink. A file of which all rows are unusable is an error that shows the
// first reasons, since an empty profile would only fail later and say less.
#include "datasets/profiles/profile_io.h"

#include <fmt/format.h>

#include "base/io/text_file.h"
#include "base/text.h"
#include "datasets/profiles/profile_columns.h"
#include "datasets/profiles/profile_jsonl.h"
#include "datasets/tables/csv.h"
#include "datasets/tables/table_reader.h"

namespace dfsim::inline datasets {
namespace {

constexpr size_t kWriteChunkBytes = size_t{1} << 18;

// Maps the header's cells to columns. Errors: unknown, repeated or missing names.
StatusOr<std::vector<int>> read_header(const CsvReader& reader) {
  std::vector<int> columns;
  std::array<bool, kProfileColumnCount> seen{};
  const std::string place = fmt::format("{}:{}", reader.path(), reader.line_number());
  for (const std::string_view name : reader.fields()) {
    const int column = find_profile_column(name);
    if (column < 0) {
      return invalid_input(fmt::format(
          "{}: not a profile: {}; other tools' files are converted with 'dfsim profiles import'",
          place, unknown_name_message("column", name, profile_column_names())));
    }
    if (std::exchange(seen[static_cast<size_t>(column)], true)) {
      return invalid_input(fmt::format("{}: column '{}' is there twice", place, name));
    }
    columns.push_back(column);
  }
  for (size_t i = 0; i < kProfileColumnCount; ++i) {
    if (profile_columns()[i].required && !seen[i]) {
      return invalid_input(fmt::format("{}: not a profile: column '{}' is missing", place,
                                       profile_columns()[i].name));
    }
  }
  return columns;
}

Status give_up(const RowSink& sink, const DropReport& drops) {
  const std::string first =
      drops.entries().empty()
          ? ""
          : fmt::format("; first: row {}: {}", drops.entries()[0].row, drops.entries()[0].message);
  return invalid_input(
      fmt::format("{}: no usable row among {}{}", sink.file(), sink.dropped(), first));
}

Status read_csv(const std::string& path, RowSink& sink, const DropReport& drops) {
  DFSIM_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::open(path));
  DFSIM_ASSIGN_OR_RETURN(CsvReader::Record record, reader.next());
  if (record == CsvReader::Record::kBadQuotes) {
    return invalid_input(fmt::format("{}:1: not a profile: a quoted field has no end", path));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::vector<int> columns, read_header(reader));
  ProfileRowParser parser(sink);
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(record, reader.next());
    if (record == CsvReader::Record::kEnd) {
      return ok_status();
    }
    const auto cells = reader.fields();
    if (record == CsvReader::Record::kBadQuotes) {
      sink.drop(reader.line_number(), DropReason::kMalformed, "a quoted field has no end");
    } else if (cells.size() != columns.size()) {
      sink.drop(reader.line_number(), DropReason::kMalformed,
                fmt::format("{} columns, expected {}", cells.size(), columns.size()));
    } else {
      ProfileCells row;
      for (size_t i = 0; i < cells.size(); ++i) {
        row[static_cast<size_t>(columns[i])] = cells[i];
      }
      parser.add(row, reader.line_number());
    }
    if (hopeless(sink)) {
      return give_up(sink, drops);
    }
  }
}

Status read_jsonl(const std::string& path, RowSink& sink, const DropReport& drops) {
  DFSIM_ASSIGN_OR_RETURN(LineReader lines, LineReader::open(path));
  ProfileRowParser parser(sink);
  ProfileLineParser json;
  std::string_view line;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, lines.next(&line));
    if (!more) {
      return ok_status();
    }
    if (line.find_first_not_of(" \t") == std::string_view::npos) {
      continue;
    }
    ProfileCells cells;
    std::string problem = json.parse(line, &cells);
    if (problem.empty()) {
      parser.add(cells, lines.line_number());
    } else {
      sink.drop(lines.line_number(), DropReason::kMalformed, std::move(problem));
    }
    if (hopeless(sink)) {
      return give_up(sink, drops);
    }
  }
}

// "" when the file is empty.
StatusOr<std::string> first_line(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(LineReader lines, LineReader::open(path));
  std::string_view line;
  while (line.find_first_not_of(" \t") == std::string_view::npos) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, lines.next(&line));
    if (!more) {
      return std::string();
    }
  }
  return std::string(line);
}

}  // namespace

StatusOr<Profile> read_profile(const std::string& path, DropReport* drops) {
  DFSIM_ASSIGN_OR_RETURN(const std::string first, first_line(path));
  if (first.empty()) {
    return invalid_input(fmt::format("{}: is empty, expected a profile", path));
  }
  Profile profile;
  DropReport own;
  RowSink sink(profile, &own, path);
  const bool json = first[first.find_first_not_of(" \t")] == '{';
  DFSIM_RETURN_IF_ERROR(json ? read_jsonl(path, sink, own) : read_csv(path, sink, own));
  if (profile.empty()) {
    return own.total() > 0 ? give_up(sink, own)
                           : invalid_input(fmt::format("{}: has a header but no rows", path));
  }
  drops->merge(own);
  return profile;
}

StatusOr<Profile> read_profiles(std::span<const std::string> paths, DropReport* drops) {
  Profile all;
  for (const std::string& path : paths) {
    DFSIM_ASSIGN_OR_RETURN(Profile profile, read_profile(path, drops));
    if (all.empty()) {
      all = std::move(profile);
    } else {
      all.append(profile);
    }
  }
  return all;
}

Status write_profile(const Profile& profile, const std::string& path) {
  const bool json =
      path.ends_with(".jsonl") || path.ends_with(".jsonl.gz") || path.ends_with(".jsonl.xz");
  DFSIM_ASSIGN_OR_RETURN(TextWriter writer, TextWriter::open(path));
  std::string out;
  if (!json) {
    out = join(profile_column_names(), ",") + "\n";
  }
  std::string cell;
  for (const ProfileRow& row : profile.rows()) {
    if (json) {
      append_profile_line(profile, row, &out);
    } else {
      for (size_t i = 0; i < kProfileColumnCount; ++i) {
        cell.clear();
        append_cell(profile, row, static_cast<ProfileColumn>(i), &cell);
        if (i > 0) {
          out += ',';
        }
        append_csv_cell(cell, &out);
      }
    }
    out += '\n';
    if (out.size() > kWriteChunkBytes) {
      DFSIM_RETURN_IF_ERROR(writer.append(out));
      out.clear();
    }
  }
  DFSIM_RETURN_IF_ERROR(writer.append(out));
  return writer.close();
}

void drop_impossible(Profile& profile, const BoundFn& bound_ns, std::string_view file,
                     DropReport* drops) {
  std::vector<bool> keep(profile.size(), true);
  for (size_t i = 0; i < profile.size(); ++i) {
    const ProfileRow& row = profile.row(i);
    const double bound = bound_ns(profile, row);
    if (static_cast<double>(row.time_ns) < bound / 2) {
      keep[i] = false;
      drops->add(
          file, row.source_row, DropReason::kImpossible,
          fmt::format("{} takes {} ns on {}, expected at least half of its bound of {:.0f} ns",
                      profile.text(row.op_type), row.time_ns, profile.text(row.device), bound));
    }
  }
  profile.filter(keep);
}

}  // namespace dfsim::inline datasets
