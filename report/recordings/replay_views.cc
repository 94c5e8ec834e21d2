// Text and JSON of a replay: measured, replayed and changed run, the path that decides the span,
// and what kept its time.
#include "report/recordings/replay_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

constexpr size_t kMostSpans = 50'000;  // of each of the two timelines

std::string time_of(double time_us) {
  return format_time(ns_from_seconds(std::max(time_us, 0.0) / 1e6));
}

double ratio(TimeNs part, TimeNs whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string replay_percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

std::string replay_field(std::string_view label, const std::string& value) {
  return fmt::format("  {:<14}{}\n", label, value);
}

std::string factor_of(TimeNs measured_ns, TimeNs replayed_ns) {
  return measured_ns > 0 ? fmt::format("{:.2f}x", ratio(replayed_ns, measured_ns)) : "-";
}

std::string breakdown_table(const ReplayReport& report) {
  TextTable table(
      {{"Time"}, {"measured", Align::kRight}, {"replayed", Align::kRight}, {"", Align::kRight}});
  const auto row = [&table](std::string_view name, double a, double b) {
    table.add_row(
        {std::string(name), time_of(a), time_of(b), a > 0 ? fmt::format("{:.2f}x", b / a) : "-"});
  };
  const Breakdown& a = report.measured;
  const Breakdown& b = report.replayed;
  row("computation", a.computation_us, b.computation_us);
  row("exposed communication", a.exposed_communication_us, b.exposed_communication_us);
  row("exposed copies", a.exposed_copy_us, b.exposed_copy_us);
  row("idle", a.idle_us, b.idle_us);
  row("device total", a.total_us, b.total_us);
  return table.render(kTextColumns, 2);
}

// Describes the chain that decides the span.
std::string path_table(const ReplayReport& report) {
  TextTable table({{"Decides the span"},
                   {"as recorded", Align::kRight},
                   {"share", Align::kRight},
                   {"replayed", Align::kRight},
                   {"share", Align::kRight}});
  const auto row = [&](std::string_view name, TimeNs a, TimeNs b) {
    if (a > 0 || b > 0) {
      table.add_row({std::string(name), format_time(a),
                     replay_percent(ratio(a, report.same.span_ns)), format_time(b),
                     replay_percent(ratio(b, report.run.span_ns))});
    }
  };
  constexpr std::array<std::string_view, kPieceKindCount> kNames = {"operators on the host",
                                                                    "calls",
                                                                    "host gaps, as measured",
                                                                    "kernels",
                                                                    "communication",
                                                                    "copies",
                                                                    "memsets",
                                                                    "queue gaps, as measured"};
  for (size_t k = 0; k < kNames.size(); ++k) {
    row(kNames[k], report.same.path_ns[k], report.run.path_ns[k]);
  }
  row("launch delays", report.same.path_launch_ns, report.run.path_launch_ns);
  return table.render(kTextColumns, 2);
}

std::string sources_table(const ReplayReport& report) {
  TextTable table({{"Times from"},
                   {"pieces", Align::kRight},
                   {"measured", Align::kRight},
                   {"share", Align::kRight},
                   {"replayed", Align::kRight}});
  TimeNs total_ns = 0;
  for (const ReplaySourceRow& row : report.sources) {
    total_ns += row.measured_ns;
  }
  for (const ReplaySourceRow& row : report.sources) {
    table.add_row({std::string(piece_source_name(row.source)), std::to_string(row.pieces),
                   format_time(row.measured_ns), replay_percent(ratio(row.measured_ns, total_ns)),
                   format_time(row.replayed_ns)});
  }
  return table.render(kTextColumns, 2);
}

std::string ops_table(const ReplayReport& report, size_t top) {
  TextTable table({{"Operator"},
                   {"pieces", Align::kRight},
                   {"measured", Align::kRight},
                   {"replayed", Align::kRight},
                   {"", Align::kRight},
                   {"source"}});
  for (size_t i = 0; i < std::min(top, report.ops.size()); ++i) {
    const ReplayOpRow& row = report.ops[i];
    table.add_row({printable(row.name), std::to_string(row.pieces), format_time(row.measured_ns),
                   format_time(row.replayed_ns), factor_of(row.measured_ns, row.replayed_ns),
                   std::string(piece_source_name(row.source))});
  }
  return table.render(kTextColumns, 2);
}

Json replay_breakdown_json(const Breakdown& b) {
  return {{"computation_ms", ms_from_us(b.computation_us)},
          {"exposed_communication_ms", ms_from_us(b.exposed_communication_us)},
          {"exposed_copies_ms", ms_from_us(b.exposed_copy_us)},
          {"idle_ms", ms_from_us(b.idle_us)},
          {"total_ms", ms_from_us(b.total_us)}};
}

Json path_json(const ReplayRun& run) {
  Json json = Json::object();
  for (int k = 0; k < kPieceKindCount; ++k) {
    json[std::string(piece_kind_name(static_cast<PieceKind>(k)))] =
        in_us(run.path_ns[static_cast<size_t>(k)]);
  }
  json["launch"] = in_us(run.path_launch_ns);
  return json;
}

// Columns of equal length; of more than kMostSpans the longest.
Json timeline_json(const Trace& trace, double origin_us) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const SpanKind kind = trace.spans[i].kind;
    if (is_device_work(kind) || kind == SpanKind::kOp || kind == SpanKind::kRuntime) {
      shown.push_back(i);
    }
  }
  const size_t left_out = shown.size() - std::min(shown.size(), kMostSpans);
  if (left_out > 0) {
    std::stable_sort(shown.begin(), shown.end(), [&trace](size_t a, size_t b) {
      return trace.spans[a].duration_us() > trace.spans[b].duration_us();
    });
    shown.resize(kMostSpans);
    std::sort(shown.begin(), shown.end());
  }
  std::map<TrackId, size_t> tracks;
  std::map<NameId, size_t> names;
  Json json = {{"tracks", Json::array()},   {"names", Json::array()},      {"left_out", left_out},
               {"track", Json::array()},    {"name", Json::array()},       {"kind", Json::array()},
               {"start_us", Json::array()}, {"duration_us", Json::array()}};
  for (const size_t i : shown) {
    const Span& span = trace.spans[i];
    const auto [track, new_track] = tracks.try_emplace(span.track, tracks.size());
    if (new_track) {
      json["tracks"].push_back(trace.track(span.track).process + " " +
                               trace.track(span.track).name);
    }
    const auto [name, new_name] = names.try_emplace(span.name, names.size());
    if (new_name) {
      json["names"].push_back(trace.text(span.name));
    }
    json["track"].push_back(track->second);
    json["name"].push_back(name->second);
    json["kind"].push_back(span_kind_name(span.kind));
    json["start_us"].push_back(span.start_us - origin_us);
    json["duration_us"].push_back(span.duration_us());
  }
  return json;
}

}  // namespace

std::string replay_text(const ReplayReport& report, size_t top) {
  std::string text = fmt::format(
      "{}: {} trace, replayed as {} with {}\n",
      printable(std::filesystem::path(report.path).filename().string(), 30), report.format,
      counted(report.pieces, "piece"), counted(report.dependencies, "dependency", "dependencies"));
  if (!report.device_name.empty()) {
    text += replay_field("recorded on", printable(report.device_name, 60));
  }
  text += replay_field("measured", format_time(report.measured_ns));
  text +=
      replay_field("replayed", fmt::format("{} as recorded ({:+.2f} %)",
                                           format_time(report.same.span_ns), report.error() * 100));
  for (const ReplayChange& change : report.changes) {
    text += replay_field("change", fmt::format("{} ({})", printable(change.text, 46),
                                               counted(change.pieces, "piece")));
  }
  if (report.kept.pieces > 0) {
    text += replay_field("not moved",
                         fmt::format("{} ({}): {}", counted(report.kept.pieces, "piece"),
                                     format_time(report.kept.measured_ns), report.kept.reason));
  }
  if (!report.changes.empty()) {
    text += replay_field("changed",
                         fmt::format("{}, {:.2f}x the speed", format_time(report.run.span_ns),
                                     ratio(report.same.span_ns, report.run.span_ns)));
  }
  text += replay_field("80 % interval", fmt::format("{} to {}", format_time(report.interval.low_ns),
                                                    format_time(report.interval.high_ns)));
  if (report.unlaunched > 0 && report.launched > 0) {
    text += replay_field("no launch",
                         counted(report.unlaunched, "piece of device work keeps its measured gap",
                                 "pieces of device work keep their measured gaps"));
  }
  if (report.too_early > 0) {
    text +=
        replay_field("clocks", counted(report.too_early, "piece of work began before its launch",
                                       "pieces of work began before their launch"));
  }
  for (const std::string& table :
       {breakdown_table(report), path_table(report), sources_table(report)}) {
    text += '\n';
    text += table;
  }
  if (top > 0 && !report.ops.empty()) {
    text += '\n';
    text += ops_table(report, top);
  }
  return text;
}

std::string replay_json(const ReplayReport& report, const Trace* measured, const Trace* replayed) {
  Json changes = Json::array();
  for (const ReplayChange& change : report.changes) {
    changes.push_back({{"change", change.text}, {"pieces", change.pieces}});
  }
  Json sources = Json::array();
  for (const ReplaySourceRow& row : report.sources) {
    sources.push_back({{"source", piece_source_name(row.source)},
                       {"pieces", row.pieces},
                       {"measured_us", in_us(row.measured_ns)},
                       {"replayed_us", in_us(row.replayed_ns)}});
  }
  Json ops = Json::array();
  for (const ReplayOpRow& row : report.ops) {
    ops.push_back({{"name", row.name},
                   {"source", piece_source_name(row.source)},
                   {"pieces", row.pieces},
                   {"measured_us", in_us(row.measured_ns)},
                   {"replayed_us", in_us(row.replayed_ns)}});
  }
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  Json json = {
      {"schema", kReplaySchema},
      {"path", report.path},
      {"format", report.format},
      {"device_name", report.device_name},
      {"hardware", text_or_null(report.hardware)},
      {"from", text_or_null(report.from)},
      {"policy", text_or_null(report.policy)},
      {"not_moved", report.kept.pieces == 0 ? Json(nullptr)
                                            : Json({{"pieces", report.kept.pieces},
                                                    {"measured_us", in_us(report.kept.measured_ns)},
                                                    {"reason", report.kept.reason}})},
      {"pieces", report.pieces},
      {"dependencies", report.dependencies},
      {"launched", report.launched},
      {"unlaunched", report.unlaunched},
      {"too_early", report.too_early},
      {"measured_us", in_us(report.measured_ns)},
      {"same_us", in_us(report.same.span_ns)},
      {"error", report.error()},
      {"replayed_us", in_us(report.run.span_ns)},
      {"low_us", in_us(report.interval.low_ns)},
      {"high_us", in_us(report.interval.high_ns)},
      {"changes", std::move(changes)},
      {"measured", replay_breakdown_json(report.measured)},
      {"replayed", replay_breakdown_json(report.replayed)},
      {"path_us", {{"same", path_json(report.same)}, {"replayed", path_json(report.run)}}},
      {"sources", std::move(sources)},
      {"operators", std::move(ops)}};
  if (measured != nullptr && replayed != nullptr) {
    const double origin_us = measured->spans.empty() ? 0 : measured->spans.front().start_us;
    json["timelines"] = {{"measured", timeline_json(*measured, origin_us)},
                         {"replayed", timeline_json(*replayed, 0)}};
  }
  return measured == nullptr ? json.text() : json.compact_text() + "\n";
}

}  // namespace dfsim::inline report
