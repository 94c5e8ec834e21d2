// Prices the operators of a workload as a run meets them, adds the host time that depends on how a
// model runs (autograd, backward pass, autocast) to the dispatch time of each operator, and the
// gaps between kernels of graphs to the device's.
#include "opmodel/run_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "graphs/ir/op_class.h"
#include "graphs/ops/op_def.h"
#include "graphs/training/training_graph.h"
#include "opmodel/cached_operands.h"

namespace dfsim::inline opmodel {
namespace {

TimeNs scaled_time(TimeNs time_ns, double factor) {
  return static_cast<TimeNs>(std::llround(static_cast<double>(time_ns) * factor));
}

}  // namespace

StatusOr<CostTable> cost_workload(const Workload& workload, const Platform& platform,
                                  const CostModel& model) {
  DFSIM_ASSIGN_OR_RETURN(CostTable costs,
                         make_cost_table(workload.rows, workload.weight_bytes, platform, model));
  apply_cached_operands(workload, platform, &costs);
  add_gaps(platform, &costs);
  return costs;
}

Status check_dispatch_names(const RuntimeSpec& runtime) {
  for (const auto& [name, time_ns] : runtime.dispatch.by_class) {
    bool found = false;
    op_class_from_name(name, &found);
    const auto& defs = all_op_defs();
    if (found || std::any_of(defs.begin(), defs.end(),
                             [&, wanted = std::string_view(name)](const OpDef* def) {
                               return def->op_type == wanted;
                             })) {
      continue;
    }
    std::vector<std::string> names;
    for (int i = 0; i < kOpClassCount; ++i) {
      names.emplace_back(op_class_name(static_cast<OpClass>(i)));
    }
    return invalid_input(fmt::format("{}: dispatch_by_op_us: {}, or an operator",
                                     runtime.source_file,
                                     unknown_name_message("class of operators", name, names)));
  }
  return ok_status();
}

void scale_dispatch(double speed, RuntimeSpec* runtime) {
  if (speed == 1) {
    return;
  }
  for (TimeNs* time_ns :
       {&runtime->dispatch_ns, &runtime->view_dispatch_ns, &runtime->run_overhead_ns,
        &runtime->dispatch.autograd_ns, &runtime->dispatch.autocast_ns}) {
    *time_ns = scaled_time(*time_ns, 1 / speed);
  }
  for (auto& [name, time_ns] : runtime->dispatch.by_class) {
    time_ns = scaled_time(time_ns, 1 / speed);
  }
  if (runtime->dispatch.update_ns > 0) {
    runtime->dispatch.update_ns = scaled_time(runtime->dispatch.update_ns, 1 / speed);
  }
}

void add_dispatch_modes(const DispatchedModel& model, const RuntimeSpec& runtime,
                        const std::vector<TaskId>& task_of, std::vector<TimeNs>* dispatch_ns) {
  const DispatchCosts& costs = runtime.dispatch;
  if (!model.is_training && !model.autocast) {
    return;
  }
  for (size_t t = 0; t < task_of.size(); ++t) {
    TimeNs& time_ns = (*dispatch_ns)[task_of[t].index()];
    const OpId op = model.tasks.op(TaskId(t));
    const TrainingPass pass =
        op.valid() ? training_pass(model.graph.op(op)) : TrainingPass::kForward;
    if (model.is_training && pass == TrainingPass::kUpdate) {
      time_ns = costs.update_ns >= 0 ? costs.update_ns : time_ns;
      continue;
    }
    if (model.is_training && pass == TrainingPass::kBackward) {
      time_ns = scaled_time(time_ns, costs.backward_share);
      continue;
    }
    time_ns +=
        (model.is_training ? costs.autograd_ns : 0) + (model.autocast ? costs.autocast_ns : 0);
  }
}

void add_gaps(const Platform& platform, CostTable* costs) {
  if (platform.runtime.gap_ns == 0) {
    return;
  }
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    for (uint32_t row = 0; row < costs->rows(); ++row) {
      OpCost& cost = costs->at(row, DeviceId(d));
      if (platform.devices[d].type == DeviceType::kCpu || cost.time_ns < 0 ||
          cost.source == CostSource::kBoundOnly) {
        continue;
      }
      cost.time_ns += platform.runtime.gap_ns;
      cost.low_ns += platform.runtime.gap_ns;
      cost.high_ns += platform.runtime.gap_ns;
    }
  }
}

void leave_estimates_out_of_limit(const CostTable& costs, std::vector<TimeNs>* dispatch_ns) {
  bool has_bound = false;
  for (size_t d = 0; d < costs.devices(); ++d) {
    for (uint32_t row = 0; row < costs.rows(); ++row) {
      const OpCost& cost = costs.at(row, DeviceId(d));
      if (cost.time_ns > 0 && cost.source != CostSource::kBoundOnly) {
        return;
      }
      has_bound |= cost.time_ns > 0;
    }
  }
  if (has_bound) {  // a model whose operators cost nothing has only its host times
    std::fill(dispatch_ns->begin(), dispatch_ns->end(), 0);
  }
}

}  // namespace dfsim::inline opmodel
