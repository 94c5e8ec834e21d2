// Draws rooflines on logarithmic axes: roofs, operators with areas by time, and trajectories.
#include "report/svg/roofline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "report/svg/svg.h"

namespace dfsim::inline report {
namespace {

constexpr double kSvgWidth = 860;
constexpr double kSvgHeight = 520;
constexpr double kLeft = 70;
constexpr double kRight = 190;  // room for the legend
constexpr double kTop = 40;
constexpr double kBottom = 50;
constexpr double kLabelHeight = 14;

// Okabe and Ito's palette, which colour-blind people tell apart.
constexpr std::array<const char*, 7> kPalette = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                 "#E69F00", "#56B4E9", "#666666"};

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

// Both axes are powers of ten.
class Plot {
 public:
  Plot(const RooflineReport& roofline, const std::vector<Trajectory>& lines) {
    for (const RoofPoint& point : roofline.ops) {
      include(point);
    }
    for (const Trajectory& trajectory : lines) {
      for (const RoofPoint& point : trajectory.points) {
        include(point);
      }
    }
    for (const ComputeRoof& roof : roofline.roofs) {
      high_y_ = std::max(high_y_, std::log10(roof.flops_per_s));
      if (roofline.bytes_per_s > 0) {
        high_x_ = std::max(high_x_, std::log10(roof.flops_per_s / roofline.bytes_per_s) + 0.5);
      }
    }
    low_x_ = std::floor(std::min(low_x_, high_x_));
    high_x_ = std::ceil(high_x_);
    high_y_ = std::ceil(high_y_ + 0.1);
    low_y_ = std::floor(std::max(std::min(low_y_, high_y_ - 1), high_y_ - 8));
  }

  double low_x() const { return low_x_; }
  double high_x() const { return high_x_; }
  double low_y() const { return low_y_; }
  double high_y() const { return high_y_; }
  double x(double log_intensity) const {
    return kLeft + (log_intensity - low_x_) / (high_x_ - low_x_) * (kSvgWidth - kLeft - kRight);
  }
  double y(double log_rate) const {
    const double clamped = std::clamp(log_rate, low_y_, high_y_);
    return kSvgHeight - kBottom -
           (clamped - low_y_) / (high_y_ - low_y_) * (kSvgHeight - kTop - kBottom);
  }

 private:
  void include(const RoofPoint& point) {
    if (point.flops > 0 && point.bytes > 0 && point.time_s > 0) {
      low_x_ = std::min(low_x_, std::log10(point.intensity()));
      high_x_ = std::max(high_x_, std::log10(point.intensity()));
      low_y_ = std::min(low_y_, std::log10(point.flops_per_s()));
      high_y_ = std::max(high_y_, std::log10(point.flops_per_s()));
    }
  }

  double low_x_ = 0;
  double high_x_ = 1;
  double low_y_ = 12;
  double high_y_ = 0;
};

std::string axes(const Plot& plot) {
  std::string out;
  for (double e = plot.low_x(); e <= plot.high_x(); ++e) {
    out +=
        line(plot.x(e), plot.y(plot.low_y()), plot.x(e), plot.y(plot.high_y()), "stroke=\"#ddd\"");
    out += svg_text(plot.x(e), kSvgHeight - kBottom + 18, fmt::format("{:g}", std::pow(10, e)),
                    "middle");
  }
  for (double e = plot.low_y(); e <= plot.high_y(); ++e) {
    out +=
        line(plot.x(plot.low_x()), plot.y(e), plot.x(plot.high_x()), plot.y(e), "stroke=\"#ddd\"");
    out += svg_text(kLeft - 6, plot.y(e) + 4, format_count(std::pow(10, e)), "end");
  }
  out += svg_text((kLeft + kSvgWidth - kRight) / 2, kSvgHeight - 12,
                  "arithmetic intensity (FLOP per byte)", "middle");
  out += svg_text(8, kTop - 12, "FLOP/s");
  return out;
}

std::string roofs(const Plot& plot, const RooflineReport& roofline) {
  std::string out;
  const double bandwidth = std::log10(std::max(roofline.bytes_per_s, 1.0));
  double highest = plot.low_y();
  double label_y = -kLabelHeight;
  for (const ComputeRoof& roof : roofline.roofs) {
    const double peak = std::log10(roof.flops_per_s);
    highest = std::max(highest, peak);
    const double ridge = std::clamp(peak - bandwidth, plot.low_x(), plot.high_x());
    out += line(plot.x(ridge), plot.y(peak), plot.x(plot.high_x()), plot.y(peak),
                "stroke=\"black\" stroke-width=\"1.5\"");
    label_y = std::max(plot.y(peak) + 4, label_y + kLabelHeight);  // equal roofs, one below another
    out += svg_text(plot.x(plot.high_x()) + 4, label_y,
                    fmt::format("{}{}: {}", dtype_name(roof.dtype), roof.matrix ? " matrix" : "",
                                format_count(roof.flops_per_s)));
  }
  const auto memory_roof = [&](double bytes_per_s, const std::string& name, const char* style) {
    const double level = std::log10(bytes_per_s);
    const double from = std::max(plot.low_x(), plot.low_y() - level);
    const double to = std::min(plot.high_x(), highest - level);
    if (to > from) {
      out += line(plot.x(from), plot.y(from + level), plot.x(to), plot.y(to + level), style);
      out += svg_text(plot.x(from) + 14, plot.y(from + level) + 8, name);
    }
  };
  if (roofline.bytes_per_s > 0) {
    memory_roof(roofline.bytes_per_s, "memory", "stroke=\"black\" stroke-width=\"1.5\"");
  }
  for (const MemoryLevel& level : roofline.caches) {
    memory_roof(level.bytes_per_s, level.name,
                "stroke=\"black\" stroke-width=\"1\" stroke-dasharray=\"5 4\"");
  }
  return out;
}

size_t colour_of(const RooflineReport& roofline, const std::string& op_class) {
  for (size_t i = 0; i < roofline.classes.size(); ++i) {
    if (roofline.classes[i].name == op_class) {
      return std::min(i, kPalette.size() - 1);
    }
  }
  return kPalette.size() - 1;
}

std::string points(const Plot& plot, const RooflineReport& roofline) {
  std::string out;
  for (const RoofPoint& op : roofline.ops) {
    if (op.flops <= 0 || op.bytes <= 0 || op.time_s <= 0) {
      continue;
    }
    const size_t colour = colour_of(roofline, std::string(op_class_name(op.op_class)));
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" "
        "fill-opacity=\"0.55\"><title>{} ({}): {:.3g} FLOP/B, {}, {:.1f} % of the time</title>"
        "</circle>\n",
        plot.x(std::log10(op.intensity())), plot.y(std::log10(op.flops_per_s())),
        2 + 22 * std::sqrt(op.share), kPalette[colour], svg_escaped(op.name),
        svg_escaped(op.op_type), op.intensity(), format_count(op.flops_per_s(), "FLOP/s"),
        op.share * 100);
  }
  return out;
}

// "conv, batch 4, int8: 12 FLOP/B, 3.4 GFLOP/s".
std::string point_title(const Trajectory& trajectory, size_t i) {
  const RoofPoint& point = trajectory.points[i];
  const std::string value = i < trajectory.values.size() ? ", " + trajectory.values[i] : "";
  return fmt::format("{}{}: {:.3g} FLOP/B, {}", trajectory.label(), value, point.intensity(),
                     format_count(point.flops_per_s(), "FLOP/s"));
}

// The last report of a sweep, with the compute roofs of all of them: a precision has its own.
RooflineReport with_all_roofs(const std::vector<RooflineReport>& rooflines) {
  RooflineReport last = rooflines.back();
  for (const RooflineReport& roofline : rooflines) {
    for (const ComputeRoof& roof : roofline.roofs) {
      const bool known = std::ranges::any_of(last.roofs, [&roof](const ComputeRoof& other) {
        return other.dtype == roof.dtype && other.matrix == roof.matrix;
      });
      if (!known) {
        last.roofs.push_back(roof);
      }
    }
  }
  std::ranges::stable_sort(last.roofs, std::ranges::greater(), &ComputeRoof::flops_per_s);
  return last;
}

std::string paths(const Plot& plot, const RooflineReport& roofline,
                  const std::vector<Trajectory>& lines) {
  std::string out;
  for (const Trajectory& trajectory : lines) {
    const bool network = trajectory.name == "network";
    const char* const colour = network ? "black" : kPalette[colour_of(roofline, trajectory.name)];
    std::string path;
    for (size_t i = 0; i < trajectory.points.size(); ++i) {
      const RoofPoint& point = trajectory.points[i];
      if (point.flops > 0 && point.bytes > 0 && point.time_s > 0) {
        const double px = plot.x(std::log10(point.intensity()));
        const double py = plot.y(std::log10(point.flops_per_s()));
        path += fmt::format("{:.1f},{:.1f} ", px, py);
        out += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}</title></circle>\n",
            px, py, colour, svg_escaped(point_title(trajectory, i)));
        if (network && i < trajectory.values.size()) {
          // In turns, because neighbours may be close.
          out += svg_text(px, py + (i % 2 == 0 ? -6 : 16), trajectory.values[i], "middle");
        }
      }
    }
    out +=
        fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n",
                    path, colour, network ? 2.5 : 1.2);
  }
  return out;
}

}  // namespace

std::string roofline_svg(const RooflineReport& roofline, const std::vector<Trajectory>& lines) {
  const Plot plot(roofline, lines);
  std::string out = svg_head(kSvgWidth, kSvgHeight);
  out +=
      svg_text(kLeft, 20,
               fmt::format("{} on {}, batch {} (peaks: {})", roofline.model, roofline.device_model,
                           roofline.batch, peak_origin_name(roofline.peaks)));
  out += axes(plot) + roofs(plot, roofline);
  out += lines.empty() ? points(plot, roofline) : paths(plot, roofline, lines);
  for (size_t i = 0; i < std::min(roofline.classes.size(), kPalette.size()); ++i) {
    const double y = kSvgHeight / 2 + static_cast<double>(i) * 20;
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\" fill=\"{}\"/>\n",
                       kSvgWidth - kRight + 16, y - 4, kPalette[i]);
    out += svg_text(
        kSvgWidth - kRight + 28, y,
        fmt::format("{} {:.0f} %", roofline.classes[i].name, roofline.classes[i].share * 100));
  }
  return out + "</svg>\n";
}

std::string roofline_svg(const std::vector<RooflineReport>& rooflines,
                         const std::vector<Trajectory>& lines) {
  return roofline_svg(with_all_roofs(rooflines), lines);
}

}  // namespace dfsim::inline report
