// Costs a model under roofs. Machines whose cores are divided start from the times of one core.
#include "study/roofline/model_roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "opmodel/model/model_loader.h"
#include "study/chain/machine_source.h"
#include "study/chain/model_run.h"
#include "study/roofline/layout_choice.h"
#include "study/roofline/scaling/operator_pool.h"
#include "study/roofline/scaling/thread_scaling.h"

namespace dfsim::inline study {
namespace {

ModelOptions model_options_at(const RooflineSource& source, const RooflineSetting& at) {
  ModelOptions options = source.model;
  for (const auto& [name, value] : at.sizes) {
    if (name == "batch") {
      options.batch = value;
    } else {
      options.dims.push_back(fmt::format("{}={}", name, value));
    }
  }
  options.precision = at.precision.empty() ? options.precision : at.precision;
  return options;
}

// A swept precision must rewrite the model, or every point would be the same.
Status check_precision_applied(const RooflineSetting& at, const LoadedModel& model) {
  return at.precision.empty() || !model.precision.empty()
             ? ok_status()
             : invalid_input(fmt::format(
                   "--sweep precision: {} has a precision of its own already, expected a model in "
                   "fp32; give that, or leave precision out",
                   model.path));
}

// The cores that the point asks for: all of them, divided among copies and operators at once,
// unless it has threads.
StatusOr<CoreShare> core_share_of(const RooflineSetting& at, const std::string& hardware,
                                  const DeviceSpec& device) {
  CoreShare share;
  share.processes = std::max<int64_t>(at.processes, 1);
  share.inter = std::max<int64_t>(at.inter, 1);
  DFSIM_ASSIGN_OR_RETURN(share.numa, load_numa_nodes(hardware, device.model));
  if (!at.placement.empty()) {
    share.placement = at.placement;
    if (share.numa.nodes < 2) {
      return invalid_input(
          fmt::format("--sweep placement: {} has one NUMA node, expected several; --hw names such "
                      "a machine, as xeon-8380-2s and epyc-7742-2s",
                      printable(device.model)));
    }
  }
  share.threads = at.threads > 0 ? at.threads : threads_of_share(device, share);
  DFSIM_RETURN_IF_ERROR(node_share(device, share).status());
  return share;
}

std::string numa_text(const DeviceSpec& device, const CoreShare& share) {
  const auto placed = node_share(device, share);
  if (share.numa.nodes < 2 || !placed.ok()) {
    return "";
  }
  return fmt::format(
      "; {} placement: each copy on {} of {} NUMA nodes, {:.0f} % of its traffic to another",
      share.placement, placed->nodes, share.numa.nodes, 100 * placed->remote);
}

}  // namespace

StatusOr<DeviceId> find_roofline_device(const Platform& platform, const std::string& name) {
  std::vector<std::string> names;
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    names.push_back(platform.devices[d].name);
    if (name.empty() || platform.devices[d].name == name) {
      return DeviceId(d);
    }
  }
  return invalid_input(unknown_name_message("device", name, names));
}

StatusOr<ModelRoofline> model_roofline(const RooflineSource& source, const RooflineSetting& at,
                                       const Platform& platform, DeviceId device,
                                       const DeviceRoofs& roofs) {
  Platform machine = platform;
  if (!at.layout.empty()) {
    DFSIM_RETURN_IF_ERROR(apply_layout(at.layout, device, &machine));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> cost_model,
                         at.layout.empty() ? load_cost_model_for(machine, source.cost_model)
                                           : load_trees_for(machine, source.cost_model));
  ModelRoofline result;
  DFSIM_ASSIGN_OR_RETURN(result.model, load_model(model_options_at(source, at), {}, machine));
  const LoadedModel& model = result.model;
  DFSIM_RETURN_IF_ERROR(check_precision_applied(at, model));
  DFSIM_ASSIGN_OR_RETURN(const CostTable costs, cost_operators(model, machine, *cost_model));
  DFSIM_ASSIGN_OR_RETURN(
      result.report, make_roofline({model.name, model.report.batch, model.executed, model.workload,
                                    costs, machine, device, cost_model->name(), roofs}));
  result.report.unknown = model.unknown;
  if (!at.layout.empty()) {
    DFSIM_RETURN_IF_ERROR(check_layout_matters(result.report, machine.device(device)));
  }
  return result;
}

StatusOr<RooflineReport> core_roofline(const RooflineSource& source, RooflineKind kind,
                                       const RooflineSetting& at) {
  const std::string& precision = at.precision.empty() ? source.model.precision : at.precision;
  DFSIM_ASSIGN_OR_RETURN(
      Platform platform,
      load_machine(source.hardware, runtime_for(source.model.path, source.runtime), precision));
  DFSIM_ASSIGN_OR_RETURN(const DeviceId device, find_roofline_device(platform, source.device));
  DeviceSpec& spec = platform.devices[device.index()];
  if (spec.type != DeviceType::kCpu || kind != RooflineKind::kModel) {
    return not_found(fmt::format(
        "--sweep: found {}, expected a model on a CPU, such as epyc-7742, for threads, processes, "
        "inter and placement",
        printable(spec.model)));
  }
  DFSIM_ASSIGN_OR_RETURN(const CoreShare share, core_share_of(at, source.hardware, spec));
  DFSIM_ASSIGN_OR_RETURN(const ThreadScaling scaling, scaling_for(spec));
  DFSIM_ASSIGN_OR_RETURN(const DeviceRoofs whole, load_device_roofs(source.hardware, spec));
  const std::string nodes = numa_text(spec, share);
  spec = shared_device(spec, {}, scaling);
  DFSIM_ASSIGN_OR_RETURN(const ModelRoofline one,
                         model_roofline(source, at, platform, device, core_roofs(whole, scaling)));
  if (share.inter == 1) {
    RooflineReport report = scaled_roofline(one.report, whole, share, scaling);
    report.scaling += nodes;
    return report;
  }
  DFSIM_ASSIGN_OR_RETURN(RooflineReport report,
                         pooled_roofline(one.report, one.model, platform, whole, share, scaling));
  report.scaling += nodes;
  return report;
}

}  // namespace dfsim::inline study
