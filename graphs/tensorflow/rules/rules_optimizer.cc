// Updates of parameters: what optimisers apply, and assignments that training makes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

// Where a kind of update has its operands: the parameter is input 0, its states follow.
struct UpdateLayout {
  std::string_view type;  // less "Resource"
  size_t states;
  size_t gradient;
  size_t rate;
};

constexpr std::array kLayouts = {
    UpdateLayout{"ApplyGradientDescent", 0, 2, 1},
    UpdateLayout{"ApplyMomentum", 1, 3, 2},
    UpdateLayout{"ApplyKerasMomentum", 1, 3, 2},
    UpdateLayout{"ApplyAdam", 2, 9, 5},
    UpdateLayout{"ApplyAdaMax", 2, 8, 4},
    UpdateLayout{"ApplyAdagrad", 1, 3, 2},
    UpdateLayout{"ApplyAdagradV2", 1, 4, 2},
    UpdateLayout{"ApplyAdadelta", 2, 6, 3},
    UpdateLayout{"ApplyRMSProp", 2, 7, 3},
    UpdateLayout{"ApplyCenteredRMSProp", 3, 8, 4},
    UpdateLayout{"ApplyFtrl", 2, 3, 4},
    UpdateLayout{"ApplyFtrlV2", 2, 3, 4},
};

// The new parameter and its new states. ONNX has some of the optimisers.
void apply_update(NodeContext& node, std::string_view target) {
  std::string_view type = node.type();
  type.remove_prefix(type.starts_with("Resource") ? std::string_view("Resource").size() : 0);
  const auto* const layout = std::find_if(kLayouts.begin(), kLayouts.end(),
                                          [&](const UpdateLayout& l) { return l.type == type; });
  if (layout == kLayouts.end() || !node.has_input(layout->gradient) ||
      !node.has_input(layout->states) || !node.has_input(layout->rate)) {
    node.unresolved("it is not one of the updates that dfsim knows");
    return;
  }
  const bool standard = target == "Adam" || target == "Momentum" || target == "Adagrad";
  std::vector<TensorId> inputs;
  if (standard) {  // rate, step, parameter, gradient, states
    const TensorId rate = node.plain(layout->rate);
    inputs = {rate, rate};
  }
  inputs.push_back(node.plain(0));
  inputs.push_back(node.plain(layout->gradient));
  for (size_t i = 1; i <= layout->states; ++i) {
    inputs.push_back(node.plain(i));
  }
  const auto results = node.emit_many(target, std::move(inputs), {}, 1 + layout->states,
                                      standard ? "ai.onnx.preview.training" : kTensorFlow);
  node.set(0, results[0]);
}

// The parameter plus or minus a value.
void assign_update(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0), node.plain(1)}));
}

void assign(NodeContext& node, std::string_view /*target*/) { node.set_value(0, node.input(1)); }

// parameter, rows, updates
void scatter_update(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0), node.plain(1), node.plain(2)}, {}, kTensorFlow));
}

constexpr TfRule kRules[] = {
    {"ApplyGradientDescent", apply_update, "GradientDescent", 3},
    {"ResourceApplyGradientDescent", apply_update, "GradientDescent", 3},
    {"ApplyMomentum", apply_update, "Momentum", 4},
    {"ResourceApplyMomentum", apply_update, "Momentum", 4},
    {"ResourceApplyKerasMomentum", apply_update, "Momentum", 4},
    {"ApplyAdam", apply_update, "Adam", 10},
    {"ResourceApplyAdam", apply_update, "Adam", 10},
    {"ApplyAdaMax", apply_update, "AdaMax", 9},
    {"ResourceApplyAdaMax", apply_update, "AdaMax", 9},
    {"ApplyAdagrad", apply_update, "Adagrad", 4},
    {"ResourceApplyAdagrad", apply_update, "Adagrad", 4},
    {"ApplyAdagradV2", apply_update, "Adagrad", 5},
    {"ResourceApplyAdagradV2", apply_update, "Adagrad", 5},
    {"ApplyAdadelta", apply_update, "Adadelta", 7},
    {"ResourceApplyAdadelta", apply_update, "Adadelta", 7},
    {"ApplyRMSProp", apply_update, "RMSProp", 8},
    {"ResourceApplyRMSProp", apply_update, "RMSProp", 8},
    {"ApplyCenteredRMSProp", apply_update, "CenteredRMSProp", 9},
    {"ResourceApplyCenteredRMSProp", apply_update, "CenteredRMSProp", 9},
    {"ApplyFtrl", apply_update, "Ftrl", 5},
    {"ResourceApplyFtrl", apply_update, "Ftrl", 5},
    {"ApplyFtrlV2", apply_update, "Ftrl", 5},
    {"ResourceApplyFtrlV2", apply_update, "Ftrl", 5},
    {"AssignAddVariableOp", assign_update, "Add", 2},
    {"AssignSubVariableOp", assign_update, "Sub", 2},
    {"AssignAdd", assign_update, "Add", 2},
    {"AssignSub", assign_update, "Sub", 2},
    {"Assign", assign, "", 2, true},
    {"AssignVariableOp", assign, "", 2, true},
    {"ResourceScatterAdd", scatter_update, "RowUpdate", 3},
    {"ResourceScatterUpdate", scatter_update, "RowUpdate", 3},
    {"ScatterAdd", scatter_update, "RowUpdate", 3},
    {"ScatterUpdate", scatter_update, "RowUpdate", 3},
};

}  // namespace

std::span<const TfRule> optimizer_tf_rules() { return kRules; }

}  // namespace dfsim::inline graphs
