#include "study/chain/training_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace dfsim::inline study {
namespace {

// Operators that these passes join or fold have no backward pass.
bool is_for_inference(const std::string& fusion) {
  return fusion == "conv-fold" || fusion == "conv-activation" || fusion == "conv-sum" ||
         fusion == "conv-residual" || fusion == "conv-bias" || fusion == "requantize" ||
         fusion == "gemm-activation" || fusion == "pointwise" || fusion.starts_with("nchwc");
}

constexpr int64_t kFewestFolded = 4;

// Frameworks leave the bias of a convolution out where batch normalisation follows; folding makes
// one. Convolutions of one pixel (squeeze and excitation) have a bias of their own.
bool looks_folded(const Graph& model, const Op& op) {
  if (op.op_type != "Conv" || op.inputs.size() < 3 || !op.inputs[2].valid()) {
    return false;
  }
  const Shape& result = model.tensor(op.outputs[0]).shape;
  const bool one_pixel =
      result.is_static() && result.rank() == 4 && result[2].extent() * result[3].extent() == 1;
  return !one_pixel && std::ranges::all_of(model.consumers(op.outputs[0]), [&](OpId reader) {
    return model.op(reader).op_class == OpClass::kElementwise;
  });
}

// The first option that was given and says nothing of inference.
std::string_view given_option(const TrainingChoice& choice) {
  return !choice.optimizer.empty()   ? "--optimizer"
         : !choice.recompute.empty() ? "--recompute"
         : !choice.kernels.empty()   ? "--update-kernels"
         : !choice.loss.empty()      ? "--loss"
         : choice.accumulate > 0     ? "--accumulate"
                                     : "";
}

// Replaces a default by what the name stands for, where a name is given.
template <typename Setting>
Status choose(const std::string& name, StatusOr<Setting> (*find)(const std::string&),
              Setting* setting) {
  if (!name.empty()) {
    DFSIM_ASSIGN_OR_RETURN(*setting, find(name));
  }
  return ok_status();
}

}  // namespace

StatusOr<std::optional<TrainingOptions>> TrainingChoice::options() const {
  TrainingOptions options;
  DFSIM_RETURN_IF_ERROR(choose(optimizer, optimizer_of, &options.optimizer));
  DFSIM_RETURN_IF_ERROR(choose(recompute, recompute_of, &options.recompute));
  DFSIM_RETURN_IF_ERROR(choose(kernels, update_kernels_of, &options.kernels));
  DFSIM_RETURN_IF_ERROR(choose(loss, loss_of, &options.loss));
  options.accumulate = accumulate > 0 ? accumulate : options.accumulate;
  if (const std::string_view given = given_option(*this); !is_training() && !given.empty()) {
    return invalid_input(
        fmt::format("{}: found with mode '{}', expected mode 'train': it is about a training step; "
                    "add --mode train or leave it out",
                    given, mode));
  }
  return is_training() ? std::optional<TrainingOptions>(options) : std::nullopt;
}

std::string folded_norms_note(const Graph& model) {
  const int64_t norms = std::ranges::count(model.ops(), "BatchNormalization", &Op::op_type);
  const int64_t folded =
      std::ranges::count_if(model.ops(), [&](const Op& op) { return looks_folded(model, op); });
  if (folded < std::max(kFewestFolded, norms / 2)) {
    return "";
  }
  return fmt::format(
      "the model has {} batch normalisations, and {} convolutions with a bias before an activation "
      "or a sum: exports for inference fold batch normalisation into these, and then the step "
      "lacks it; if the network has it, export with training=torch.onnx.TrainingMode.PRESERVE",
      norms, folded);
}

RuntimeSpec runtime_for(const TrainingChoice& choice, RuntimeSpec runtime) {
  if (choice.is_training()) {
    std::erase_if(runtime.fusions, is_for_inference);
  }
  return runtime;
}

bool compiles_steps(const RuntimeSpec& runtime) {
  return std::ranges::find(runtime.fusions, "pointwise") != runtime.fusions.end();
}

}  // namespace dfsim::inline study
