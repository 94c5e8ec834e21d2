// Operator classes: the granularity at which cost models are trained and time is summed up.
#pragma once

#include <cstdint>
#include <string_view>

namespace dfsim::inline graphs {

enum class OpClass : uint8_t {
  kConv,          // convolutions, dense, grouped, depthwise, transposed
  kMatMul,        // Gemm, MatMul, Linear, batched or not, einsum that is one
  kAttention,     // fused attention
  kNorm,          // batch, layer, instance, group, RMS norm, LRN
  kSoftmax,       // softmax and log-softmax
  kElementwise,   // activations, arithmetic, comparison, select, cast
  kReduce,        // reductions, argmin and argmax, cumulative sums
  kPool,          // pooling, local and global
  kDataMovement,  // transpose, concat, split, slice, pad, resize, tile
  kGather,        // gather, scatter, embedding, one-hot
  kRnn,           // LSTM, GRU, RNN
  kQuantize,      // quantise and dequantise
  kSort,          // top-k, unique, non-max suppression: data-dependent selection
  kControlFlow,   // If, Loop, Scan
  kView,          // reshape, squeeze, identity: moves no bytes
  kConstant,      // produces the same value in every run: folded before execution
  kCollective,    // all-reduce and the like, inserted by partitioning
  kCopy,          // a transfer between memories, inserted by placement
  kOptimizer,     // parameter updates of training
  kOpaque,        // known name, unknown work, or an op dfsim does not know
};

inline constexpr int kOpClassCount = static_cast<int>(OpClass::kOpaque) + 1;

// Lower-case name with underscores ("data_movement"), as written in JSON and profiles.
std::string_view op_class_name(OpClass op_class);
// The class of that name; kOpaque with `found` false when there is none.
OpClass op_class_from_name(std::string_view name, bool* found);

}  // namespace dfsim::inline graphs
