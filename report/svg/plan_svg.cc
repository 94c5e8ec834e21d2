// Draws a plan: devices over time, with runs of tasks of one kind as one box, and weights as
// rectangles cut as the plan cuts them.
#include "report/svg/plan_svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/svg/svg.h"

namespace dfsim::inline report {
namespace {

constexpr double kPlanWidth = 1000;
constexpr double kPlanLeft = 110;
constexpr double kRow = 22;
constexpr double kCell = 56;  // of a tensor's picture
constexpr size_t kPlanMaxRows = 64;
constexpr size_t kMaxTensors = 40;
constexpr const char* kCompute[] = {"#4e79a7", "#76b7b2"};  // runs between gaps in turn
constexpr const char* kCommunication = "#e15759";

std::string box(double x, double y, double width, double height, const char* fill) {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" "
      "fill=\"{}\"/>\n",
      x, y, width, height, fill);
}

// Runs of tasks of one kind without a visible gap become one box.
std::string device_row(const PlanRun& run, const std::vector<TaskId>& order, double y) {
  const double plot = kPlanWidth - kPlanLeft - 20;
  const auto at = [&](TimeNs time_ns) {
    return kPlanLeft + plot * static_cast<double>(time_ns) /
                           static_cast<double>(std::max<TimeNs>(1, run.result.makespan_ns));
  };
  std::string out;
  double begin = 0;
  double end = -1;
  const char* fill = nullptr;
  const auto flush = [&] {
    if (end > begin) {
      out += box(begin, y, std::max(0.2, end - begin), kRow - 6, fill);
    }
  };
  size_t alternate = 0;
  for (const TaskId task : order) {
    const TaskRecord& record = run.result.tasks[task.index()];
    const bool compute = run.compiled.program.kinds[task.index()] != TaskKind::kCommunication;
    const double from = at(record.start_ns);
    if (record.end_ns == record.start_ns) {
      continue;
    }
    const bool gap = from - end > 0.3;
    alternate += gap ? 1 : 0;
    const char* colour = compute ? kCompute[alternate % 2] : kCommunication;
    if (gap || colour != fill) {
      flush();
      begin = from;
      fill = colour;
    }
    end = at(record.end_ns);
  }
  flush();
  return out;
}

// A tensor as a rectangle of its last two dimensions, cut as the plan cuts them.
std::string tensor_picture(const TensorRule& rule, const PlanFile& plan, double x, double y) {
  std::vector<int64_t> ways;
  std::string text;
  for (const auto& axes : rule.cut) {
    int64_t count = 1;
    for (const std::string& name : axes) {
      for (const MeshAxis& axis : plan.mesh) {
        count *= axis.name == name ? axis.size : 1;
      }
    }
    ways.push_back(count);
    text += (text.empty() ? "" : " x ") + (axes.empty() ? std::string("whole") : join(axes, "+"));
  }
  const int64_t columns = std::min<int64_t>(64, ways.empty() ? 1 : ways.back());
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < ways.size(); ++i) {
    rows = std::min<int64_t>(64, rows * ways[i]);
  }
  std::string out = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"#dbe5f0\" "
      "stroke=\"#4e79a7\"/>\n",
      x, y, kCell, kCell - 16);
  for (int64_t c = 1; c < columns; ++c) {
    const double at = x + kCell * static_cast<double>(c) / static_cast<double>(columns);
    out += fmt::format(
        "<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
        "stroke=\"#4e79a7\"/>\n",
        at, y, y + kCell - 16);
  }
  for (int64_t r = 1; r < rows; ++r) {
    const double at = y + (kCell - 16) * static_cast<double>(r) / static_cast<double>(rows);
    out += fmt::format(
        "<line x1=\"{1:.1f}\" x2=\"{2:.1f}\" y1=\"{0:.2f}\" y2=\"{0:.2f}\" "
        "stroke=\"#4e79a7\"/>\n",
        at, x, x + kCell);
  }
  const std::string more =
      rule.names.size() > 1 ? fmt::format(" and {} more", rule.names.size() - 1) : "";
  out += svg_text(x + kCell + 10, y + 16, rule.names.front() + more);
  return out + svg_text(x + kCell + 10, y + 32, text);
}

}  // namespace

std::string plan_svg(const PlanOutcome& outcome, const PlanRun& run, const Graph& graph) {
  const PlanFile& plan = outcome.plan;
  // Operators' splits show as the cuts of their weights.
  std::vector<TensorRule> tensors = plan.tensors;
  for (size_t t = 0; t < graph.tensor_count() && plan.tensors.empty(); ++t) {
    const TensorSharding& sharding = run.compiled.sharding.tensors[t];
    if (graph.tensor(TensorId(t)).role != TensorRole::kWeight || sharding.used() == 0) {
      continue;
    }
    TensorRule rule{{graph.tensor(TensorId(t)).name}, {}};
    for (const AxisSet axes : sharding.dims) {
      rule.cut.emplace_back();
      for (size_t a = 0; a < plan.mesh.size(); ++a) {
        if ((axes >> a & 1) != 0) {
          rule.cut.back().push_back(plan.mesh[a].name);
        }
      }
    }
    tensors.push_back(std::move(rule));
  }
  std::vector<DeviceId> devices;
  for (size_t d = 0; d < run.compiled.program.order.size() && devices.size() < kPlanMaxRows; ++d) {
    if (!run.compiled.program.order[d].empty()) {
      devices.emplace_back(d);
    }
  }
  const size_t shown = std::min(tensors.size(), kMaxTensors);
  const double chart = 70;
  const double pictures = chart + kRow * static_cast<double>(devices.size()) + 40;
  const double height = pictures + kCell * static_cast<double>(shown) + 20;
  std::string out = svg_head(kPlanWidth, height);
  out += svg_text(10, 22, fmt::format("{} on {}: {}", plan.model, plan.hardware, outcome.name));
  out += svg_text(
      10, 42,
      fmt::format("{} for a batch of {}; {} stage{}, {} micro-batch{}; blue, green: compute; "
                  "red: collectives",
                  format_time(outcome.makespan_ns), plan.batch, outcome.stages,
                  outcome.stages == 1 ? "" : "s", outcome.micro_batches,
                  outcome.micro_batches == 1 ? "" : "es"));
  double y = chart;
  for (const DeviceId device : devices) {
    out += svg_text(kPlanLeft - 8, y + 13, run.compiled.program.machine.device(device).name, "end");
    out += device_row(run, run.compiled.program.order[device.index()], y);
    y += kRow;
  }
  y = pictures;
  for (size_t i = 0; i < shown; ++i, y += kCell) {
    out += tensor_picture(tensors[i], plan, 20, y);
  }
  return out + "</svg>\n";
}

}  // namespace dfsim::inline report
