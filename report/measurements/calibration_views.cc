#include "report/measurements/calibration_views.h"
#include "base/counted.h"
#include "base/json/json_tree.h"

#include <fmt/format.h>
#include <filesystem>

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string expectation(const ErrorStats& held_out) {
  if (held_out.n == 0) {
    return "not known: too few operators were measured to hold some out; measure longer";
  }
  return fmt::format(
      "operators of shapes not measured: {:.1f} % off on average, half of them less than {:.1f} %\n"
      "               (held out: {})",
      held_out.mape * 100, held_out.median * 100, counted(held_out.n, "shape"));
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

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  const std::string& host = calibration.hardware.back();
  return fmt::format(
      "hardware       {}\nmodel          {}, trained on {}\nto expect      {}\n               "
      "{}\n\nNext: dfsim "
      "predict MODEL.onnx --hw {}\n      dfsim validate --runs {} --hw {}\n",
      fmt::join(calibration.hardware, ", "), calibration.model, counted(calibration.rows, "row"),
      expectation(calibration.held_out), networks_text(calibration), host,
      (std::filesystem::path(host).parent_path() / "runs.csv").string(),
      fmt::join(calibration.hardware, " --hw "));
}

std::string calibration_json(const Calibration& calibration) {
  const Json json = {{"schema", "dfsim.calibrate/1"},
                     {"hardware", calibration.hardware},
                     {"model", calibration.model},
                     {"rows", calibration.rows},
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
