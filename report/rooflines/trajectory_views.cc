// Text and JSON of trajectories. Steps between names show the ratio of times, others that of rates.
#include "report/rooflines/trajectory_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"
#include "base/text_table.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

constexpr size_t kLongestValue = 24;

std::string step_text(const TrajectoryStep& step) {
  return step.to_name.empty() ? fmt::format("{:g} to {:g}", step.from, step.to)
                              : fmt::format("{} to {}", printable(step.from_name, kLongestValue),
                                            printable(step.to_name, kLongestValue));
}

// The share of the network's time in changes of element type or layout.
std::string conversions_text(const Trajectory& line) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < line.points.size(); ++i) {
    const RoofPoint& point = line.points[i];
    parts.push_back(
        fmt::format("{} {}", printable(line.values[i], kLongestValue),
                    percent_text(point.time_s > 0 ? point.conversion_s / point.time_s : 0)));
  }
  return fmt::format("  conversions of type or layout: {} of the time\n", join(parts, ", "));
}

// Lines of the same further sweeps.
std::string lines_text(std::string_view swept, std::span<const Trajectory> lines) {
  TextTable table({{"Line"},
                   {std::string(swept), Align::kRight},
                   {"FLOP/B", Align::kRight},
                   {"rate", Align::kRight},
                   {"time", Align::kRight},
                   {"gain", Align::kRight},
                   {"reading"}});
  for (const Trajectory& line : lines) {
    for (const TrajectoryStep& step : line.steps) {
      const auto at = static_cast<size_t>(&step - line.steps.data()) + 1;
      const RoofPoint& point = line.points[at];
      table.add_row({line.name, step_text(step), intensity_text(point), rate_text(point),
                     step.same_work ? format_time(ns_from_seconds(point.time_s)) : "",
                     fmt::format("{:.2f}x", step.gain()),
                     std::string(step_reading_name(step.reading))});
    }
  }
  table.drop_empty_columns();
  std::string text = lines.front().at.empty() ? "" : fmt::format("  At {}:\n", lines.front().at);
  text += table.render(kTextColumns, 2);
  const Trajectory& line = lines.front();
  const bool converts = (swept == "precision" || swept == "layout") &&
                        std::ranges::any_of(line.points, [](const RoofPoint& point) {
                          return point.conversion_s > 0;
                        });
  return converts && line.values.size() == line.points.size() ? text + conversions_text(line)
                                                              : text;
}

Json swept_value(double number, const std::string& name) {
  return name.empty() ? Json(number) : Json(name);
}

}  // namespace

std::string intensity_text(const RoofPoint& point) {
  return point.flops > 0 ? fmt::format("{:.3g}", point.intensity()) : "0";
}

std::string rate_text(const RoofPoint& point) {
  return point.flops > 0 ? format_count(point.flops_per_s(), "FLOP/s")
                         : format_count(point.bytes_per_s(), "B/s");
}

std::string trajectories_text(std::string_view swept, const std::vector<Trajectory>& lines) {
  std::string text;
  for (size_t first = 0; first < lines.size();) {
    size_t last = first;
    while (last < lines.size() && lines[last].at == lines[first].at) {
      ++last;
    }
    text += lines_text(swept, {lines.data() + first, last - first}) + "\n";
    first = last;
  }
  std::vector<StepReading> seen;
  for (const Trajectory& line : lines) {
    for (const TrajectoryStep& step : line.steps) {
      if (std::find(seen.begin(), seen.end(), step.reading) == seen.end()) {
        seen.push_back(step.reading);
      }
    }
  }
  for (const StepReading reading : seen) {
    text += fmt::format("  {}: {}\n", step_reading_name(reading), step_advice(reading));
  }
  return text;
}

Json point_json(const RoofPoint& point) {
  return {{"name", point.name},
          {"op_type", point.op_type},
          {"class", op_class_name(point.op_class)},
          {"dtype", dtype_name(point.dtype)},
          {"matrix", point.matrix},
          {"counted", point.counted},
          {"ops", point.ops},
          {"flops", point.flops},
          {"bytes", point.bytes},
          {"time_us", point.time_s * 1e6},
          {"low_us", point.low_s * 1e6},
          {"high_us", point.high_s * 1e6},
          {"least_time_us", point.bound_s * 1e6},
          {"compute_us", point.compute_s * 1e6},
          {"memory_us", point.memory_s * 1e6},
          {"launch_us", point.launch_s * 1e6},
          {"conversion_us", point.conversion_s * 1e6},
          {"intensity", point.intensity()},
          {"flops_per_s", point.flops_per_s()},
          {"bytes_per_s", point.bytes_per_s()},
          {"roof_flops_per_s", point.roof_flops_per_s},
          {"efficiency", point.explains() ? Json(point.efficiency()) : Json(nullptr)},
          {"share", point.share},
          {"bound", bound_name(point.bound)},
          {"source", cost_source_name(point.source)}};
}

Json points_json(const std::vector<RoofPoint>& points) {
  Json list = Json::array();
  for (const RoofPoint& point : points) {
    list.push_back(point_json(point));
  }
  return list;
}

Json trajectory_steps_json(const Trajectory& line) {
  Json steps = Json::array();
  for (const TrajectoryStep& step : line.steps) {
    steps.push_back({{"from", swept_value(step.from, step.from_name)},
                     {"to", swept_value(step.to, step.to_name)},
                     {"dx", step.dx},
                     {"dy", step.dy},
                     {"gain", step.gain()},
                     {"efficiency", step.to_name.empty() ? Json(step.efficiency) : Json(nullptr)},
                     {"of_compute", step.of_compute},
                     {"of_memory", step.of_memory},
                     {"reading", step_reading_name(step.reading)},
                     {"advice", step_advice(step.reading)}});
  }
  return steps;
}

Json trajectories_json(const std::vector<Trajectory>& lines) {
  Json list = Json::array();
  for (const Trajectory& line : lines) {
    list.push_back({{"name", line.label()},
                    {"of", line.name},
                    {"values", line.values},
                    {"points", points_json(line.points)},
                    {"steps", trajectory_steps_json(line)}});
  }
  return list;
}

}  // namespace dfsim::inline report
