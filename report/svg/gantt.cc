// Gantt charts as text and SVG, and performance profiles. Tasks narrower than a column of text
// merge with their neighbours.
#include "report/svg/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/svg/svg.h"

namespace dfsim::inline report {
namespace {

constexpr size_t kMaxRows = 64;
constexpr double kLeastPixels = 1.0 / 3.0;
constexpr const char* kColours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
                                    "#edc948", "#b07aa1", "#9c755f", "#ff9da7", "#86bcb6"};

// Tasks of each device in the order of their starts.
std::vector<std::vector<TaskId>> rows_of(const Comparison& comparison,
                                         const PolicyOutcome& outcome) {
  std::vector<std::vector<TaskId>> rows(comparison.devices.size());
  for (size_t i = 0; i < outcome.result.tasks.size(); ++i) {
    rows[outcome.result.tasks[i].device.index()].push_back(TaskId(i));
  }
  for (auto& row : rows) {
    std::ranges::stable_sort(row, {}, [&](TaskId task) {
      const TaskRecord& record = outcome.result.tasks[task.index()];
      return std::pair(record.start_ns, record.end_ns);
    });
  }
  return rows;
}

const char* colour(size_t i) { return kColours[i % std::size(kColours)]; }

std::string gantt_rows_svg(const Comparison& comparison, const PolicyOutcome& outcome,
                           const ExecGraph& graph, const TimeFormat& format, double top,
                           double left, double width, double row_height, TimeNs longest) {
  std::string out;
  const auto rows = rows_of(comparison, outcome);
  const double scale = width / static_cast<double>(std::max<TimeNs>(1, longest));
  for (size_t d = 0; d < rows.size(); ++d) {
    const double y = top + static_cast<double>(d) * row_height;
    out += svg_text(left - 6, y + row_height * 0.65, comparison.devices[d], "end");
    double drawn_to = left;
    for (const TaskId task : rows[d]) {
      const TaskRecord& record = outcome.result.tasks[task.index()];
      const double begin = std::max(drawn_to, left + static_cast<double>(record.start_ns) * scale);
      const double end = left + static_cast<double>(record.end_ns) * scale;
      if (end - begin < kLeastPixels) {
        continue;
      }
      out += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\" "
          "stroke=\"white\" stroke-width=\"0.3\"><title>{}: {} to {}</title></rect>\n",
          begin, y + 2, end - begin, row_height - 4, colour(task.index()),
          svg_escaped(graph.name(task)), format.text(record.start_ns), format.text(record.end_ns));
      drawn_to = end;
    }
  }
  return out;
}

}  // namespace

std::string gantt_text(const Comparison& comparison, const PolicyOutcome& outcome,
                       const ExecGraph& graph, const TimeFormat& format, size_t width) {
  constexpr size_t kMaxLabel = 16;
  size_t label = 4;
  for (const std::string& device : comparison.devices) {
    label = std::min(kMaxLabel, std::max(label, device.size()));
  }
  width = std::max<size_t>(width, 40);
  constexpr size_t kShare = 6;  // " 100 %"
  const size_t columns = width - label - 3 - kShare;
  const auto column = [&](TimeNs time) {
    return static_cast<size_t>(static_cast<double>(time) /
                               static_cast<double>(std::max<TimeNs>(1, outcome.makespan_ns)) *
                               static_cast<double>(columns));
  };
  std::string out = fmt::format("{} ({})\n", outcome.name, format.text(outcome.makespan_ns));
  const auto rows = rows_of(comparison, outcome);
  for (size_t d = 0; d < std::min(rows.size(), kMaxRows); ++d) {
    std::string line(columns, '.');
    bool odd = false;
    for (const TaskId task : rows[d]) {
      const TaskRecord& record = outcome.result.tasks[task.index()];
      const size_t begin = column(record.start_ns);
      const size_t end = std::min(columns, column(record.end_ns));
      odd = !odd;
      for (size_t c = begin; c < end; ++c) {
        line[c] = odd ? '#' : '=';
      }
      const std::string name = printable(graph.name(task), 60);
      if (end > begin && name.size() + 2 <= end - begin) {
        line.replace(begin + (end - begin - name.size()) / 2, name.size(), name);
      }
    }
    const double busy = static_cast<double>(outcome.result.devices[d].busy_ns) /
                        static_cast<double>(std::max<TimeNs>(1, outcome.makespan_ns));
    out += fmt::format("{:<{}} |{}|{:4.0f} %\n",
                       printable(comparison.devices[d], label).substr(0, label), label, line,
                       100 * busy);
  }
  if (rows.size() > kMaxRows) {
    out += fmt::format("... and {} more devices\n", rows.size() - kMaxRows);
  }
  const std::string end = format.text(outcome.makespan_ns);
  out += fmt::format("{:<{}}  0{:>{}}\n", "", label, end, columns - 1);
  return out;
}

std::string comparison_svg(const Comparison& comparison, const ExecGraph& graph,
                           const TimeFormat& format, bool all) {
  constexpr double kWidth = 1000;
  constexpr double kLeft = 150;
  constexpr double kRight = 110;
  constexpr double kBar = 18;
  constexpr double kRow = 26;
  const double plot = kWidth - kLeft - kRight;
  size_t bars = 0;
  TimeNs longest = 1;
  for (const PolicyOutcome& outcome : comparison.policies) {
    bars += outcome.status.ok() ? 1 : 0;
    longest = std::max(longest, outcome.makespan_ns);
  }
  const double gantt_top = 80 + static_cast<double>(bars) * kBar;
  std::vector<const PolicyOutcome*> drawn;
  for (const PolicyOutcome& outcome : comparison.policies) {
    if (outcome.status.ok() &&
        (all ? !outcome.result.tasks.empty() : &outcome == comparison.best())) {
      drawn.push_back(&outcome);
    }
  }
  // One under the other, each with its name above and its scale below.
  const double gantt_height = static_cast<double>(comparison.devices.size()) * kRow + 40;
  const double height =
      gantt_top + static_cast<double>(std::max<size_t>(1, drawn.size())) * gantt_height;
  std::string out = svg_head(kWidth, height);
  out += svg_text(10, 22, fmt::format("{} on {}", comparison.graph, comparison.hardware));
  double y = 38;
  for (const PolicyOutcome& outcome : comparison.policies) {
    if (!outcome.status.ok()) {
      continue;
    }
    const double length =
        plot * static_cast<double>(outcome.makespan_ns) / static_cast<double>(longest);
    const bool best =
        comparison.best() != nullptr && outcome.makespan_ns == comparison.best()->makespan_ns;
    out += svg_text(kLeft - 6, y + 12, outcome.name, "end");
    out += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"/>\n",
                       kLeft, y, length, kBar - 4, best ? "#59a14f" : "#bab0ac");
    out += svg_text(kLeft + length + 5, y + 12, format.text(outcome.makespan_ns));
    y += kBar;
  }
  const double bound =
      kLeft + plot * static_cast<double>(comparison.lower_bound_ns) / static_cast<double>(longest);
  out += fmt::format(
      "<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"32\" y2=\"{1:.1f}\" stroke=\"#e15759\" "
      "stroke-dasharray=\"4 3\"><title>lower bound</title></line>\n",
      bound, y);
  double top = gantt_top;
  for (const PolicyOutcome* outcome : drawn) {
    const TimeNs scale = all ? longest : outcome->makespan_ns;
    out += svg_text(10, top - 12, outcome->name);
    out += gantt_rows_svg(comparison, *outcome, graph, format, top, kLeft, plot, kRow, scale);
    out += svg_text(kLeft, top + gantt_height - 14, "0");
    out += svg_text(kLeft + plot, top + gantt_height - 14, format.text(scale), "end");
    top += gantt_height;
  }
  return out + "</svg>\n";
}

std::string profile_svg(const std::vector<PolicySummary>& summary, size_t instances) {
  constexpr double kWidth = 900;
  constexpr double kHeight = 480;
  constexpr double kLeft = 60;
  constexpr double kTop = 40;
  constexpr double kPlotWidth = 640;
  constexpr double kPlotHeight = 380;
  constexpr double kMostFactor = 10;
  double most = 1.05;
  for (const PolicySummary& policy : summary) {
    most = std::max(most, policy.ratios.back());
  }
  most = std::min(most, kMostFactor);
  const auto x = [&](double factor) {
    return kLeft + kPlotWidth * std::log(std::clamp(factor, 1.0, most)) / std::log(most);
  };
  const auto y = [&](double share) { return kTop + kPlotHeight * (1 - share); };
  // The legend may be longer than the plot is high.
  const double height = std::max(kHeight, kTop + 20 + static_cast<double>(summary.size()) * 13);
  std::string out = svg_head(kWidth, height);
  out += svg_text(kLeft, 22,
                  fmt::format("share of {} problems within a factor of the best", instances));
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    out +=
        fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n",
                    kLeft, kLeft + kPlotWidth, y(share));
    out += svg_text(kLeft - 6, y(share) + 4, fmt::format("{:.0f} %", 100 * share), "end");
  }
  for (size_t i = 0; i < summary.size(); ++i) {
    const PolicySummary& policy = summary[i];
    std::string points;
    double share = 0;
    for (size_t k = 0; k < policy.ratios.size() && policy.ratios[k] <= most; ++k) {
      points += fmt::format("{:.1f},{:.1f} ", x(policy.ratios[k]), y(share));
      share = static_cast<double>(k + 1) / static_cast<double>(std::max<size_t>(1, instances));
      points += fmt::format("{:.1f},{:.1f} ", x(policy.ratios[k]), y(share));
    }
    points += fmt::format("{:.1f},{:.1f}", x(most), y(share));
    const char* dash = i < std::size(kColours)       ? "none"
                       : i < 2 * std::size(kColours) ? "6 3"
                                                     : "2 2";
    out += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" "
        "stroke-dasharray=\"{}\"><title>{}</title></polyline>\n",
        points, colour(i), dash, svg_escaped(policy.name));
    const double row = kTop + 4 + static_cast<double>(i) * 13;
    out += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
        "stroke-width=\"2\" stroke-dasharray=\"{4}\"/>\n",
        kLeft + kPlotWidth + 20, kLeft + kPlotWidth + 50, row, colour(i), dash);
    out += svg_text(kLeft + kPlotWidth + 56, row + 4, policy.name);
  }
  out += svg_text(kLeft, kHeight - 36, "1");
  out += svg_text(kLeft + kPlotWidth, kHeight - 36, fmt::format("{:.2f}", most), "end");
  return out + "</svg>\n";
}

}  // namespace dfsim::inline report
