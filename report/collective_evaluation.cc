#include "report/collective_evaluation.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "base/text_table.h"
#include "datasets/csv.h"
#include "hardware/route.h"
#include "partition/collectives.h"
#include "partition/device_mesh.h"

namespace dfsim {
namespace {

constexpr Bytes kSmall = Bytes{64} << 10;
constexpr std::array<std::string_view, 5> kColumns = {"op_name", "nccl_dtype", "num_gpus",
                                                      "message_size", "latency"};

struct Measured {
  std::string operation;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int64_t devices = 0;
  Bytes bytes = 0;
  double time_ns = 0;
};

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional<Number>(value)
                                                                  : std::nullopt;
}

std::optional<CollectiveKind> kind_of(std::string_view name) {
  if (name == "alltoall") {
    return CollectiveKind::kAllToAll;
  }
  for (int k = 0; k < kCollectiveKindCount; ++k) {
    if (collective_kind_name(static_cast<CollectiveKind>(k)) == name) {
      return static_cast<CollectiveKind>(k);
    }
  }
  return std::nullopt;
}

StatusOr<Measured> parse(std::span<const std::string_view> cells, const std::vector<int>& columns,
                         const std::string& place) {
  const auto cell = [&](size_t column) {
    const auto index = static_cast<size_t>(columns[column]);
    return index < cells.size() ? cells[index] : std::string_view();
  };
  Measured row;
  const auto kind = kind_of(cell(0));
  const auto devices = number_of<int64_t>(cell(2));
  const auto elements = number_of<int64_t>(cell(3));
  const auto latency = number_of<double>(cell(4));
  const int64_t width = cell(1) == "half" ? 2 : cell(1) == "int8" ? 1 : cell(1) == "float" ? 4 : 0;
  constexpr int64_t kMost = int64_t{1} << 50;
  if (!kind || !devices || !elements || !latency || width == 0 || *devices < 2 || *elements < 1 ||
      *elements > kMost || !(*latency > 0)) {
    return invalid_input(fmt::format(
        "{}: found '{}' of '{}' on '{}' devices, '{}' elements in '{}' ms, expected a collective, "
        "a type (half, int8, float) and numbers above 0",
        place, printable(cell(0), 20), printable(cell(1), 20), printable(cell(2), 20),
        printable(cell(3), 20), printable(cell(4), 20)));
  }
  row.operation = cell(0);
  row.kind = *kind;
  row.devices = *devices;
  row.bytes = *elements * width;
  row.time_ns = *latency * static_cast<double>(kNsPerMs);
  return row;
}

StatusOr<std::vector<Measured>> read_rows(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::open(path));
  std::vector<int> columns;
  std::vector<Measured> rows;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const CsvReader::Record record, reader.next());
    if (record == CsvReader::Record::kEnd) {
      break;
    }
    const std::string place = fmt::format("{}:{}", path, reader.line_number());
    if (!columns.empty()) {
      DFSIM_ASSIGN_OR_RETURN(const Measured row, parse(reader.fields(), columns, place));
      rows.push_back(row);
      continue;
    }
    columns = find_columns(reader.fields(), kColumns);
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c] < 0) {
        return invalid_input(
            fmt::format("{}: no column '{}'; expected a table of aiconfigurator's NCCL runs", place,
                        kColumns[c]));
      }
    }
  }
  return rows.empty() ? StatusOr<std::vector<Measured>>(
                            invalid_input(path + ": no rows; expected measured collectives"))
                      : rows;
}

void add(CollectiveError* group, const Measured& row, double predicted_ns) {
  const double error = std::abs(predicted_ns / row.time_ns - 1);
  if (row.bytes <= kSmall) {
    ++group->small_rows;
    group->small_mape += error;
  } else {
    ++group->large_rows;
    group->large_mape += error;
  }
}

void finish(CollectiveError* group) {
  group->small_mape /= static_cast<double>(std::max<size_t>(1, group->small_rows));
  group->large_mape /= static_cast<double>(std::max<size_t>(1, group->large_rows));
}

}  // namespace

StatusOr<CollectiveEvaluation> evaluate_collectives(const std::string& path,
                                                    const Platform& platform) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<Measured> rows, read_rows(path));
  const std::vector<DeviceId> devices = compute_devices(platform);
  const RouteTable routes(platform);
  std::map<int64_t, GroupCosts> costs;
  std::map<std::pair<std::string, int64_t>, CollectiveError> groups;
  CollectiveError all{"all", 0, 0, 0, 0, 0};
  for (const Measured& row : rows) {
    if (row.devices > static_cast<int64_t>(devices.size())) {
      return invalid_input(fmt::format("{}: rows of {} devices, '{}' has {}; choose a larger node",
                                       path, row.devices, printable(platform.name),
                                       devices.size()));
    }
    const auto [it, is_new] = costs.try_emplace(row.devices);
    if (is_new) {
      it->second =
          group_costs(platform, routes, std::span(devices).first(static_cast<size_t>(row.devices)));
    }
    const auto predicted = static_cast<double>(collective_time_ns(row.kind, row.bytes, it->second));
    CollectiveError& group = groups[{row.operation, row.devices}];
    group.operation = row.operation;
    group.devices = row.devices;
    add(&group, row, predicted);
    add(&all, row, predicted);
  }
  CollectiveEvaluation evaluation{platform.name, path, {}};
  for (auto& [key, group] : groups) {
    evaluation.groups.push_back(group);
  }
  evaluation.groups.push_back(all);
  for (CollectiveError& group : evaluation.groups) {
    finish(&group);
  }
  return evaluation;
}

std::string collective_evaluation_text(const CollectiveEvaluation& evaluation) {
  TextTable table({{"collective"},
                   {"devices", Align::kRight},
                   {"n up to 64 KiB", Align::kRight},
                   {"MAPE %", Align::kRight},
                   {"n above", Align::kRight},
                   {"MAPE %", Align::kRight}});
  for (const CollectiveError& group : evaluation.groups) {
    table.add_row({group.operation, group.devices == 0 ? "all" : std::to_string(group.devices),
                   std::to_string(group.small_rows), fmt::format("{:.2f}", 100 * group.small_mape),
                   std::to_string(group.large_rows),
                   fmt::format("{:.2f}", 100 * group.large_mape)});
  }
  return fmt::format("{} against {}\n{}", printable(evaluation.hardware),
                     printable(evaluation.file), table.render(100));
}

std::string collective_evaluation_json(const CollectiveEvaluation& evaluation) {
  nlohmann::ordered_json json;
  json["schema"] = "dfsim.evaluate-collectives/1";
  json["hardware"] = evaluation.hardware;
  json["file"] = evaluation.file;
  auto& groups = json["groups"] = nlohmann::ordered_json::array();
  for (const CollectiveError& group : evaluation.groups) {
    groups.push_back({{"collective", group.operation},
                      {"devices", group.devices},
                      {"rows_to_64_kib", group.small_rows},
                      {"mape_to_64_kib", group.small_mape},
                      {"rows_above_64_kib", group.large_rows},
                      {"mape_above_64_kib", group.large_mape}});
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace dfsim
