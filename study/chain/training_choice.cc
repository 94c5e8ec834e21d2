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

// The first option that has another value than it starts with and says nothing of inference.
std::string_view given_option(const TrainingChoice& choice) {
  const TrainingChoice plain;
  return choice.optimizer != plain.optimizer     ? "--optimizer"
         : choice.recompute != plain.recompute   ? "--recompute"
         : choice.kernels != plain.kernels       ? "--update-kernels"
         : choice.loss != plain.loss             ? "--loss"
         : choice.accumulate != plain.accumulate ? "--accumulate"
                                                 : "";
}

}  // namespace

StatusOr<std::optional<TrainingOptions>> TrainingChoice::options() const {
  TrainingOptions options;
  DFSIM_ASSIGN_OR_RETURN(options.optimizer, optimizer_of(optimizer));
  DFSIM_ASSIGN_OR_RETURN(options.recompute, recompute_of(recompute));
  DFSIM_ASSIGN_OR_RETURN(options.kernels, update_kernels_of(kernels));
  DFSIM_ASSIGN_OR_RETURN(options.loss, loss_of(loss));
  options.accumulate = accumulate;
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

}  // namespace dfsim::inline study
