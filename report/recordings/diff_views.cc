// Text and JSON of two runs next to each other; rows that only one of them has come last.
#include "report/recordings/diff_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "report/recordings/trace_labels.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string signed_percent(double fraction) { return fmt::format("{:+.1f} %", fraction * 100); }

// Describes a part of the breakdown: from, to, and the change over A's total.
void add_part(TextTable* table, std::string_view name, double a, double b, double total) {
  table->add_row({std::string(name), duration_text(a), duration_text(b),
                  total > 0 ? signed_percent((b - a) / total) : "-"});
}

// "aten::mm 5x128 128x5 float", or of a kernel "ampere_sgemm_128x64_nn compute".
std::string label_of(const TraceDiff& diff, const DiffRow& row) {
  const std::string name = diff.of_kernels ? kernel_label(row.name) : printable(row.name);
  return row.detail.empty() ? name : name + ' ' + shapes_label(row.detail);
}

std::vector<std::vector<std::string>> missing(const TraceDiff& diff, bool from_b, size_t top) {
  std::vector<const DiffRow*> rows;
  for (const DiffRow& row : diff.rows) {
    if ((from_b ? row.calls_b : row.calls_a) == 0) {
      rows.push_back(&row);
    }
  }
  std::vector<std::vector<std::string>> lines;
  for (size_t i = 0; i < std::min(top, rows.size()); ++i) {
    const DiffRow& row = *rows[i];
    lines.push_back({label_of(diff, row), std::to_string(from_b ? row.calls_a : row.calls_b),
                     duration_text(from_b ? row.a_us : row.b_us)});
  }
  if (rows.size() > top) {
    lines.push_back({fmt::format("and {} more", rows.size() - top), "", ""});
  }
  return lines;
}

Json part_json(double a, double b) { return {{"a_us", a}, {"b_us", b}}; }

}  // namespace

std::string diff_text(const TraceDiff& diff, size_t top) {
  constexpr size_t kWidth = 80;
  const auto file = [](const std::string& path) {
    return printable(std::filesystem::path(path).filename().string(), 60);
  };
  std::string text = fmt::format("A: {}\nB: {}\n\n", file(diff.path_a), file(diff.path_b));
  TextTable parts({{"Time"}, {"A", Align::kRight}, {"B", Align::kRight}, {"of A", Align::kRight}});
  const double total = diff.a.total_us;
  add_part(&parts, "computation", diff.a.computation_us, diff.b.computation_us, total);
  add_part(&parts, "exposed communication", diff.a.exposed_communication_us,
           diff.b.exposed_communication_us, total);
  add_part(&parts, "exposed copies", diff.a.exposed_copy_us, diff.b.exposed_copy_us, total);
  add_part(&parts, "idle", diff.a.idle_us, diff.b.idle_us, total);
  add_part(&parts, "total", diff.a.total_us, diff.b.total_us, total);
  text += parts.render(kWidth, 2) + "\n";
  if (diff.of_kernels) {
    text += "  a trace without operators: kernels are compared\n\n";
  } else if (diff.rows.empty()) {
    text += "  neither trace has operators or kernels with a time of their own\n\n";
  }
  TextTable table({{diff.of_kernels ? "Kernel" : "Operator", Align::kLeft, true},
                   {"calls A", Align::kRight},
                   {"B", Align::kRight},
                   {"time A", Align::kRight},
                   {"B", Align::kRight},
                   {"of all", Align::kRight}});
  size_t shown = 0;
  for (const DiffRow& row : diff.rows) {
    if (row.calls_a == 0 || row.calls_b == 0 || shown++ >= top) {
      continue;
    }
    table.add_row({label_of(diff, row), std::to_string(row.calls_a), std::to_string(row.calls_b),
                   duration_text(row.a_us), duration_text(row.b_us), signed_percent(row.change)});
  }
  text += table.render(kWidth, 2);
  for (const bool from_b : {true, false}) {
    const auto lines = missing(diff, from_b, top);
    if (!lines.empty()) {
      TextTable only({{from_b ? "Only in A" : "Only in B", Align::kLeft, true},
                      {"calls", Align::kRight},
                      {"time", Align::kRight}});
      for (const auto& line : lines) {
        only.add_row(line);
      }
      text += '\n';
      text += only.render(kWidth, 2);
    }
  }
  return text;
}

std::string diff_json(const TraceDiff& diff) {
  Json rows = Json::array();
  for (const DiffRow& row : diff.rows) {
    rows.push_back({{"name", row.name},
                    {"detail", row.detail},
                    {"calls_a", row.calls_a},
                    {"calls_b", row.calls_b},
                    {"a_us", row.a_us},
                    {"b_us", row.b_us},
                    {"change", row.change}});
  }
  const Json json = {{"schema", kDiffSchema},
                     {"a", diff.path_a},
                     {"b", diff.path_b},
                     {"computation", part_json(diff.a.computation_us, diff.b.computation_us)},
                     {"exposed_communication",
                      part_json(diff.a.exposed_communication_us, diff.b.exposed_communication_us)},
                     {"exposed_copies", part_json(diff.a.exposed_copy_us, diff.b.exposed_copy_us)},
                     {"idle", part_json(diff.a.idle_us, diff.b.idle_us)},
                     {"total", part_json(diff.a.total_us, diff.b.total_us)},
                     {"operators", part_json(diff.ops_a_us, diff.ops_b_us)},
                     {"compared", diff.of_kernels ? "kernels" : "operators"},
                     {"rows", std::move(rows)}};
  return json.text();
}

}  // namespace dfsim::inline report
