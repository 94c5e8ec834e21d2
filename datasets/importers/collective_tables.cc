// Two tables with the same content under different names; the header decides which of the two a
// file is. Sizes in elements become bytes through the type's width, and each row records whether
// all of its devices were in one node.
#include "datasets/importers/collective_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

#include "base/text.h"
#include "datasets/tables/csv.h"

namespace dfsim::inline datasets {
namespace fs = std::filesystem;

namespace collective_columns {
namespace {

// The columns of a table: what it calls operation, type, devices, devices per node, size and time.
enum Column : size_t { kOperation, kType, kDevices, kPerNode, kSize, kTime, kColumns };
using Names = std::array<std::string_view, kColumns>;

constexpr Names kAiconfigurator = {"op_name",  "nccl_dtype",   "num_gpus",
                                   "num_gpus", "message_size", "latency"};
constexpr std::string_view kTimePrefix = "time_stats.";
constexpr std::string_view kTimeSuffix = ".median";
constexpr std::array<std::string_view, 6> kOperations = {
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "send_recv"};

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional<Number>(value)
                                                                  : std::nullopt;
}

class CollectiveTable {
 public:
  Status read_header(std::span<const std::string_view> header, const std::string& place) {
    columns_ = find_columns(header, kAiconfigurator);
    if (!complete()) {
      std::string_view time;
      for (const std::string_view name : header) {
        time = name.starts_with(kTimePrefix) && name.ends_with(kTimeSuffix) ? name : time;
      }
      const Names vidur = {"collective",       "collective", "num_workers",
                           "devices_per_node", "size",       time};
      columns_ = find_columns(header, vidur);
      has_types_ = false;
    }
    return complete() ? ok_status()
                      : invalid_input(fmt::format(
                            "{}: found columns of no known table, expected those of "
                            "aiconfigurator's NCCL runs (op_name, nccl_dtype, num_gpus, "
                            "message_size, latency) or of Vidur's network profiles (collective, "
                            "num_workers, devices_per_node, size, time_stats.*.median)",
                            place));
  }

  StatusOr<MeasuredCollective> read_row(std::span<const std::string_view> cells,
                                        const std::string& place) const {
    const auto cell = [&](Column column) {
      const auto index = static_cast<size_t>(columns_[column]);
      return index < cells.size() ? cells[index] : std::string_view();
    };
    const std::string_view name = cell(kOperation) == "alltoall" ? "all_to_all" : cell(kOperation);
    const bool known = std::find(kOperations.begin(), kOperations.end(), name) != kOperations.end();
    const auto devices = number_of<int64_t>(cell(kDevices));
    const auto per_node = number_of<int64_t>(cell(kPerNode));
    const auto size = number_of<int64_t>(cell(kSize));
    const auto time_ms = number_of<double>(cell(kTime));
    const int64_t width = has_types_ ? width_of(cell(kType)) : 1;
    constexpr int64_t kMost = int64_t{1} << 50;
    constexpr double kMostMs = 1e9;
    if (!known || !devices || !per_node || !size || !time_ms || width == 0 || *devices < 2 ||
        *devices > kMost || *per_node < 1 || *size < 1 || *size > kMost || !(*time_ms > 0) ||
        *time_ms > kMostMs) {
      return invalid_input(fmt::format(
          "{}: found '{}' of '{}' on '{}' devices, '{}' per node, size '{}' in '{}' ms, expected a "
          "collective, a type (half, int8, float) and numbers above 0",
          place, printable(cell(kOperation), 20), has_types_ ? printable(cell(kType), 20) : "bytes",
          printable(cell(kDevices), 20), printable(cell(kPerNode), 20), printable(cell(kSize), 20),
          printable(cell(kTime), 20)));
    }
    return MeasuredCollective{std::string(name), *devices, *per_node >= *devices, *size * width,
                              *time_ms * static_cast<double>(kNsPerMs)};
  }

 private:
  bool complete() const {
    return std::find(columns_.begin(), columns_.end(), -1) == columns_.end();
  }

  static int64_t width_of(std::string_view type) {
    return type == "half" ? 2 : type == "int8" ? 1 : type == "float" ? 4 : 0;
  }

  std::vector<int> columns_;
  bool has_types_ = true;
};

}  // namespace
}  // namespace collective_columns

StatusOr<std::vector<MeasuredCollective>> read_collective_table(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::open(path));
  std::optional<collective_columns::CollectiveTable> table;
  std::vector<MeasuredCollective> rows;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const CsvReader::Record record, reader.next());
    if (record == CsvReader::Record::kEnd) {
      break;
    }
    const std::string place = fmt::format("{}:{}", path, reader.line_number());
    if (table) {
      DFSIM_ASSIGN_OR_RETURN(MeasuredCollective row, table->read_row(reader.fields(), place));
      rows.push_back(std::move(row));
    } else {
      table.emplace();
      DFSIM_RETURN_IF_ERROR(table->read_header(reader.fields(), place));
    }
  }
  if (rows.empty()) {
    return invalid_input(path + ": found no rows, expected measured collectives");
  }
  return rows;
}

StatusOr<std::vector<std::string>> find_collective_tables(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return std::vector<std::string>{path};
  }
  std::vector<std::string> tables;
  fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string name = it->path().string();
    if (name.ends_with(".csv") || name.ends_with(".csv.gz")) {
      tables.push_back(name);
    }
  }
  if (error || tables.empty()) {
    return invalid_input(fmt::format(
        "{}: found no table, expected a folder with .csv or .csv.gz files of measured collectives",
        path));
  }
  std::sort(tables.begin(), tables.end());
  return tables;
}

}  // namespace dfsim::inline datasets
