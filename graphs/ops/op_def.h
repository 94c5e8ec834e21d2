// Op definitions: what dfsim knows of each operator: class, shape rule, folding rule, work rule,
// factor rule.
//
// Split by family, one file each below families/ (conv.cc, matmul.cc...). Adding an operator is one
// row in its family's table and a test; families share rules where they can. See CONTRIBUTING.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/ops/factors/factor_context.h"
#include "graphs/ops/infer_context.h"
#include "graphs/ops/work_context.h"

namespace dfsim::inline graphs {

// Sets dtype and shape of the outputs from the inputs. Leaves them unset when the inputs say too
// little. Error (kInvalidInput): the inputs contradict each other or the attributes.
using InferRule = Status (*)(InferContext& context);
// Sets the value of outputs that can be computed now; called when all inputs have known values.
using FoldRule = void (*)(InferContext& context);
// The work of the op at static shapes. Starts from "reads all inputs, writes all outputs".
using WorkRule = void (*)(WorkContext& context);
// Says how the op may be split over devices, at static shapes (factors.h).
using FactorRule = void (*)(FactorContext& context);
// Elements of an operand that the op stores several to a byte; its shape is static. Without such a
// rule an operand has the elements of its shape.
using StoredElementsRule = Count (*)(const Op& op, size_t input, const Tensor& operand);

struct OpDef {
  std::string_view op_type;
  OpClass op_class = OpClass::kOpaque;
  InferRule infer = nullptr;
  WorkRule work = nullptr;
  FoldRule fold = nullptr;
  // Scalar operations per output element, for rules that count that way (see
  // docs/reference/ops-work.md).
  double flops_per_element = 0;
  // The first so many inputs must be there in every version; rules may rely on it.
  size_t required_inputs = 1;
  std::string_view domain = "";  // ai.onnx
  FactorRule factors = nullptr;  // without one: op_factors() in factors.h
  StoredElementsRule stored_elements = nullptr;
};

// The definition for an operator of a domain, or nullptr. "ai.onnx" and "" are one domain.
// O(1); rules look at InferContext::version() where versions differ.
const OpDef* find_op_def(std::string_view domain, std::string_view op_type);

// All definitions, sorted by domain and name.
std::span<const OpDef* const> all_op_defs();

// How a rule counts, in words; "{}" stands for flops_per_element.
struct WorkNote {
  WorkRule rule;
  std::string_view text;
};

// FLOPs and MACs of an operator in words, for tables and docs/reference/ops.md.
std::string describe_work(const OpDef& def);

}  // namespace dfsim::inline graphs
