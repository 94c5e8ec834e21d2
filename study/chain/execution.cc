// Applies precision and runtime in the order in which the framework would: whole-model casts
// before fusion, quantisation on the restored calls, refinement by the runtime afterwards.
#include "study/chain/execution.h"

#include <algorithm>
#include <optional>

#include "graphs/passes/cleanup/dropouts.h"
#include "graphs/passes/cleanup/expand.h"
#include "graphs/passes/cleanup/prune.h"
#include "graphs/passes/cleanup/tensorflow_form.h"
#include "graphs/passes/layout/split_weights.h"
#include "graphs/passes/pipeline.h"

namespace dfsim::inline study {
namespace {

// The steps of a prediction's graph from the pruned model to what the runtime executes.
class Rewriter {
 public:
  Rewriter(ExecutedGraph pruned, const PassStages& stages, const RuntimeSpec& runtime,
           const ExecutionOptions& options, const OpenDims& open)
      : result_(std::move(pruned)),
        open_(open),
        stages_(stages),
        runtime_(runtime),
        plan_(options.precision),
        training_mode_(options.training_mode),
        target_{.onnx_runtime = runtime.framework == Framework::kOnnxRuntime, .cpu = options.cpu} {}

  StatusOr<ExecutedGraph> run() {
    if (training_mode_) {
      DFSIM_ASSIGN_OR_RETURN(result_.graph, revive_dropouts(result_.graph, &revived_));
    }
    if (plan_.empty() && !training_mode_) {
      DFSIM_RETURN_IF_ERROR(fuse(stages_));
      return std::move(result_);
    }
    if (const DType dtype = cast_dtype(); dtype != DType::kUnknown) {
      DFSIM_ASSIGN_OR_RETURN(result_.graph, cast_model(result_.graph, dtype, target_));
    }
    const auto qdq = std::find_if(stages_.begin(), stages_.end(), [](const auto& stage) {
      return std::find(stage.begin(), stage.end(), "qdq") != stage.end();
    });
    // The operators that the framework calls: what its first stage restores, or what its own
    // optimiser leaves before it looks for quantised ones.
    const auto first = qdq != stages_.end() ? qdq - stages_.begin()
                                            : std::min<std::ptrdiff_t>(1, std::ssize(stages_));
    if (plan_.uses(Precision::kInt8)) {
      DFSIM_RETURN_IF_ERROR(quantize(first, qdq != stages_.end()));
    } else {
      DFSIM_RETURN_IF_ERROR(fuse({stages_.begin(), stages_.begin() + first}));
    }
    if (training_mode_ && revived_ == 0) {
      DFSIM_ASSIGN_OR_RETURN(result_.graph, add_dropouts(result_.graph));
    }
    if (refines()) {
      DFSIM_ASSIGN_OR_RETURN(result_.graph, refine_precision(result_.graph, plan_, target_));
    }
    DFSIM_RETURN_IF_ERROR(fuse({stages_.begin() + first, stages_.end()}));
    if (plan_.uses(Precision::kTf32)) {
      DFSIM_ASSIGN_OR_RETURN(result_.graph, mark_tf32(result_.graph, plan_));
    }
    return std::move(result_);
  }

 private:
  // The type of the whole model; kUnknown = stays.
  DType cast_dtype() const {
    switch (plan_.base) {
      case Precision::kFp16:
        return DType::kFloat16;
      case Precision::kBf16:
        return DType::kBFloat16;
      case Precision::kFp8:  // a model of 16 bits stays in its own
        return find_model_precision(result_.graph).dtype == DType::kFloat32 ? DType::kBFloat16
                                                                            : DType::kUnknown;
      case Precision::kInt8:
        // TensorRT runs what is not quantised in fp16.
        return runtime_.framework == Framework::kTensorRt ? DType::kFloat16 : DType::kUnknown;
      default:
        return DType::kUnknown;
    }
  }

  bool refines() const {
    return !plan_.rules.empty() || plan_.base == Precision::kMixedFp16 ||
           plan_.base == Precision::kMixedBf16 || plan_.base == Precision::kFp8 ||
           plan_.base == Precision::kInt8Dynamic || plan_.base == Precision::kInt8Weights ||
           plan_.base == Precision::kInt4Weights;
  }

  // The model is prepared as quantizers ask for (normalisation folded, biases in products, calls
  // restored), quantised, and its quantised operators are fused.
  Status quantize(std::ptrdiff_t first, bool runtime_fuses) {
    PassStages prepare(stages_.begin(), stages_.begin() + first);
    for (std::vector<std::string>& stage : prepare) {
      std::erase(stage, "aten-linear");
      std::erase(stage, "torch-views");
    }
    prepare.push_back({"pad-fold", "conv-fold", "matmul-add"});
    if (target_.onnx_runtime) {
      prepare.push_back({"gelu", "layer-norm", "simplified-layer-norm", "fast-gelu", "quick-gelu"});
    }
    DFSIM_RETURN_IF_ERROR(fuse(prepare));
    DFSIM_ASSIGN_OR_RETURN(result_.graph, quantize_static(result_.graph, plan_));
    if (!runtime_fuses) {
      DFSIM_RETURN_IF_ERROR(fuse({{"qdq"}}));
      return fuse({stages_.begin(), stages_.begin() + first});
    }
    return ok_status();
  }

  Status fuse(const PassStages& stages) {
    if (stages.empty()) {
      return ok_status();
    }
    DFSIM_ASSIGN_OR_RETURN(PipelineResult fused, run_passes(result_.graph, stages, open_));
    result_.graph = std::move(fused.graph);
    for (const PassEffect& effect : fused.effects) {
      const bool listed = std::find(result_.passes.begin(), result_.passes.end(), effect.name) !=
                          result_.passes.end();
      if (effect.changed && !listed) {
        result_.passes.push_back(effect.name);
      }
    }
    return ok_status();
  }

  ExecutedGraph result_;
  const OpenDims& open_;
  const PassStages& stages_;
  const RuntimeSpec& runtime_;
  const PrecisionPlan& plan_;
  bool training_mode_;
  size_t revived_ = 0;  // dropouts that the model has itself
  PrecisionTarget target_;
};

}  // namespace

bool sees_open_axes(const RuntimeSpec& runtime) {
  return runtime.framework == Framework::kOnnxRuntime;
}

StatusOr<ExecutedGraph> execute_as(const Graph& graph, const RuntimeSpec& runtime,
                                   const ExecutionOptions& options) {
  PassStages stages = pass_stages(runtime.fusions);
  if (options.pad_vocabulary > 0) {  // by the user, to that multiple
    for (std::vector<std::string>& stage : stages) {
      std::erase(stage, "pad-products");
    }
  }
  const Status names = check_passes(stages);
  if (!names.ok()) {
    return names.with_place(runtime.source_file);
  }
  std::optional<Graph> expanded;
  if (has_control_flow(graph)) {
    DFSIM_ASSIGN_OR_RETURN(expanded, expand_control_flow(graph));
  }
  const Graph& source = expanded ? *expanded : graph;
  const OpenDims open = sees_open_axes(runtime)
                            ? OpenDims(source, options.open_axes, options.declared_axes)
                            : OpenDims();
  DFSIM_ASSIGN_OR_RETURN(PruneResult pruned,
                         prune(source, open,
                               {.for_onnxruntime = runtime.framework == Framework::kOnnxRuntime,
                                .for_training = options.trains}));
  const size_t pruned_ops = pruned.graph.op_count();
  if (comes_from_tensorflow(pruned.graph)) {
    DFSIM_ASSIGN_OR_RETURN(pruned.graph, tensorflow_form(pruned.graph));
  }
  DFSIM_ASSIGN_OR_RETURN(
      ExecutedGraph executed,
      Rewriter({std::move(pruned.graph), source.op_count(), pruned_ops, {}, {}, 0}, stages, runtime,
               options, open)
          .run());
  if (options.pad_vocabulary > 0) {
    DFSIM_ASSIGN_OR_RETURN(executed.graph,
                           pad_vocabulary(executed.graph, kLeastVocabulary, options.pad_vocabulary,
                                          &executed.padded_vocabularies));
  }
  executed.unsized = open.unsized(executed.graph);
  return executed;
}

}  // namespace dfsim::inline study
