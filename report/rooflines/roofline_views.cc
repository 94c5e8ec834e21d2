// Text and JSON of rooflines. A point whose time is a bound or a prior shows no
// share of its roof, since that would compare the roof with itself.
#include <fmt/format.h>

#include <algorithm>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "report/rooflines/roofline_views.h"
#include "report/rooflines/trajectory_views.h"
#include "report/text_parts.h"
#include "report/unknown_work_json.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string roof_time(double seconds) { return format_time(ns_from_seconds(seconds)); }

std::string roofline_field(std::string_view label, const std::string& value) {
  return fmt::format("  {:<10}{}\n", label, value);
}

std::string roof_name(const ComputeRoof& roof) {
  return fmt::format("{}{}", dtype_name(roof.dtype), roof.matrix ? " (matrix)" : "");
}

// The share of the roof, or why the time does not tell it.
std::string share_of_roof(const RoofPoint& point) {
  return point.explains() ? percent_text(point.efficiency())
                          : std::string(cost_source_name(point.source));
}

std::string table_of(std::string_view title, const std::vector<RoofPoint>& points, size_t top,
                     bool classes) {
  TextTable table({{std::string(title)},
                   {classes ? "ops" : "type", classes ? Align::kRight : Align::kLeft},
                   {"time", Align::kRight},
                   {"share", Align::kRight},
                   {"FLOP/B", Align::kRight},
                   {"rate", Align::kRight},
                   {"of roof", Align::kRight},
                   {"bound"}});
  for (size_t i = 0; i < std::min(top, points.size()); ++i) {
    const RoofPoint& point = points[i];
    table.add_row({printable(point.name, 40),
                   classes ? std::to_string(point.ops) : printable(point.op_type, 16),
                   roof_time(point.time_s), percent_text(point.share), intensity_text(point),
                   rate_text(point), share_of_roof(point), std::string(bound_name(point.bound))});
  }
  return table.render(kTextColumns, 2);
}

// The time-based roofline (Wang, Yang et al. 2020, doi:10.1109/PMBS51919.2020.00007): the time, and
// what each part of the machine would need alone.
std::string floors_table(const RooflineReport& roofline) {
  TextTable table({{"Least time by"},
                   {"compute", Align::kRight},
                   {"memory", Align::kRight},
                   {"launches", Align::kRight},
                   {"time", Align::kRight},
                   {"over", Align::kRight}});
  const auto row = [&table](const RoofPoint& point) {
    const double least = std::max({point.compute_s, point.memory_s, point.launch_s});
    table.add_row(
        {printable(point.name, 30), roof_time(point.compute_s), roof_time(point.memory_s),
         roof_time(point.launch_s), roof_time(point.time_s),
         least > 0 && point.explains() ? fmt::format("{:.2f}x", point.time_s / least) : "-"});
  };
  for (const RoofPoint& point : roofline.classes) {
    row(point);
  }
  row(roofline.network);
  return table.render(kTextColumns, 2);
}

// Numbers as numbers.
Json at_json(const RooflineReport& roofline) {
  Json at = Json::object();
  for (const auto& [name, value] : roofline.at) {
    const bool number = value.find_first_not_of("0123456789") == std::string::npos;
    at[name] = number ? Json(std::stoll(value)) : Json(value);
  }
  return at;
}

// Settings of the last point of a sweep that the first line does not show.
std::string at_text(const RooflineReport& roofline) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : roofline.at) {
    if (name != "batch") {
      parts.push_back(fmt::format("{} {}", name, printable(value, 40)));
    }
  }
  return parts.empty() ? std::string() : roofline_field("point", join(parts, ", "));
}

Json one_json(const RooflineReport& roofline) {
  Json roofs = Json::array();
  for (const ComputeRoof& roof : roofline.roofs) {
    roofs.push_back({{"dtype", dtype_name(roof.dtype)},
                     {"matrix", roof.matrix},
                     {"flops_per_s", roof.flops_per_s}});
  }
  Json caches = Json::array();
  for (const MemoryLevel& level : roofline.caches) {
    caches.push_back({{"name", level.name},
                      {"bytes_per_s", level.bytes_per_s},
                      {"bytes", level.bytes},
                      {"from", peak_origin_name(peak_origin_of(level.source))}});
  }
  const bool complete = roofline.unknown.complete();
  Json network = point_json(roofline.network);
  if (!complete) {
    for (const char* const figure :
         {"time_us", "low_us", "high_us", "flops_per_s", "bytes_per_s", "efficiency"}) {
      network[figure] = nullptr;
    }
  }
  return {{"complete", complete},
          {"unknown_work", unknown_work_json(roofline.unknown)},
          {"is_limit", !complete || roofline.bound_only_share > kMuchBoundOnly},
          {"bound_only_fraction", roofline.bound_only_share},
          {"time_at_least_us", complete ? Json(nullptr) : Json(roofline.network.time_s * 1e6)},
          {"model", roofline.model},
          {"hardware", roofline.hardware},
          {"device", roofline.device},
          {"device_model", roofline.device_model},
          {"cost_model", roofline.cost_model},
          {"batch", roofline.batch},
          {"measured", roofline.measured},
          {"without_work", roofline.without_work},
          {"peaks_from", peak_origin_name(roofline.peaks)},
          {"peaks_source", roofline.peaks_source},
          {"scaling", roofline.scaling.empty() ? Json(nullptr) : Json(roofline.scaling)},
          {"pool", roofline.pool.empty() ? Json(nullptr) : Json(roofline.pool)},
          {"at", at_json(roofline)},
          {"bandwidth_from", peak_origin_name(roofline.bandwidth)},
          {"roofs", std::move(roofs)},
          {"memory_bytes_per_s", roofline.bytes_per_s},
          {"caches", std::move(caches)},
          {"above_roof",
           {{"ops", roofline.above.ops},
            {"in_cache", roofline.above.in_cache},
            {"share", roofline.above.share}}},
          {"network", std::move(network)},
          {"classes", points_json(roofline.classes)},
          {"ops", points_json(roofline.ops)}};
}

// How many operators' work performance counters measured.
std::string counted_line(const RooflineReport& roofline) {
  const auto counted_ops =
      std::ranges::count_if(roofline.ops, [](const RoofPoint& point) { return point.counted; });
  return counted_ops == 0
             ? std::string()
             : roofline_field("work", fmt::format("{} of {} operators: from performance counters",
                                                  counted_ops, roofline.ops.size()));
}

// The operators above the roof, and why.
std::string above_text(const RooflineReport& roofline) {
  std::string text;
  if (roofline.above.ops > 0) {
    text += roofline_field("above", fmt::format("{} ({} of the time) {} above the roof",
                                                counted(roofline.above.ops, "operator"),
                                                percent_text(roofline.above.share),
                                                roofline.above.ops == 1 ? "is" : "are"));
    if (roofline.above.in_cache > 0) {
      text += roofline_field("", fmt::format("{}: all their bytes fit into the last-level cache",
                                             roofline.above.in_cache));
    }
    if (roofline.above.in_cache < roofline.above.ops) {
      text += roofline_field("", fmt::format("{}: fewer FLOPs than counted (Winograd), or a {}",
                                             roofline.above.ops - roofline.above.in_cache,
                                             roofline.bare_roofs ? "higher" : "better kernel"));
      text +=
          roofline_field("", roofline.bare_roofs ? "clock than the roofs stand for"
                                                 : "than the one that the peak was measured with");
    }
  }
  return text;
}

}  // namespace

std::string roofline_text(const RooflineReport& roofline, size_t top) {
  std::string text = incomplete_line(roofline.unknown);
  text += roofline.measured ? fmt::format("{} on {}, as measured\n", printable(roofline.model, 44),
                                          roofline.device_model)
                            : fmt::format("{} on {} ({}), batch {}\n", roofline.model,
                                          roofline.device_model, roofline.device, roofline.batch);
  text += at_text(roofline);
  std::vector<std::string> roofs;
  for (const ComputeRoof& roof : roofline.roofs) {
    roofs.push_back(
        fmt::format("{} {}", roof_name(roof), format_count(roof.flops_per_s, "FLOP/s")));
  }
  for (size_t i = 0; i < roofs.size(); ++i) {
    text += roofline_field(i == 0 ? "roofs" : "", roofs[i]);
  }
  text += roofline_field("memory", fmt::format("{} ({})", format_count(roofline.bytes_per_s, "B/s"),
                                               peak_origin_name(roofline.bandwidth)));
  for (const MemoryLevel& level : roofline.caches) {
    text += roofline_field(
        level.name,
        fmt::format("{} ({}), {}", format_count(level.bytes_per_s, "B/s"),
                    peak_origin_name(peak_origin_of(level.source)), format_bytes(level.bytes)));
  }
  text += roofline_field("peaks", fmt::format("{}, of {}", peak_origin_name(roofline.peaks),
                                              printable(roofline.hardware, 40)));
  const RoofPoint& network = roofline.network;
  text += roofline_field(
      "network",
      roofline.unknown.complete()
          ? fmt::format("{} FLOP/B, {}, {}; {}{} on the device", intensity_text(network),
                        rate_text(network),
                        network.explains()
                            ? percent_text(network.efficiency()) + " of its roof"
                            : fmt::format("{} times", cost_source_name(network.source)),
                        least_prefix(roofline.unknown, roofline.bound_only_share),
                        roof_time(network.time_s))
          : fmt::format("at least {} on the device; of the part that is known: {} FLOP/B, {}",
                        roof_time(network.time_s), intensity_text(network), rate_text(network)));
  std::string times = roofline.measured ? "measured" : "cost model " + roofline.cost_model;
  if (roofline.bound_only_share > kMuchBoundOnly) {
    times += fmt::format("; {} of the time is bound-only", percent_text(roofline.bound_only_share));
  }
  text += roofline_field("times", times);
  text += counted_line(roofline);
  if (!roofline.scaling.empty()) {
    text += roofline_field("threads", roofline.scaling);
  }
  if (!roofline.pool.empty()) {
    text += roofline_field("pool", roofline.pool);
  }
  if (roofline.without_work > 0) {
    text += roofline_field("left out", fmt::format("{} of the time: operators of unknown work",
                                                   percent_text(roofline.without_work)));
  }
  text += above_text(roofline);
  text += '\n';
  text += table_of("Class", roofline.classes, roofline.classes.size(), true);
  text += '\n';
  text += floors_table(roofline);
  if (top > 0) {
    text += '\n';
    text += table_of("Operator", roofline.ops, top, false);
  }
  return text;
}

std::string roofline_json(const std::vector<RooflineReport>& rooflines, std::string_view swept,
                          const std::vector<Trajectory>& lines) {
  Json list = Json::array();
  for (const RooflineReport& roofline : rooflines) {
    list.push_back(one_json(roofline));
  }
  const Json json = {{"schema", kRooflineSchema},
                     {"rooflines", std::move(list)},
                     {"swept", swept.empty() ? Json(nullptr) : Json(swept)},
                     {"trajectories", trajectories_json(lines)}};
  return json.text();
}

}  // namespace dfsim::inline report
