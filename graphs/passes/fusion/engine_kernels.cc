// An engine's kernels of transformers end with more than one operator, and keep rows on the chip.
//
// GELU runs on the results of a product before they are stored, where those have the precision of
// its operands: 16 bits, or 8 bits that a QuantizeLinear behind the GELU makes. Attention of 16
// bits is one kernel that reads its operands and writes its results, quantised or not, in any order
// of axes, so the Transposes around it and the QuantizeLinear behind it cost nothing. A layer
// normalisation keeps its row in the registers of one block, and stores rows in any order. The mark
// `engine_kernel` tells the cost model about attention and normalisations.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

bool is_of_16_bits(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

bool is_standard(const Op& op, std::string_view type) {
  return op.op_type == type && op.domain.empty();
}

// "Gelu" or "FastGelu", the one by tanh; "" for other operators, and for GELUs that add a bias.
std::string_view gelu_of(const Op& op) {
  if (op.inputs.size() != 1) {
    return "";
  }
  if (op.domain == kMicrosoft && (op.op_type == "Gelu" || op.op_type == "FastGelu")) {
    return op.op_type == "Gelu" ? "Gelu" : "FastGelu";
  }
  if (!is_standard(op, "Gelu")) {
    return "";
  }
  return op.attributes.string_or("approximate", "none") == "tanh" ? "FastGelu" : "Gelu";
}

// The tensors from `from` on, as long as Reshapes alone read them, each by one; the last one is
// what another operator reads.
std::vector<TensorId> through_reshapes(const EditableGraph& graph, TensorId from) {
  std::vector<TensorId> tensors = {from};
  for (;;) {
    const OpId reader = graph.sole_reader(tensors.back());
    if (!reader.valid() || !is_standard(graph.op(reader), "Reshape")) {
      return tensors;
    }
    tensors.push_back(graph.op(reader).outputs[0]);
  }
}

// `product` also computes what `last` makes of its result; in between are Reshapes alone.
void end_product_with(EditableGraph& graph, std::vector<OpId> replaced, Op product,
                      const std::vector<TensorId>& between, OpId last) {
  const TensorId result = graph.op(last).outputs[0];
  const DType dtype = graph.tensor(result).dtype;
  replaced.push_back(last);
  if (between.size() == 1) {
    product.outputs = {result};
    graph.fuse(replaced, std::move(product));
    return;
  }
  const OpId reshape = graph.producer(between.back());
  for (const TensorId id : between) {
    graph.set_dtype(id, dtype);
  }
  graph.fuse(replaced, std::move(product));
  graph.set_output(reshape, 0, result);
}

void end_with_gelu(EditableGraph& graph, OpId id) {
  constexpr size_t kWithoutResultScale = 7;
  const Op product = graph.op(id);
  const bool quantised = product.op_type == "QGemm" && product.domain == kMicrosoft &&
                         product.inputs.size() <= kWithoutResultScale;
  if (!quantised && !is_standard(product, "Gemm")) {
    return;
  }
  const std::vector<TensorId> between = through_reshapes(graph, product.outputs[0]);
  const OpId gelu = graph.sole_reader(between.back());
  const std::string_view activation = gelu.valid() ? gelu_of(graph.op(gelu)) : "";
  if (activation.empty()) {
    return;
  }
  Op fused = product;
  fused.domain = kMicrosoft;
  fused.attributes.set("activation", std::string(activation));
  if (!quantised) {
    if (is_of_16_bits(graph.tensor(product.outputs[0]).dtype)) {
      fused.op_type = "FusedGemm";
      end_product_with(graph, {id}, std::move(fused), between, gelu);
    }
    return;
  }
  const OpId quantise = graph.sole_reader(graph.op(gelu).outputs[0]);
  if (!quantise.valid() || !is_standard(graph.op(quantise), "QuantizeLinear") ||
      graph.op(quantise).inputs.size() != 3) {
    return;
  }
  fused.inputs.resize(kWithoutResultScale);
  fused.inputs.push_back(graph.op(quantise).inputs[1]);
  fused.inputs.push_back(graph.op(quantise).inputs[2]);
  end_product_with(graph, {id, gelu}, std::move(fused), between, quantise);
}

bool is_attention(const EditableGraph& graph, const Op& op) {
  return is_standard(op, "Attention") && is_of_16_bits(graph.tensor(op.outputs[0]).dtype);
}

// One scale for all values.
bool has_one_scale(const EditableGraph& graph, const Op& quantise) {
  const Shape& scale = graph.shape(quantise.inputs[1]);
  return scale.is_static() && scale.elements() == Count(1);
}

bool is_reshaping(const Op& op) {
  return is_standard(op, "Reshape") || is_standard(op, "Squeeze") || is_standard(op, "Unsqueeze");
}

// The attention writes what a QuantizeLinear makes of it, behind operators that only move values.
void quantise_in_attention(EditableGraph& graph, OpId attention) {
  std::vector<TensorId> moved = {graph.op(attention).outputs[0]};
  OpId reader = graph.sole_reader(moved.back());
  while (reader.valid() &&
         (is_reshaping(graph.op(reader)) || is_standard(graph.op(reader), "Transpose"))) {
    moved.push_back(graph.op(reader).outputs[0]);
    reader = graph.sole_reader(moved.back());
  }
  if (!reader.valid() || !is_standard(graph.op(reader), "QuantizeLinear") ||
      !has_one_scale(graph, graph.op(reader))) {
    return;
  }
  const TensorId bytes = graph.op(reader).outputs[0];
  if (graph.tensor(bytes).is_output) {
    return;
  }
  for (const TensorId id : moved) {
    graph.set_dtype(id, graph.tensor(bytes).dtype);
  }
  graph.replace_reads(bytes, moved.back());
  Op fused = graph.op(attention);
  graph.fuse({attention, reader}, std::move(fused));
}

std::optional<Dim> last_extent(const EditableGraph& graph, TensorId id) {
  const Shape& shape = graph.shape(id);
  return shape.rank() > 0 ? std::optional(shape[shape.rank() - 1]) : std::nullopt;
}

// A Transpose that alone reads the results, also of another shape, is the order in which they are
// stored. `rows`: the kernel stores whole rows, so the last axis stays where it is.
void store_transposed(EditableGraph& graph, OpId kernel, bool rows) {
  const TensorId result = graph.op(kernel).outputs[0];
  OpId reader = graph.sole_reader(result);
  while (reader.valid() && is_reshaping(graph.op(reader)) &&
         (!rows || last_extent(graph, graph.op(reader).outputs[0]) == last_extent(graph, result))) {
    reader = graph.sole_reader(graph.op(reader).outputs[0]);
  }
  if (!reader.valid() || !is_standard(graph.op(reader), "Transpose")) {
    return;
  }
  const auto* perm = graph.op(reader).attributes.get_ints("perm");
  if (!rows || (perm != nullptr && !perm->empty() &&
                perm->back() == static_cast<int64_t>(perm->size()) - 1)) {
    graph.set_class(reader, OpClass::kView);
  }
}

// Views of engines, and a Transpose.
bool moves_values(const Op& op) {
  constexpr std::array<std::string_view, 3> kParts = {"Gather", "Slice", "Split"};
  return is_reshaping(op) || is_standard(op, "Transpose") ||
         (op.domain.empty() && std::ranges::find(kParts, op.op_type) != kParts.end());
}

// `reader` alone reads the tensor, or its values where operators in between only move them.
bool only_reaches(const EditableGraph& graph, TensorId id, OpId reader) {
  return id.valid() && !graph.tensor(id).is_output &&
         std::ranges::all_of(graph.readers(id), [&](OpId next) {
           const Op& op = graph.op(next);
           return next == reader || (moves_values(op) && op.inputs[0] == id &&
                                     std::ranges::all_of(op.outputs, [&](TensorId output) {
                                       return only_reaches(graph, output, reader);
                                     }));
         });
}

// The kernel reads its operands with any strides: a Transpose that nothing else reads, also in
// parts or in another shape, moves nothing.
void load_transposed(EditableGraph& graph, OpId attention) {
  constexpr size_t kOperands = 3;
  const std::vector<TensorId> inputs = graph.op(attention).inputs;
  for (size_t i = 0; i < std::min(inputs.size(), kOperands); ++i) {
    for (TensorId id = inputs[i]; only_reaches(graph, id, attention);) {
      const OpId producer = graph.producer(id);
      if (!producer.valid() || !moves_values(graph.op(producer))) {
        break;
      }
      if (is_standard(graph.op(producer), "Transpose")) {
        graph.set_class(producer, OpClass::kView);
      }
      id = graph.op(producer).inputs[0];
    }
  }
}

void mark(EditableGraph& graph, OpId id) {
  if (graph.op(id).attributes.int_or(kEngineKernel, 0) == 0) {
    graph.attributes(id).set(std::string(kEngineKernel), int64_t{1});
  }
}

}  // namespace

void end_products_with_gelu(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (graph.alive(id)) {
      end_with_gelu(graph, id);
    }
  }
}

void run_attention_as_kernel(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (graph.alive(id) && is_attention(graph, graph.op(id))) {
      mark(graph, id);
      load_transposed(graph, id);
      store_transposed(graph, id, /*rows=*/false);
      quantise_in_attention(graph, id);
    }
  }
}

void mark_row_kernels(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (is_standard(op, "LayerNormalization") || op.op_type == "SimplifiedLayerNormalization") {
      mark(graph, id);
      store_transposed(graph, id, /*rows=*/true);
    }
  }
}

}  // namespace dfsim::inline graphs
