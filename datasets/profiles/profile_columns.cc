// The columns of profile files as one table, with a parser and a formatter that both use it.
// Cells repeat from row to row, so the parser caches the last ids of texts and shapes; that is
// most of its speed. The first bad cell of a row names the reason for which the row is left out.
#include "datasets/profiles/profile_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/utf8.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

constexpr std::array<ProfileColumnInfo, kProfileColumnCount> kColumns = {{
    {"device", true, false},      {"runtime", false, false},  {"runtime_version", false, false},
    {"op_type", true, false},     {"op_class", false, false}, {"attributes", false, false},
    {"inputs", true, false},      {"outputs", false, false},  {"compute_dtype", false, false},
    {"time_ns", true, true},      {"spread_ns", false, true}, {"samples", false, true},
    {"timing", false, false},     {"network", false, false},  {"batch", false, true},
    {"count", false, true},       {"name", false, false},     {"kernel", false, false},
    {"provenance", false, false},
}};

constexpr std::array<std::pair<ProfileColumn, TextId ProfileRow::*>, 9> kTextColumns = {{
    {ProfileColumn::kDevice, &ProfileRow::device},
    {ProfileColumn::kRuntime, &ProfileRow::runtime},
    {ProfileColumn::kRuntimeVersion, &ProfileRow::runtime_version},
    {ProfileColumn::kOpType, &ProfileRow::op_type},
    {ProfileColumn::kAttributes, &ProfileRow::attributes},
    {ProfileColumn::kNetwork, &ProfileRow::network},
    {ProfileColumn::kName, &ProfileRow::name},
    {ProfileColumn::kKernel, &ProfileRow::kernel},
    {ProfileColumn::kProvenance, &ProfileRow::provenance},
}};

constexpr std::array<std::pair<ProfileColumn, int32_t ProfileRow::*>, 3> kCountColumns = {{
    {ProfileColumn::kSamples, &ProfileRow::samples},
    {ProfileColumn::kBatch, &ProfileRow::batch},
    {ProfileColumn::kCount, &ProfileRow::count},
}};

std::string_view column_name(ProfileColumn column) {
  return kColumns[static_cast<size_t>(column)].name;
}

std::string_view cell(const ProfileCells& cells, ProfileColumn column) {
  return cells[static_cast<size_t>(column)];
}

std::string parse_names(const ProfileCells& cells, ProfileRow* row) {
  const std::string_view op_class = cell(cells, ProfileColumn::kOpClass);
  const std::string_view timing = cell(cells, ProfileColumn::kTiming);
  const std::string_view dtype = cell(cells, ProfileColumn::kComputeDType);
  bool found = true;
  if (!op_class.empty()) {
    row->op_class = op_class_from_name(op_class, &found);
    if (!found) {
      return fmt::format("unknown op_class '{}'", printable(op_class));
    }
  }
  if (!timing.empty()) {
    row->timing = timing_kind_from_name(timing, &found);
    if (!found) {
      return fmt::format("unknown timing '{}'", printable(timing));
    }
  }
  if (!dtype.empty()) {
    row->compute_dtype = dtype_from_name(dtype);
    if (row->compute_dtype == DType::kUnknown && dtype != dtype_name(DType::kUnknown)) {
      return fmt::format("unknown compute_dtype '{}'", printable(dtype));
    }
  }
  return "";
}

}  // namespace

const std::array<ProfileColumnInfo, kProfileColumnCount>& profile_columns() { return kColumns; }

int find_profile_column(std::string_view name) {
  const auto* const it = std::find_if(kColumns.begin(), kColumns.end(),
                                      [name](const auto& column) { return column.name == name; });
  return it == kColumns.end() ? -1 : static_cast<int>(it - kColumns.begin());
}

std::vector<std::string> profile_column_names() {
  std::vector<std::string> names;
  for (const ProfileColumnInfo& column : kColumns) {
    names.emplace_back(column.name);
  }
  return names;
}

void ProfileRowParser::add(const ProfileCells& cells, int64_t line) {
  ProfileRow row;
  std::string problem = parse(cells, &row);
  if (!problem.empty()) {
    sink_.drop(line, DropReason::kMalformed, std::move(problem));
    return;
  }
  const std::string_view time = cell(cells, ProfileColumn::kTimeNs);
  const std::string_view spread = cell(cells, ProfileColumn::kSpreadNs);
  const auto time_ns = parse_number<double>(time);
  const auto spread_ns = parse_number<double>(spread);
  if (!time_ns.has_value()) {
    sink_.drop(line, DropReason::kNotANumber,
               fmt::format("time_ns is '{}', expected a number", printable(time)));
    return;
  }
  // -1 would mean that the spread is not known, which an empty cell says.
  if (!spread.empty() && (!spread_ns || !std::isfinite(*spread_ns) || *spread_ns < 0)) {
    sink_.drop(line, DropReason::kMalformed,
               fmt::format("spread_ns is '{}', expected a number of 0 or more, or nothing",
                           printable(spread)));
    return;
  }
  sink_.add(row, line, *time_ns, spread_ns.value_or(-1));
}

std::string ProfileRowParser::parse(const ProfileCells& cells, ProfileRow* row) {
  for (size_t i = 0; i < kColumns.size(); ++i) {
    // "inputs" may be empty (a generator has none) but its column must be there.
    if (kColumns[i].required && cells[i].empty() && i != size_t(ProfileColumn::kInputs)) {
      return fmt::format("{} is empty", kColumns[i].name);
    }
  }
  for (const auto& [column, field] : kTextColumns) {
    if (!is_utf8(cell(cells, column))) {
      return fmt::format("{} is '{}', expected UTF-8; convert the file", column_name(column),
                         printable(cell(cells, column)));
    }
    row->*field = sink_.profile().intern(cell(cells, column));
  }
  for (const auto& [column, field] : kCountColumns) {
    const std::string_view text = cell(cells, column);
    const auto value = text.empty() ? row->*field : parse_number<int32_t>(text);
    if (!value.has_value() || *value < 0) {
      return fmt::format("{} is '{}', expected a whole number from 0", column_name(column),
                         printable(text));
    }
    row->*field = *value;
  }
  std::string problem = parse_names(cells, row);
  if (problem.empty()) {
    problem = parse_tensor_cell(cell(cells, ProfileColumn::kInputs), &row->inputs);
  }
  if (problem.empty()) {
    problem = parse_tensor_cell(cell(cells, ProfileColumn::kOutputs), &row->outputs);
  }
  return problem;
}

std::string ProfileRowParser::parse_tensor_cell(std::string_view cell_text, TensorListId* id) {
  key_.assign(cell_text);
  const auto it = tensor_cells_.find(key_);
  if (it != tensor_cells_.end()) {
    *id = it->second;
    return "";
  }
  const auto tensors = parse_tensors(cell_text);
  if (!tensors.ok()) {
    return tensors.status().message();
  }
  *id = sink_.profile().intern(*tensors);
  tensor_cells_.emplace(key_, *id);
  return "";
}

void append_cell(const Profile& profile, const ProfileRow& row, ProfileColumn column,
                 std::string* out) {
  for (const auto& [text_column, field] : kTextColumns) {
    if (text_column == column) {
      out->append(profile.text(row.*field));
      return;
    }
  }
  const auto append_number = [out](int64_t value, int64_t left_out) {
    if (value != left_out) {
      out->append(fmt::format_int(value).c_str());
    }
  };
  switch (column) {
    case ProfileColumn::kOpClass:
      out->append(op_class_name(row.op_class));
      return;
    case ProfileColumn::kInputs:
      out->append(format_tensors(profile.tensors(row.inputs)));
      return;
    case ProfileColumn::kOutputs:
      out->append(format_tensors(profile.tensors(row.outputs)));
      return;
    case ProfileColumn::kComputeDType:
      if (row.compute_dtype != DType::kUnknown) {
        out->append(dtype_name(row.compute_dtype));
      }
      return;
    case ProfileColumn::kTiming:
      out->append(timing_kind_name(row.timing));
      return;
    case ProfileColumn::kTimeNs:
      append_number(row.time_ns, -1);
      return;
    case ProfileColumn::kSpreadNs:
      append_number(row.spread_ns, -1);
      return;
    case ProfileColumn::kSamples:
      append_number(row.samples, 0);
      return;
    case ProfileColumn::kBatch:
      append_number(row.batch, 0);
      return;
    case ProfileColumn::kCount:
      append_number(row.count, 1);
      return;
    default:
      return;
  }
}

}  // namespace dfsim::inline datasets
