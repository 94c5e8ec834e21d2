// Draws the candidates and the Pareto front of a deployment search.
#include "report/svg/front_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg/svg.h"

namespace dfsim::inline report {
namespace {

constexpr double kFrontWidth = 860;
constexpr double kFrontHeight = 520;
constexpr double kFrontLeft = 70;
constexpr double kFrontRight = 30;
constexpr double kFrontTop = 50;
constexpr double kFrontBottom = 50;
constexpr int kFrontMarks = 5;  // of an axis, at least
constexpr double kFrontLabelHeight = 13;

// A mark distance of 1, 2 or 5 times a power of ten that gives `high` at least kFrontMarks marks.
double mark_step(double high) {
  const double power = std::pow(10, std::floor(std::log10(high / kFrontMarks)));
  for (const double step : {5.0, 2.0}) {
    if (high / (step * power) >= kFrontMarks) {
      return step * power;
    }
  }
  return power;
}

class FrontPlot {
 public:
  explicit FrontPlot(const DeploymentSearch& search) {
    for (const DeploymentCandidate& candidate : search.candidates) {
      high_x_ = std::max(high_x_, candidate.tokens_per_s_per_user);
      high_y_ = std::max(high_y_, candidate.tokens_per_s_per_gpu.value);
    }
    high_x_ *= 1.05;
    high_y_ *= 1.05;
  }
  double x(double value) const {
    return kFrontLeft + value / high_x_ * (kFrontWidth - kFrontLeft - kFrontRight);
  }
  double y(double value) const {
    return kFrontHeight - kFrontBottom -
           value / high_y_ * (kFrontHeight - kFrontTop - kFrontBottom);
  }

  std::string axes() const {
    std::string out;
    const char* const style = "stroke=\"#ddd\"";
    for (double mark = 0; mark <= high_x_; mark += mark_step(high_x_)) {
      out += rule(x(mark), y(0), x(mark), y(high_y_), style);
      out += svg_text(x(mark), y(0) + 18, fmt::format("{:g}", mark), "middle");
    }
    for (double mark = 0; mark <= high_y_; mark += mark_step(high_y_)) {
      out += rule(x(0), y(mark), x(high_x_), y(mark), style);
      out += svg_text(x(0) - 6, y(mark) + 4, fmt::format("{:g}", mark), "end");
    }
    out +=
        svg_text(x(high_x_ / 2), kFrontHeight - 12, "output tokens per second and user", "middle");
    out += svg_text(8, kFrontTop - 12, "output tokens per second and GPU");
    return out;
  }

 private:
  static std::string rule(double x1, double y1, double x2, double y2, const char* style) {
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1,
                       y1, x2, y2, style);
  }

  double high_x_ = 1;
  double high_y_ = 1;
};

std::string candidate_points(const FrontPlot& plot, const DeploymentSearch& search) {
  std::string out;
  for (const DeploymentCandidate& c : search.candidates) {
    if (!c.failure.empty()) {
      continue;
    }
    const char* const colour = c.on_front ? "#0072B2" : c.disaggregated ? "#E69F00" : "#666666";
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" stroke=\"{}\" fill=\"{}\" "
        "fill-opacity=\"0.7\"><title>{}, {} users: TTFT {:.4g} ms, TPOT {:.4g} ms</title>"
        "</circle>\n",
        plot.x(c.tokens_per_s_per_user), plot.y(c.tokens_per_s_per_gpu.value), c.on_front ? 5 : 3,
        colour, c.within_limits ? colour : "none", svg_escaped(c.layout()), c.users,
        c.ttft_ms.value, c.tpot_ms.value);
  }
  return out;
}

std::string front_line(const FrontPlot& plot, const DeploymentSearch& search) {
  std::string path;
  std::string names;
  std::string last;
  double free_y = 1e9;  // labels go up the drawing; each above the one before
  for (const size_t index : search.front) {
    const DeploymentCandidate& c = search.candidates[index];
    const double x = plot.x(c.tokens_per_s_per_user);
    const double y = plot.y(c.tokens_per_s_per_gpu.value);
    path += fmt::format("{:.1f},{:.1f} ", x, y);
    const std::string name =
        fmt::format("{}, {}", c.layout(), llm_precision_name(c.precisions.mlp));
    if (name != last) {
      free_y = std::min(y - 8, free_y - kFrontLabelHeight);
      const bool right = x < kFrontWidth / 2;
      names += svg_text(right ? x + 8 : x - 8, free_y, name, right ? "start" : "end");
      last = name;
    }
  }
  return fmt::format(
             "<polyline points=\"{}\" fill=\"none\" stroke=\"#0072B2\" stroke-width=\"2\"/>\n",
             path) +
         names;
}

}  // namespace

std::string front_svg(const DeploymentSearch& search, const std::string& title) {
  const FrontPlot plot(search);
  return svg_head(kFrontWidth, kFrontHeight) + svg_text(kFrontLeft, 20, title) + plot.axes() +
         candidate_points(plot, search) + front_line(plot, search) + "</svg>\n";
}

}  // namespace dfsim::inline report
