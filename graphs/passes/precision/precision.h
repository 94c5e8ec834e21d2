// Precision: a model rewritten as a framework would run it with other element types.
//
// Purpose: "what if I ran it in fp16?". A precision is a rewrite of the graph before costing:
//   element types of tensors change, casts and quantising operators are added, and work and bytes
//   follow from the operators' definitions. The steps, in the order of study/chain/model_source.h:
//     cast_model()        fp16, bf16 (and below fp8): the file as a converter writes it, before any
//                         fusion of the runtime
//     refine_precision()  autocast, rules per operator, fp8, dynamic and weight-only quantisation:
//                         on the operators that the framework itself calls, after the runtime's
//                         first stage of fusions
//     quantize_static()   QDQ, before the runtime's fusion of quantised operators
//     mark_tf32()         the arithmetic of products, when all fusions are done
// Sources: PyTorch's autocast lists (aten/src/ATen/autocast_mode.h, 2.13), ONNX Runtime's quantizer
//   (onnxruntime/python/tools/quantization/registry.py, 1.32), the block list of
//   onnxconverter-common (float16.py, 1.16); Micikevicius et al. 2018 (arXiv:1710.03740), mixed
//   precision; Jacob et al. 2018 (DOI 10.1109/CVPR.2018.00286), static quantisation; Micikevicius
//   et al. 2022 (arXiv:2209.05433), fp8.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

enum class Precision : uint8_t {
  kAsIs,  // of a model: as the file has it; of a rule: as the plan's base
#define DFSIM_PRECISION(name, value, dtype, description) value,
#include "graphs/passes/precision/precisions.inc"
#undef DFSIM_PRECISION
};

struct PrecisionInfo {
  std::string_view name;
  Precision value = Precision::kAsIs;
  DType dtype = DType::kUnknown;  // a device needs units for it; kUnknown = it needs none
  std::string_view description;
};

// Without kAsIs, in the order of precisions.inc.
std::span<const PrecisionInfo> all_precisions();
std::string_view precision_name(Precision precision);  // "as-is" for kAsIs
DType precision_dtype(Precision precision);
// Error (kInvalidInput): unknown, with the nearest name.
StatusOr<Precision> precision_of(std::string_view name);
// "fp32, tf32, fp16, ..."
std::string precision_names();

// Which operators a rule is about: all given fields must match, at least one is given. `name` may
// have * and ?; it meets the operator's name or that of one that was fused into it.
struct PrecisionRule {
  std::string op_class;
  std::string op_type;
  std::string name;
  Precision precision = Precision::kAsIs;
  // No user's file has it: whether it matches anything is not reported, and kAsIs leaves an
  // operator as it is whatever the base.
  bool implied = false;

  auto operator<=>(const PrecisionRule&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Weights of 4 or 8 bits: so many along the contracted axis share a scale.
struct WeightBlocks {
  int64_t elements = 128;
  DType scale = DType::kUnknown;  // kUnknown = the activations' type

  auto operator<=>(const WeightBlocks&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The rewriting of a model. Where several rules match an operator, the last one counts.
struct PrecisionPlan {
  std::string name;  // as the user asked: a precision's name or the path of a file
  Precision base = Precision::kAsIs;
  std::vector<PrecisionRule> rules;
  WeightBlocks blocks;

  bool empty() const { return base == Precision::kAsIs && rules.empty(); }
  bool uses(Precision precision) const;
  // An order for maps: equal plans rewrite a model in the same way.
  auto operator<=>(const PrecisionPlan&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The framework whose converters and lists decide, and the kind of device.
struct PrecisionTarget {
  bool onnx_runtime = false;  // converter's block list; QDQ as its quantizer; else PyTorch's ways
  bool cpu = false;           // autocast has lists of its own for CPUs
};

// The precision that a model has: the element type of most of its floating weights (of all
// floating tensors in a model without weights), by elements.
struct ModelPrecision {
  DType dtype = DType::kFloat32;
  double share = 1;        // of the floating weights that have `dtype`
  bool quantized = false;  // has operators that quantise, or quantised ones
};
ModelPrecision find_model_precision(const Graph& graph);
// Below this share of one element type a model is mixed.
inline constexpr double kUniformShare = 0.9;

// Weights in 8 or 4 bits, also with activations in 8 bits: precisions of products with weights,
// which 16-bit models can have.
bool quantises_products(Precision precision);

// The model with every fp32 tensor in `dtype`, inputs, weights, outputs and subgraphs included.
// Under ONNX Runtime, operators of the converter's block list stay fp32 between casts. O(size).
StatusOr<Graph> cast_model(const Graph& graph, DType dtype, const PrecisionTarget& target);

// Casts, fp8, dynamic and weight-only quantisation as the plan says. O(size * rules).
StatusOr<Graph> refine_precision(const Graph& graph, const PrecisionPlan& plan,
                                 const PrecisionTarget& target);

// QuantizeLinear and DequantizeLinear round the operators that the plan has in int8, as
// quantize_static() of ONNX Runtime inserts them.
StatusOr<Graph> quantize_static(const Graph& graph, const PrecisionPlan& plan);

// Operators in TF32: products and convolutions of fp32 operands that the plan names. Changes their
// attributes in place of a copy, since nothing else does.
StatusOr<Graph> mark_tf32(const Graph& graph, const PrecisionPlan& plan);

// The precision of an operator under the plan: of the last rule that matches, else its base.
Precision precision_at(const PrecisionPlan& plan, const Op& op);

}  // namespace dfsim::inline graphs
