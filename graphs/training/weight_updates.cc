// PyTorch's foreach kernels take lists of tensors in blocks; the tables have the operations of
// one update in PyTorch's order, and ListUpdater divides the weights into launches as its
// multi-tensor code does. A launch ends where its arguments are full, not where a weight ends.
#include "graphs/training/weight_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "graphs/ops/families/extensions/gradient_ops.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kBlockElements = 65536;
constexpr int64_t kMostBlocks = 320;
constexpr std::array<size_t, 5> kMostWeights = {110, 64, 48, 36, 30};  // by tensors per weight

// One arithmetic operation over all weights.
struct ListOperation {
  std::string_view name;
  size_t tensors = 1;  // per weight, that the kernel gets
  int64_t reads = 1;   // tensors of the weight's size
  int64_t writes = 1;
  int64_t flops = 1;  // per element
};

// torch.optim.adam._multi_tensor_adam without weight decay, in its order.
constexpr ListOperation kForeachAdam[] = {
    {"lerp", 2, 2, 1, 3},  // first moments and gradients
    {"mul", 1, 1, 1, 1},   // second moments
    {"addcmul", 3, 2, 1, 3}, {"sqrt", 2, 1, 1, 1},    {"div", 1, 1, 1, 1},  // bias correction
    {"add", 1, 1, 1, 1},     {"addcdiv", 3, 3, 1, 3},
};
constexpr ListOperation kForeachSgd[] = {{"add", 2, 2, 1, 2}};
constexpr ListOperation kForeachMomentum[] = {
    {"mul", 1, 1, 1, 1}, {"add", 2, 2, 1, 1}, {"add", 2, 2, 1, 2}};
constexpr ListOperation kFusedAdam[] = {{"adam", 4, 4, 3, 14}};
constexpr ListOperation kFusedSgd[] = {{"sgd", 2, 2, 1, 2}};
constexpr ListOperation kFusedMomentum[] = {{"sgd", 3, 3, 2, 4}};

std::span<const ListOperation> operations_of(OptimizerKind optimizer, UpdateKernels kernels) {
  const bool fused = kernels == UpdateKernels::kFused;
  switch (optimizer) {
    case OptimizerKind::kSgd:
      return fused ? std::span<const ListOperation>(kFusedSgd) : kForeachSgd;
    case OptimizerKind::kMomentum:
      return fused ? std::span<const ListOperation>(kFusedMomentum) : kForeachMomentum;
    case OptimizerKind::kAdam:
      return fused ? std::span<const ListOperation>(kFusedAdam) : kForeachAdam;
    case OptimizerKind::kNone:
      break;
  }
  return {};
}

class ListUpdater {
 public:
  explicit ListUpdater(BackwardGraph& graph) : graph_(graph) {}

  void run(const std::vector<TrainingParameter>& parameters, const ListOperation& operation) {
    for (const TrainingParameter& parameter : parameters) {
      const Tensor& weight = graph_.builder().tensor(parameter.weight);
      if (inputs_.empty() || weight.dtype == dtype_) {
        dtype_ = weight.dtype;
      } else {
        launch(operation);  // a list has one element type
        dtype_ = weight.dtype;
      }
      const int64_t elements = weight.shape.elements().value();
      const int64_t blocks = (elements + kBlockElements - 1) / kBlockElements;
      if (weights_ == kMostWeights[operation.tensors - 1] ||
          (weights_ > 0 && blocks_ + blocks > kMostBlocks)) {
        launch(operation);
      }
      ++weights_;
      blocks_ += blocks;
      elements_ += elements;
      inputs_.push_back(parameter.gradient);
      inputs_.push_back(parameter.weight);
      inputs_.insert(inputs_.end(), parameter.states.begin(), parameter.states.end());
      // More blocks than a launch takes: several launches of full ones.
      while (blocks_ > kMostBlocks) {
        const int64_t rest = elements_ - kMostBlocks * kBlockElements;
        const std::vector<TensorId> inputs = inputs_;
        elements_ = kMostBlocks * kBlockElements;
        launch(operation);
        inputs_ = inputs;
        elements_ = rest;
        blocks_ = (rest + kBlockElements - 1) / kBlockElements;
        weights_ = 1;
      }
    }
    launch(operation);
  }

 private:
  void launch(const ListOperation& operation) {
    if (inputs_.empty()) {
      return;
    }
    Op op;
    op.domain = kTrainingDomain;
    op.op_type = "ListUpdate";
    op.op_class = OpClass::kOptimizer;
    op.version = 1;
    op.name = fmt::format("update/{}/{}", operation.name, launches_++);
    op.inputs = std::exchange(inputs_, {});
    op.attributes.set("of", std::string(operation.name));
    op.attributes.set("elements", elements_);
    op.attributes.set("reads", operation.reads);
    op.attributes.set("writes", operation.writes);
    op.attributes.set("flops", operation.flops);
    // The weights change in place: the result is a token that no operator reads.
    graph_.add(std::move(op), {Shape::scalar()}, {dtype_});
    weights_ = 0;
    blocks_ = 0;
    elements_ = 0;
  }

  BackwardGraph& graph_;
  std::vector<TensorId> inputs_;
  DType dtype_ = DType::kUnknown;
  size_t weights_ = 0;
  int64_t blocks_ = 0;
  int64_t elements_ = 0;
  size_t launches_ = 0;
};

}  // namespace

void add_list_updates(BackwardGraph& graph, const std::vector<TrainingParameter>& parameters,
                      OptimizerKind optimizer, UpdateKernels kernels) {
  ListUpdater updater(graph);
  for (const ListOperation& operation : operations_of(optimizer, kernels)) {
    updater.run(parameters, operation);
  }
}

}  // namespace dfsim::inline graphs
