// Text and JSON of a calibration: roofs, the files it made, and the errors to expect.
#include "report/measurements/calibration_views.h"
#include "base/counted.h"
#include "base/json/json_tree.h"

#include <fmt/format.h>
#include <filesystem>

#include "base/text.h"
#include "base/text_table.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string expectation(const Calibration& calibration) {
  const ErrorStats& held_out = calibration.held_out;
  if (held_out.n == 0) {
    return "not known: too few operators were measured to hold some out; measure longer";
  }
  return fmt::format(
      "operators of shapes not measured: {:.1f} % off on average, half of them less than {:.1f} %\n"
      "               (held out{}: {})",
      held_out.mape * 100, held_out.median * 100,
      calibration.like.empty() ? "" : ", learned without " + calibration.like,
      counted(held_out.n, "shape"));
}

std::string networks_text(const Calibration& calibration) {
  const ValidationSummary& networks = calibration.networks;
  const std::string errors =
      networks.runs == 0
          ? "networks: not known"
          : fmt::format(
                "networks: {:.1f} % off on average, at most {:.1f} % ({} of {} "
                "whose operators were trained on)",
                networks.mean * 100, networks.worst * 100, counted(networks.runs, "run"),
                counted(networks.networks, "network"));
  return fmt::format("{}\n               80 % intervals of networks {}", errors,
                     calibration.not_fitted.empty()
                         ? "are fitted to these runs"
                         : "are a first guess: " + calibration.not_fitted);
}

std::string roofs_text(const std::vector<HostRoofs>& all) {
  TextTable table({{"Roof"},
                   {"threads", Align::kRight},
                   {"rate", Align::kRight},
                   {"typical", Align::kRight},
                   {"kernel"}});
  for (const HostRoofs& roofs : all) {
    for (const MeasuredPeak& peak : roofs.peaks) {
      table.add_row({std::string(dtype_name(peak.dtype)), std::to_string(roofs.threads),
                     format_count(peak.flops_per_s, "op/s"),
                     format_count(peak.typical_flops_per_s, "op/s"), peak.kernel});
    }
    if (roofs.product.flops_per_s > 0) {
      table.add_row({"matrices", std::to_string(roofs.threads),
                     format_count(roofs.product.flops_per_s, "op/s"),
                     format_count(roofs.product.typical_flops_per_s, "op/s"),
                     roofs.product.kernel});
    }
    for (const MeasuredBandwidth& level : roofs.bandwidths) {
      table.add_row({level.level, std::to_string(roofs.threads),
                     format_count(level.bytes_per_s, "B/s"),
                     format_count(level.typical_bytes_per_s, "B/s"), level.kernel});
    }
  }
  std::string text = table.render(kTextColumns, 0);
  if (!all.empty() && !all.back().without_kernel.empty()) {
    std::vector<std::string> names;
    for (const DType dtype : all.back().without_kernel) {
      names.emplace_back(dtype_name(dtype));
    }
    text += fmt::format("no roof for {}: its matrix units have no kernel here\n",
                        fmt::join(names, ", "));
  }
  return text;
}

Json roofs_tree(const std::vector<HostRoofs>& all) {
  Json list = Json::array();
  for (const HostRoofs& roofs : all) {
    const auto peak_json = [](const MeasuredPeak& peak) {
      return Json{{"dtype", dtype_name(peak.dtype)},
                  {"flops_per_s", peak.flops_per_s},
                  {"typical_flops_per_s", peak.typical_flops_per_s},
                  {"kernel", peak.kernel}};
    };
    Json peaks = Json::array();
    for (const MeasuredPeak& peak : roofs.peaks) {
      peaks.push_back(peak_json(peak));
    }
    Json levels = Json::array();
    for (const MeasuredBandwidth& level : roofs.bandwidths) {
      levels.push_back({{"level", level.level},
                        {"bytes_per_s", level.bytes_per_s},
                        {"typical_bytes_per_s", level.typical_bytes_per_s},
                        {"bytes", level.bytes},
                        {"kernel", level.kernel}});
    }
    list.push_back({{"threads", roofs.threads},
                    {"peaks", std::move(peaks)},
                    {"product", roofs.product.flops_per_s > 0 ? peak_json(roofs.product) : Json()},
                    {"bandwidths", std::move(levels)}});
  }
  return list;
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  std::string text = calibration.roofs.empty() ? "" : roofs_text(calibration.roofs) + "\n";
  if (!calibration.no_roofs.empty()) {
    text += fmt::format("roofs          not measured: {}\n", calibration.no_roofs);
  }
  if (calibration.model.empty()) {
    return text + fmt::format(
                      "roofs          {}\nhardware       {}, whose times follow from the {}CPU of "
                      "{}\n\nNext: dfsim predict MODEL.onnx --hw {}\n",
                      calibration.roofs_file, fmt::join(calibration.hardware, ", "),
                      calibration.nearest.same_design ? "same kind of " : "",
                      calibration.nearest.model, calibration.hardware.back());
  }
  const std::string& host = calibration.hardware.back();
  return text + fmt::format(
                    "hardware       {}\nmodel          {}, trained on {}\nto expect      {}\n "
                    "              "
                    "{}\n\nNext: dfsim "
                    "predict MODEL.onnx --hw {}\n      dfsim validate --runs {} --hw {}\n",
                    fmt::join(calibration.hardware, ", "), calibration.model,
                    counted(calibration.rows, "row") +
                        (calibration.like.empty() ? "" : " and those of " + calibration.like),
                    expectation(calibration), networks_text(calibration), host,
                    (std::filesystem::path(host).parent_path() / "runs.csv").string(),
                    fmt::join(calibration.hardware, " --hw "));
}

std::string calibration_json(const Calibration& calibration) {
  if (calibration.model.empty()) {
    const Json json = {
        {"schema", "dfsim.calibrate/1"},
        {"roofs", roofs_tree(calibration.roofs)},
        {"hardware", calibration.hardware},
        {"nearest_cpu",
         {{"model", calibration.nearest.model}, {"same_design", calibration.nearest.same_design}}}};
    return json.text();
  }
  const Json json = {{"schema", "dfsim.calibrate/1"},
                     {"roofs", roofs_tree(calibration.roofs)},
                     {"hardware", calibration.hardware},
                     {"model", calibration.model},
                     {"rows", calibration.rows},
                     {"like", calibration.like.empty() ? Json() : Json(calibration.like)},
                     {"held_out",
                      {{"n", calibration.held_out.n},
                       {"mape", calibration.held_out.mape},
                       {"median", calibration.held_out.median}}},
                     {"networks",
                      {{"runs", calibration.networks.runs},
                       {"networks", calibration.networks.networks},
                       {"mean_error", calibration.networks.mean},
                       {"worst_error", calibration.networks.worst},
                       {"intervals_fitted", calibration.not_fitted.empty()}}}};
  return json.text();
}

}  // namespace dfsim::inline report
