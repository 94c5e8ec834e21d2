#include "graphs/passes/pipeline.h"

#include <algorithm>

#include "base/text.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMostRounds = 10;

constexpr Pass kPasses[] = {
    {"aten-activations", "GELU, SiLU, Hardswish and rsqrt written out are one call each",
     fuse_aten_activations},
    {"aten-attention", "Scores, softmax and values are one call", fuse_aten_attention},
    {"aten-linear", "MatMul with a weight and its bias are one call", fuse_aten_linear},
    {"attention", "Self attention as exporters of BERT wrote it becomes Attention", fuse_attention},
    {"bias-gelu", "A bias before a GELU goes into it", fuse_bias_gelu},
    {"common-subexpressions", "Equal operators on equal operands run once",
     share_common_subexpressions},
    {"conv-activation", "Conv and the activation after it become FusedConv", fuse_conv_activation},
    {"conv-fold", "Batch normalisation, scale and sum per channel go into Conv's weights",
     fold_into_conv},
    {"dense-bias", "A product of matrices and its bias become Gemm", fuse_dense_bias},
    {"fast-gelu", "GELU by tanh becomes FastGelu", fuse_fast_gelu},
    {"gelu", "GELU by erf becomes Gelu", fuse_gelu},
    {"gemm-activation", "Gemm and the activation after it become FusedGemm", fuse_gemm_activation},
    {"layer-norm", "Layer normalisation written out becomes LayerNormalization", fuse_layer_norm},
    {"matmul-add", "MatMul and its bias become Gemm, with reshapes", fuse_matmul_add},
    {"matmul-scale", "Scales round a MatMul become FusedMatMul's alpha", fuse_matmul_scale},
    {"matmul-transpose", "Transposes before a MatMul go into FusedMatMul", fuse_matmul_transpose},
    {"merge-reshapes", "Chains of Reshape, Squeeze and Unsqueeze become one Reshape",
     merge_reshapes},
    {"nchwc-16", "Convolutions and pools in blocks of 16 channels (AVX-512)", block_channels_by_16},
    {"nchwc-8", "Convolutions and pools in blocks of 8 channels (AVX, AVX2)", block_channels_by_8},
    {"nhwc-int8", "Quantised convolutions and what follows them have their channels last",
     move_channels_last},
    {"no-ops", "Operators that change nothing are dropped", remove_no_ops},
    {"pad-fold", "A Pad before a convolution or a pool goes into it", fold_pads},
    {"pointwise", "Chains of elementwise operators, and reductions with them, are one kernel",
     fuse_pointwise},
    {"qdq", "Operators between DequantizeLinear and QuantizeLinear run on 8 bits", fuse_quantized},
    {"quick-gelu", "x sigmoid(a x) becomes QuickGelu", fuse_quick_gelu},
    {"simplified-layer-norm", "RMS normalisation becomes SimplifiedLayerNormalization",
     fuse_simplified_layer_norm},
    {"skip-layer-norm", "A sum before a layer normalisation goes into it", fuse_skip_layer_norm},
    {"slices-to-split", "Gathers or Slices that take a tensor apart become one Split",
     slices_to_split},
    {"torch-views", "Transposes, slices and the like move nothing by themselves", find_torch_views},
    {"transposes", "Transposes move to where they cancel", move_transposes},
};

StatusOr<const Pass*> find_pass(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kPasses), std::end(kPasses),
                                         [&](const Pass& pass) { return pass.name == name; });
  if (found != std::end(kPasses)) {
    return found;
  }
  std::vector<std::string> valid;
  for (const Pass& pass : kPasses) {
    valid.emplace_back(pass.name);
  }
  return invalid_input(unknown_name_message("fusion rule", name, std::move(valid)));
}

void run_pass(const Pass& pass, EditableGraph& graph, PassEffect* effect) {
  const auto before = static_cast<int64_t>(graph.living());
  const uint64_t edits = graph.edits();
  pass.run(graph);
  effect->changed |= graph.edits() != edits;
  effect->ops_added += static_cast<int64_t>(graph.living()) - before;
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

PassStages pass_stages(const std::vector<std::string>& fusions) {
  PassStages stages;
  bool open = false;
  for (const std::string& name : fusions) {
    if (name.empty()) {
      open = false;
      continue;
    }
    if (!open) {
      stages.emplace_back();
      open = true;
    }
    stages.back().push_back(name);
  }
  return stages;
}

Status check_passes(const PassStages& stages) {
  for (const std::vector<std::string>& stage : stages) {
    for (const std::string& name : stage) {
      DFSIM_RETURN_IF_ERROR(find_pass(name).status());
    }
  }
  return ok_status();
}

StatusOr<PipelineResult> run_passes(const Graph& graph, const PassStages& stages) {
  EditableGraph edited(graph);
  PipelineResult result;
  for (const std::vector<std::string>& stage : stages) {
    const size_t first = result.effects.size();
    std::vector<const Pass*> passes;
    for (const std::string& name : stage) {
      DFSIM_ASSIGN_OR_RETURN(const Pass* pass, find_pass(name));
      passes.push_back(pass);
      result.effects.push_back({name, false, 0});
    }
    uint64_t edits = edited.edits() + 1;
    for (int round = 0; round < kMostRounds && edits != edited.edits(); ++round) {
      edits = edited.edits();
      for (size_t i = 0; i < passes.size(); ++i) {
        run_pass(*passes[i], edited, &result.effects[first + i]);
      }
    }
  }
  DFSIM_ASSIGN_OR_RETURN(result.graph, edited.finish());
  return result;
}

}  // namespace dfsim::inline graphs
