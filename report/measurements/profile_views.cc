// Text and JSON of imported, checked and summarised profiles; all three list the rows that were
// left out in the same way.
#include "report/measurements/profile_views.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/counted.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"

namespace dfsim::inline report {
namespace {

JsonTree drops_json(const DropReport& drops) {
  JsonTree reasons = JsonTree::object();
  for (int i = 0; i < kDropReasonCount; ++i) {
    const auto reason = static_cast<DropReason>(i);
    reasons[std::string(drop_reason_name(reason))] = drops.count(reason);
  }
  JsonTree first = JsonTree::array();
  for (const DropReport::Entry& entry : drops.entries()) {
    first.push_back({{"file", entry.file},
                     {"row", entry.row},
                     {"reason", drop_reason_name(entry.reason)},
                     {"message", entry.message}});
  }
  return {
      {"total", drops.total()}, {"reasons", reasons}, {"first", first}, {"notes", drops.notes()}};
}

std::string drops_text(const DropReport& drops) {
  std::string text = fmt::format("rows left out: {}\n", drops.summary());
  for (const DropReport::Entry& entry : drops.entries()) {
    text += fmt::format("  {}:{}: {}: {}\n", entry.file, entry.row, drop_reason_name(entry.reason),
                        printable(entry.message, 200));
  }
  if (drops.total() > static_cast<int64_t>(drops.entries().size())) {
    text += fmt::format("  and {} more\n",
                        drops.total() - static_cast<int64_t>(drops.entries().size()));
  }
  for (const std::string& note : drops.notes()) {
    text += fmt::format("note: {}\n", printable(note, 400));
  }
  return text;
}

// One table per device and kind of timing.
std::string profile_groups_text(const std::vector<ProfileGroup>& groups) {
  std::map<std::pair<std::string, TimingKind>, TextTable> tables;
  for (const ProfileGroup& group : groups) {
    const auto [it, added] =
        tables.try_emplace({group.device, group.timing}, TextTable({{"op"},
                                                                    {"class"},
                                                                    {"dtype"},
                                                                    {"rows", Align::kRight},
                                                                    {"distinct", Align::kRight},
                                                                    {"shortest", Align::kRight},
                                                                    {"median", Align::kRight},
                                                                    {"longest", Align::kRight},
                                                                    {"largest", Align::kRight}}));
    it->second.add_row({printable(group.op_type), std::string(op_class_name(group.op_class)),
                        std::string(dtype_name(group.dtype)), fmt::format("{}", group.rows),
                        fmt::format("{}", group.distinct), format_time(group.min_ns),
                        format_time(group.median_ns), format_time(group.max_ns),
                        format_bytes(group.max_bytes)});
  }
  std::string text;
  for (const auto& [key, table] : tables) {
    text += fmt::format("{} ({})\n{}\n", printable(key.first), timing_kind_name(key.second),
                        table.render(100, 2));
  }
  return text;
}

}  // namespace

JsonTree profile_import_json(const ProfileImport& imported, const std::string& output) {
  return {{"schema", "dfsim.profiles-import/1"},
          {"rows", imported.profile.size()},
          {"rows_completed", imported.completed},
          {"devices", imported.devices},
          {"output", output},
          {"left_out", drops_json(imported.drops)}};
}

std::string profile_import_text(const ProfileImport& imported, const std::string& output,
                                const std::string& model) {
  const std::string completed =
      imported.completed == 0
          ? ""
          : fmt::format("{} of them completed from {}\n", imported.completed, model);
  return fit_lines(
      fmt::format("{} of {} written to {}\n{}{}", counted(imported.profile.size(), "row"),
                  join(imported.devices, ", "), output, completed, drops_text(imported.drops)));
}

JsonTree profile_checks_json(std::span<const ProfileCheck> checks) {
  JsonTree list = JsonTree::array();
  bool sound = true;
  for (const ProfileCheck& file : checks) {
    sound = sound && file.problem.empty();
    list.push_back({{"file", file.path},
                    {"ok", file.problem.empty()},
                    {"problem", file.problem},
                    {"rows", file.rows},
                    {"devices", file.devices},
                    {"left_out", drops_json(file.drops)}});
  }
  return {{"schema", "dfsim.profiles-check/1"}, {"ok", sound}, {"files", list}};
}

std::string profile_checks_text(std::span<const ProfileCheck> checks) {
  std::string text;
  for (const ProfileCheck& file : checks) {
    // The error alone says why nothing could be read.
    if (file.rows == 0 && file.drops.total() == 0 && !file.problem.empty()) {
      continue;
    }
    text += fmt::format("{}: {} of {}\n", file.path, counted(file.rows, "row"),
                        file.devices.empty() ? "no device" : join(file.devices, ", "));
    text += file.drops.total() > 0 ? drops_text(file.drops) : "";
  }
  return fit_lines(text);
}

JsonTree profile_summary_json(const ProfileSummary& summary) {
  const ProfileStats& stats = summary.stats;
  JsonTree groups = JsonTree::array();
  for (const ProfileGroup& group : stats.groups) {
    groups.push_back({{"device", group.device},
                      {"op_type", group.op_type},
                      {"op_class", op_class_name(group.op_class)},
                      {"dtype", dtype_name(group.dtype)},
                      {"timing", timing_kind_name(group.timing)},
                      {"rows", group.rows},
                      {"distinct", group.distinct},
                      {"min_ns", group.min_ns},
                      {"median_ns", group.median_ns},
                      {"max_ns", group.max_ns},
                      {"min_bytes", group.min_bytes},
                      {"max_bytes", group.max_bytes}});
  }
  JsonTree networks = JsonTree::array();
  for (const NetworkStats& network : stats.networks) {
    networks.push_back({{"network", network.network},
                        {"device", network.device},
                        {"batch", network.batch},
                        {"rows", network.rows},
                        {"op_types", network.op_types},
                        {"total_ns", network.total_ns}});
  }
  return {{"schema", "dfsim.profiles-stats/1"},
          {"rows", stats.rows},
          {"groups", groups},
          {"networks", networks},
          {"duplicates",
           {{"measurements", stats.duplicates.measurements},
            {"rows", stats.duplicates.rows},
            {"median_spread", stats.duplicates.median_spread},
            {"p90_spread", stats.duplicates.p90_spread}}},
          {"left_out", drops_json(summary.drops)}};
}

std::string profile_summary_text(const ProfileSummary& summary) {
  const ProfileStats& stats = summary.stats;
  std::string text = profile_groups_text(stats.groups);
  if (!stats.networks.empty()) {
    TextTable networks({{"network"},
                        {"batch", Align::kRight},
                        {"device"},
                        {"rows", Align::kRight},
                        {"op types", Align::kRight},
                        {"total", Align::kRight}});
    for (const NetworkStats& network : stats.networks) {
      networks.add_row({printable(network.network), fmt::format("{}", network.batch),
                        printable(network.device), fmt::format("{}", network.rows),
                        fmt::format("{}", network.op_types), format_time(network.total_ns)});
    }
    text += networks.render() + "\n";
  }
  text += fmt::format("{}; {} there more than once ({})", counted(stats.rows, "row"),
                      counted(stats.duplicates.measurements, "measurement is", "measurements are"),
                      counted(stats.duplicates.rows, "row"));
  if (stats.duplicates.measurements > 0) {
    text += fmt::format(", {:.2f} % from their median (p90 {:.2f} %)",
                        100 * stats.duplicates.median_spread, 100 * stats.duplicates.p90_spread);
  }
  text += "\n" + (summary.drops.total() > 0 ? drops_text(summary.drops) : "");
  return fit_lines(text);
}

}  // namespace dfsim::inline report
