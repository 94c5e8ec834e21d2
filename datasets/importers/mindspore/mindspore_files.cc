#include "datasets/importers/mindspore/mindspore_files.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

// Words of the profilers in names of files.
constexpr std::array<std::string_view, 10> kOwnWords = {
    "framework", "raw",     "aicore", "intermediate", "detail",
    "op",        "summary", "kernel", "details",      "profile"};

std::string_view without_ending(std::string_view name) {
  for (const std::string_view ending : {".gz", ".csv"}) {
    if (name.ends_with(ending)) {
      name.remove_suffix(ending.size());
    }
  }
  return name;
}

bool is_table(std::string_view name) { return name.ends_with(".csv") || name.ends_with(".csv.gz"); }

// Later versions say kernel where earlier ones say op.
std::string renamed(std::string column, MindsporeFileKind kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames = {{
      {"full_kernel_name", "full_op_name"},
      {"kernel_name", "op_name"},
      {"kernel_type", "op_type"},
      {"kernel_info", "op_info"},
      {"task_duration", "execution_time"},
      {"avg_execution_time", "execution_time"},
  }};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSummaryNames = {{
      {"op_name", "full_op_name"},
      {"name", "full_op_name"},
      {"type", "op_type"},
      {"duration", "execution_time"},
  }};
  for (const auto& [from, to] : kNames) {
    column = column == from ? std::string(to) : column;
  }
  if (kind == MindsporeFileKind::kSummary) {
    for (const auto& [from, to] : kSummaryNames) {
      column = column == from ? std::string(to) : column;
    }
  }
  return column;
}

}  // namespace

std::string mindspore_column(std::string_view cell, MindsporeFileKind kind) {
  std::string name = to_lower(trim(cell));
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
    name = name.substr(1, name.size() - 2);
  }
  name.resize(std::min(name.size(), name.find('(')));
  std::replace(name.begin(), name.end(), ' ', '_');
  while (name.ends_with('_')) {
    name.pop_back();
  }
  return renamed(std::move(name), kind);
}

std::string mindspore_file_label(std::string_view name) {
  std::string label;
  for (const std::string& word : split(without_ending(name), '_')) {
    const bool own =
        std::find(kOwnWords.begin(), kOwnWords.end(), to_lower(word)) != kOwnWords.end();
    if (!own && !word.empty()) {
      label += (label.empty() ? "" : "_") + word;
    }
  }
  return label;
}

MindsporeFileKind mindspore_file_kind(std::string_view name, std::string_view first_line) {
  if (!is_table(name)) {
    return MindsporeFileKind::kNone;
  }
  const std::string lower = to_lower(without_ending(name));
  if (lower.starts_with("framework_raw_")) {
    return MindsporeFileKind::kFramework;
  }
  if (lower.starts_with("aicore_intermediate_")) {
    return lower.ends_with("_detail") ? MindsporeFileKind::kDetail : MindsporeFileKind::kNone;
  }
  if (lower.starts_with("op_summary") || lower == "kernel_details") {
    return MindsporeFileKind::kSummary;
  }
  bool named = false;
  bool typed = false;
  bool timed = false;
  bool described = false;
  bool shaped = false;
  for (const std::string& cell : split(first_line, ',')) {
    const std::string column = mindspore_column(cell, MindsporeFileKind::kNone);
    named = named || column == "full_op_name";
    typed = typed || column == "op_type";
    timed = timed || column == "execution_time" || column == "duration";
    described = described || column == "op_info";
    shaped = shaped || column == "input_shapes";
  }
  if (named && typed && described) {
    return timed ? MindsporeFileKind::kJoined : MindsporeFileKind::kFramework;
  }
  if (shaped && timed) {
    return MindsporeFileKind::kSummary;
  }
  return named && timed ? MindsporeFileKind::kDetail : MindsporeFileKind::kNone;
}

}  // namespace dfsim::inline datasets
