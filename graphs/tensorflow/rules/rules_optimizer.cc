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

// clang-format off
constexpr TfRule kOptimizerRules[] = {
    {.type = "ApplyGradientDescent", .translate = apply_update, .target = "GradientDescent",
     .required_inputs = 3},
    {.type = "ResourceApplyGradientDescent", .translate = apply_update, .target = "GradientDescent",
     .required_inputs = 3},
    {.type = "ApplyMomentum", .translate = apply_update, .target = "Momentum",
     .required_inputs = 4},
    {.type = "ResourceApplyMomentum", .translate = apply_update, .target = "Momentum",
     .required_inputs = 4},
    {.type = "ResourceApplyKerasMomentum", .translate = apply_update, .target = "Momentum",
     .required_inputs = 4},
    {.type = "ApplyAdam", .translate = apply_update, .target = "Adam", .required_inputs = 10},
    {.type = "ResourceApplyAdam", .translate = apply_update, .target = "Adam",
     .required_inputs = 10},
    {.type = "ApplyAdaMax", .translate = apply_update, .target = "AdaMax", .required_inputs = 9},
    {.type = "ResourceApplyAdaMax", .translate = apply_update, .target = "AdaMax",
     .required_inputs = 9},
    {.type = "ApplyAdagrad", .translate = apply_update, .target = "Adagrad", .required_inputs = 4},
    {.type = "ResourceApplyAdagrad", .translate = apply_update, .target = "Adagrad",
     .required_inputs = 4},
    {.type = "ApplyAdagradV2", .translate = apply_update, .target = "Adagrad",
     .required_inputs = 5},
    {.type = "ResourceApplyAdagradV2", .translate = apply_update, .target = "Adagrad",
     .required_inputs = 5},
    {.type = "ApplyAdadelta", .translate = apply_update, .target = "Adadelta",
     .required_inputs = 7},
    {.type = "ResourceApplyAdadelta", .translate = apply_update, .target = "Adadelta",
     .required_inputs = 7},
    {.type = "ApplyRMSProp", .translate = apply_update, .target = "RMSProp", .required_inputs = 8},
    {.type = "ResourceApplyRMSProp", .translate = apply_update, .target = "RMSProp",
     .required_inputs = 8},
    {.type = "ApplyCenteredRMSProp", .translate = apply_update, .target = "CenteredRMSProp",
     .required_inputs = 9},
    {.type = "ResourceApplyCenteredRMSProp", .translate = apply_update, .target = "CenteredRMSProp",
     .required_inputs = 9},
    {.type = "ApplyFtrl", .translate = apply_update, .target = "Ftrl", .required_inputs = 5},
    {.type = "ResourceApplyFtrl", .translate = apply_update, .target = "Ftrl",
     .required_inputs = 5},
    {.type = "ApplyFtrlV2", .translate = apply_update, .target = "Ftrl", .required_inputs = 5},
    {.type = "ResourceApplyFtrlV2", .translate = apply_update, .target = "Ftrl",
     .required_inputs = 5},
    {.type = "AssignAddVariableOp", .translate = assign_update, .target = "Add",
     .required_inputs = 2},
    {.type = "AssignSubVariableOp", .translate = assign_update, .target = "Sub",
     .required_inputs = 2},
    {.type = "AssignAdd", .translate = assign_update, .target = "Add", .required_inputs = 2},
    {.type = "AssignSub", .translate = assign_update, .target = "Sub", .required_inputs = 2},
    {.type = "Assign", .translate = assign, .required_inputs = 2, .tolerant = true},
    {.type = "AssignVariableOp", .translate = assign, .required_inputs = 2, .tolerant = true},
    {.type = "ResourceScatterAdd", .translate = scatter_update, .target = "RowUpdate",
     .required_inputs = 3},
    {.type = "ResourceScatterUpdate", .translate = scatter_update, .target = "RowUpdate",
     .required_inputs = 3},
    {.type = "ScatterAdd", .translate = scatter_update, .target = "RowUpdate",
     .required_inputs = 3},
    {.type = "ScatterUpdate", .translate = scatter_update, .target = "RowUpdate",
     .required_inputs = 3},
};
// clang-format on

}  // namespace

std::span<const TfRule> optimizer_tf_rules() { return kOptimizerRules; }

}  // namespace dfsim::inline graphs
