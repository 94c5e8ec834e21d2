// Reads the CSV of measured latencies. Cells records the first thing that is wrong with a row,
// so that parse_run() reads like the list of columns; the error then names file, line and
// column.
#include "datasets/profiles/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "datasets/tables/csv.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

enum RunColumn : size_t {
  kNetwork,
  kBatch,
  kDims,
  kDtype,
  kDevice,
  kRuntime,
  kRuntimeVersion,
  kTime,
  kSpread,
  kSamples,
  kOpsTime,
  kOps,
  kArena,
  kDate,
  kProvenance,
};
constexpr std::array<std::string_view, kProvenance + 1> kRunColumns = {
    "network",         "batch",   "dims",      "dtype",   "device", "runtime",
    "runtime_version", "time_ms", "spread_ms", "samples", "ops_ms", "ops",
    "arena_bytes",     "date",    "provenance"};
constexpr std::array kRequired = {kNetwork, kBatch, kDevice, kTime};
constexpr double kNsPerMs = 1e6;
constexpr double kLongestMs = 1e9;

// One row's cells by column, and what went wrong with them first.
class Cells {
 public:
  Cells(std::string place, std::array<std::string_view, kRunColumns.size()> cells)
      : place_(std::move(place)), cells_(cells) {}

  std::string text(RunColumn column) const { return std::string(trim(cells_[column])); }

  // `missing` for an empty cell; whole numbers from `least` on.
  int64_t integer(RunColumn column, int64_t least, int64_t missing) {
    const std::string_view cell = trim(cells_[column]);
    if (cell.empty()) {
      return missing;
    }
    const std::optional<int64_t> value = parse_number<int64_t>(cell);
    if (!value || *value < least) {
      complain(column, fmt::format("a whole number of at least {}", least));
      return missing;
    }
    return *value;
  }

  TimeNs time(RunColumn column, bool positive) {
    const std::string_view cell = trim(cells_[column]);
    if (cell.empty() && !positive) {
      return -1;
    }
    const std::optional<double> value = parse_number<double>(cell);
    if (!value || !std::isfinite(*value) || *value > kLongestMs || *value < 0 ||
        (positive && *value * kNsPerMs < 1)) {
      complain(column, positive ? "milliseconds above 0" : "milliseconds");
      return -1;
    }
    return static_cast<TimeNs>(std::llround(*value * kNsPerMs));
  }

  void complain(RunColumn column, std::string_view expected) {
    if (error_.empty()) {
      error_ = fmt::format("{}: column '{}': found '{}', expected {}", place_, kRunColumns[column],
                           printable(cells_[column]), expected);
    }
  }
  Status status() const { return error_.empty() ? ok_status() : invalid_input(error_); }

 private:
  std::string place_;
  std::array<std::string_view, kRunColumns.size()> cells_;
  std::string error_;
};

// Positions of kRunColumns in the header, -1 for those that are not there.
StatusOr<std::array<int, kRunColumns.size()>> read_runs_header(const CsvReader& reader) {
  const std::string place = fmt::format("{}:{}", reader.path(), reader.line_number());
  std::array<int, kRunColumns.size()> positions{};
  positions.fill(-1);
  int position = 0;
  for (const std::string_view cell : reader.fields()) {
    const auto* const it = std::find(kRunColumns.begin(), kRunColumns.end(), trim(cell));
    if (it == kRunColumns.end()) {
      return invalid_input(
          fmt::format("{}: not a runs file: {}", place,
                      unknown_name_message("column", printable(cell),
                                           {kRunColumns.begin(), kRunColumns.end()})));
    }
    int& slot = positions[static_cast<size_t>(it - kRunColumns.begin())];
    if (slot >= 0) {
      return invalid_input(fmt::format("{}: column '{}' is there twice", place, *it));
    }
    slot = position++;
  }
  for (const RunColumn column : kRequired) {
    if (positions[column] < 0) {
      return invalid_input(
          fmt::format("{}: not a runs file: column '{}' is missing; docs/"
                      "validation.md has all of them",
                      place, kRunColumns[column]));
    }
  }
  return positions;
}

StatusOr<NetworkRun> parse_run(Cells cells, int64_t line) {
  NetworkRun run;
  run.line = line;
  run.network = cells.text(kNetwork);
  run.device = cells.text(kDevice);
  for (const RunColumn column : {kNetwork, kDevice}) {
    if (cells.text(column).empty()) {
      cells.complain(column, "a name");
    }
  }
  run.batch = cells.integer(kBatch, 1, 0);
  if (run.batch == 0) {
    cells.complain(kBatch, "a whole number of at least 1");
  }
  if (const std::string dims = cells.text(kDims); !dims.empty()) {
    run.dims = split(dims, ';');
  }
  if (const std::string dtype = cells.text(kDtype); !dtype.empty()) {
    run.dtype = dtype_from_name(dtype);
    if (run.dtype == DType::kUnknown) {
      cells.complain(kDtype, "a type such as float32");
    }
  }
  run.runtime = cells.text(kRuntime);
  run.runtime_version = cells.text(kRuntimeVersion);
  run.time_ns = cells.time(kTime, true);
  run.spread_ns = cells.time(kSpread, false);
  run.samples = cells.integer(kSamples, 0, 0);
  run.ops_ns = cells.time(kOpsTime, false);
  run.ops = cells.integer(kOps, 0, -1);
  run.arena_bytes = cells.integer(kArena, 0, -1);
  run.date = cells.text(kDate);
  run.provenance = cells.text(kProvenance);
  DFSIM_RETURN_IF_ERROR(cells.status());
  return run;
}

}  // namespace

StatusOr<std::vector<NetworkRun>> read_runs(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::open(path));
  DFSIM_ASSIGN_OR_RETURN(CsvReader::Record record, reader.next());
  if (record != CsvReader::Record::kFields) {
    return invalid_input(fmt::format("{}: not a runs file: no header line", path));
  }
  DFSIM_ASSIGN_OR_RETURN(const auto positions, read_runs_header(reader));
  const size_t columns = reader.fields().size();
  std::vector<NetworkRun> runs;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(record, reader.next());
    if (record == CsvReader::Record::kEnd) {
      break;
    }
    const std::string place = fmt::format("{}:{}", path, reader.line_number());
    if (record == CsvReader::Record::kBadQuotes || reader.fields().size() != columns) {
      return invalid_input(fmt::format("{}: found {}, expected {} columns", place,
                                       record == CsvReader::Record::kBadQuotes
                                           ? "a quoted field without an end"
                                           : fmt::format("{} columns", reader.fields().size()),
                                       columns));
    }
    std::array<std::string_view, kRunColumns.size()> cells;
    for (size_t i = 0; i < kRunColumns.size(); ++i) {
      cells[i] = positions[i] < 0 ? "" : reader.fields()[static_cast<size_t>(positions[i])];
    }
    DFSIM_ASSIGN_OR_RETURN(NetworkRun run, parse_run(Cells(place, cells), reader.line_number()));
    runs.push_back(std::move(run));
  }
  if (runs.empty()) {
    return invalid_input(fmt::format("{}: no run below the header", path));
  }
  return runs;
}

}  // namespace dfsim::inline datasets
