// The rewriting passes, one file each; pipeline.cc lists them with their names.
//
// Each leaves a graph that computes the same. Rules that mirror ONNX Runtime's say so in
// docs/runtimes.md and are held to its optimised graphs by tests/passes/ort_oracle_test.cc.
#pragma once

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// ---- What any runtime does.
void remove_no_ops(EditableGraph& graph);
void share_common_subexpressions(EditableGraph& graph);

// ---- TensorFlow.
void fuse_dense_bias(EditableGraph& graph);

// ---- ONNX Runtime.
void fold_into_conv(EditableGraph& graph);
void fold_pads(EditableGraph& graph);
void fuse_conv_activation(EditableGraph& graph);
void fuse_gemm_activation(EditableGraph& graph);
void fuse_matmul_add(EditableGraph& graph);
void fuse_matmul_scale(EditableGraph& graph);
void fuse_matmul_transpose(EditableGraph& graph);
void move_transposes(EditableGraph& graph);
void merge_reshapes(EditableGraph& graph);
void fuse_gelu(EditableGraph& graph);
void fuse_fast_gelu(EditableGraph& graph);
void fuse_quick_gelu(EditableGraph& graph);
void fuse_bias_gelu(EditableGraph& graph);
void fuse_attention(EditableGraph& graph);
void fuse_layer_norm(EditableGraph& graph);
void fuse_simplified_layer_norm(EditableGraph& graph);
void fuse_skip_layer_norm(EditableGraph& graph);
void slices_to_split(EditableGraph& graph);
void fuse_quantized(EditableGraph& graph);
void move_channels_last(EditableGraph& graph);
void block_channels_by_8(EditableGraph& graph);
void block_channels_by_16(EditableGraph& graph);

// ---- PyTorch, and compilers behind it.
void fuse_aten_activations(EditableGraph& graph);
void fuse_aten_linear(EditableGraph& graph);
void fuse_aten_attention(EditableGraph& graph);
void find_torch_views(EditableGraph& graph);
void fuse_pointwise(EditableGraph& graph);

}  // namespace dfsim::inline graphs
