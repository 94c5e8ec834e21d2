// Op definitions: what dfsim knows of each operator: class, shape rule, folding rule, work rule.
//
// Split by family, one file each (conv.cc, matmul.cc...). Adding an operator is one table row in
// its family's file, rules shared where they can be, and a test. See CONTRIBUTING.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/ops/infer_context.h"
#include "graphs/ops/work_context.h"

namespace dfsim {

// Sets dtype and shape of the outputs from the inputs. Leaves them unset when the inputs say too
// little. Error (kInvalidInput): the inputs contradict each other or the attributes.
using InferRule = Status (*)(InferContext& context);
// Sets the value of outputs that can be computed now; called when all inputs have known values.
using FoldRule = void (*)(InferContext& context);
// The work of the op at static shapes. Starts from "reads all inputs, writes all outputs".
using WorkRule = void (*)(WorkContext& context);

struct OpDef {
  std::string_view op_type;
  OpClass op_class = OpClass::kOpaque;
  InferRule infer = nullptr;
  WorkRule work = nullptr;
  FoldRule fold = nullptr;
  // Scalar operations per output element, for rules that count that way (see docs/ops-work.md).
  double flops_per_element = 0;
  // The first so many inputs must be there in every version; rules may rely on it.
  size_t required_inputs = 1;
  std::string_view domain = "";  // ai.onnx
};

// The definition for an operator of a domain, or nullptr. "ai.onnx" and "" are one domain.
// O(1); rules look at InferContext::version() where versions differ.
const OpDef* find_op_def(std::string_view domain, std::string_view op_type);

// All definitions, sorted by domain and name.
std::span<const OpDef* const> all_op_defs();

// The families, joined in registry.cc.
std::span<const OpDef> conv_op_defs();
std::span<const OpDef> matmul_op_defs();
std::span<const OpDef> norm_op_defs();
std::span<const OpDef> elementwise_op_defs();
std::span<const OpDef> reduce_op_defs();
std::span<const OpDef> pool_op_defs();
std::span<const OpDef> movement_op_defs();
std::span<const OpDef> view_op_defs();
std::span<const OpDef> gather_op_defs();
std::span<const OpDef> rnn_op_defs();
std::span<const OpDef> constant_op_defs();
std::span<const OpDef> quantize_op_defs();
std::span<const OpDef> selection_op_defs();
std::span<const OpDef> attention_op_defs();
std::span<const OpDef> control_flow_op_defs();
std::span<const OpDef> loop_op_defs();
std::span<const OpDef> sequence_op_defs();
std::span<const OpDef> vision_op_defs();
std::span<const OpDef> signal_op_defs();
std::span<const OpDef> training_op_defs();
std::span<const OpDef> text_op_defs();
std::span<const OpDef> ml_op_defs();
std::span<const OpDef> experimental_op_defs();
std::span<const OpDef> contrib_op_defs();
std::span<const OpDef> contrib_attention_op_defs();

}  // namespace dfsim
