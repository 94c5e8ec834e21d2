// Scales and transposes round a product go into FusedMatMul.
#include <algorithm>

#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

bool is_product(const Op& op) {
  return (op.op_type == "MatMul" && op.domain.empty()) ||
         (op.op_type == "FusedMatMul" && op.domain == kMicrosoft);
}

bool is_float(const EditableGraph& graph, const Op& op) {
  return is_floating(graph.tensor(op.inputs[0]).dtype);
}

// A product with the attributes of FusedMatMul, its defaults where `op` is a MatMul.
Op as_fused(const Op& op) {
  Op fused = op;
  fused.domain = kMicrosoft;
  fused.op_type = "FusedMatMul";
  for (const std::string_view name : {"transA", "transB", "transBatchA", "transBatchB"}) {
    if (!fused.attributes.has(name)) {
      fused.attributes.set(std::string(name), int64_t{0});
    }
  }
  if (!fused.attributes.has("alpha")) {
    fused.attributes.set("alpha", 1.0);
  }
  return fused;
}

struct Scale {
  OpId op;
  TensorId scaled;
  double factor = 1;
};

// The op is a product with, or a quotient by, one number. One that was folded from others may not
// be known here; it doesn't matter for the work.
std::optional<Scale> scale_of(const EditableGraph& graph, OpId id) {
  const Op& op = graph.op(id);
  const bool divides = op.op_type == "Div";
  if (!op.domain.empty() || (op.op_type != "Mul" && !divides)) {
    return std::nullopt;
  }
  for (const size_t at : {1, 0}) {
    const TensorId number = op.inputs[at];
    if (!graph.is_parameter(number) || !graph.shape(number).is_static() ||
        graph.shape(number).elements().value() != 1 || (divides && at == 0)) {
      continue;
    }
    // ONNX Runtime takes a scale in only where it knows how many axes there are.
    const double factor = graph.scalar(number).value_or(1);
    if (factor != 0 && graph.rank_known(op.inputs[1 - at])) {
      return Scale{id, op.inputs[1 - at], divides ? 1 / factor : factor};
    }
  }
  return std::nullopt;
}

// The effect of a permutation in front of a product's operand.
struct Orientation {
  bool swaps = false;        // of the last two axes
  bool moves_batch = false;  // [m, batch..., k] read as [batch..., m, k]
};

std::optional<Orientation> orientation_of(const std::vector<int64_t>& perm) {
  const size_t rank = perm.size();
  if (rank < 2) {
    return std::nullopt;
  }
  Orientation result;
  result.swaps = perm[rank - 2] == static_cast<int64_t>(rank) - 1;
  const int64_t other = perm[result.swaps ? rank - 1 : rank - 2];
  if (perm[result.swaps ? rank - 2 : rank - 1] != static_cast<int64_t>(rank) - 1) {
    return std::nullopt;
  }
  result.moves_batch = rank > 2 && other == 0;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (perm[i] != static_cast<int64_t>(i) + (result.moves_batch ? 1 : 0)) {
      return std::nullopt;
    }
  }
  return result;
}

// A Cast between a Transpose and the product that alone reads it moves in front of the Transpose,
// as in ONNX Runtime.
void transpose_after_cast(EditableGraph& graph, OpId id, size_t input) {
  const TensorId operand = graph.op(id).inputs[input];
  const OpId cast = graph.producer(operand);
  if (!cast.valid() || graph.op(cast).op_type != "Cast" || graph.sole_reader(operand) != id) {
    return;
  }
  const TensorId moved = graph.op(cast).inputs[0];
  const OpId source = graph.producer(moved);
  if (!source.valid() || graph.op(source).op_type != "Transpose" ||
      !is_floating(graph.tensor(moved).dtype)) {
    return;
  }
  const auto* perm = graph.op(source).attributes.get_ints("perm");
  if (perm == nullptr || !orientation_of(*perm)) {
    return;
  }
  const TensorId whole = graph.op(source).inputs[0];
  Op first = graph.op(cast);
  first.inputs = {whole};
  first.outputs = {graph.add_tensor(graph.tensor(operand).name + "/transposed",
                                    graph.tensor(operand).dtype, graph.shape(whole),
                                    graph.open_axes(whole))};
  Op second = graph.op(source);
  second.name += "/cast";
  second.inputs = first.outputs;
  second.outputs = {graph.add_tensor(graph.tensor(operand).name + "/cast",
                                     graph.tensor(operand).dtype, graph.shape(operand),
                                     graph.open_axes(operand))};
  const TensorId transposed = second.outputs[0];
  const bool alone = graph.sole_reader(moved) == cast;
  graph.add_op(std::move(first));
  graph.add_op(std::move(second));
  graph.set_input(id, input, transposed);
  graph.remove_op(cast);
  if (alone) {
    graph.remove_op(source);
  }
}

bool absorb_transpose(EditableGraph& graph, OpId id, size_t input) {
  const Op& product = graph.op(id);
  const OpId source = graph.producer(product.inputs[input]);
  if (!source.valid() || graph.op(source).op_type != "Transpose") {
    return false;
  }
  const auto* perm = graph.op(source).attributes.get_ints("perm");
  const auto orientation = perm != nullptr ? orientation_of(*perm) : std::nullopt;
  const char* trans = input == 0 ? "transA" : "transB";
  const char* batch = input == 0 ? "transBatchA" : "transBatchB";
  if (!orientation || product.attributes.int_or(trans, 0) != 0 ||
      product.attributes.int_or(batch, 0) != 0) {
    return false;
  }
  // Batches are moved for both operands of equal rank or not at all.
  if (orientation->moves_batch &&
      !(graph.rank_known(product.inputs[0]) && graph.rank_known(product.inputs[1]))) {
    return false;
  }
  if (orientation->moves_batch &&
      graph.shape(product.inputs[0]).rank() != graph.shape(product.inputs[1]).rank()) {
    return false;
  }
  Op fused = as_fused(product);
  fused.inputs[input] = graph.op(source).inputs[0];
  fused.attributes.set(trans, int64_t{orientation->swaps});
  fused.attributes.set(batch, int64_t{orientation->moves_batch});
  std::vector<OpId> replaced = {id};
  if (graph.sole_reader(graph.op(source).outputs[0]) == id) {
    replaced.push_back(source);
  }
  graph.fuse(replaced, std::move(fused));
  return true;
}

}  // namespace

void fuse_matmul_scale(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (!graph.alive(id) || !is_product(graph.op(id)) || !is_float(graph, graph.op(id))) {
      continue;
    }
    Op fused = as_fused(graph.op(id));
    double alpha = *fused.attributes.get_float("alpha");
    std::vector<OpId> replaced = {id};
    bool taken = false;
    for (TensorId& input : fused.inputs) {
      const OpId source = graph.producer(input);
      const auto scale = source.valid() ? scale_of(graph, source) : std::nullopt;
      if (!scale) {
        continue;
      }
      taken = true;
      alpha *= scale->factor;
      if (graph.sole_reader(input) == id) {
        replaced.push_back(source);
      }
      input = scale->scaled;
    }
    const OpId reader = graph.sole_reader(fused.outputs[0]);
    const auto scale = reader.valid() ? scale_of(graph, reader) : std::nullopt;
    if (scale && scale->scaled == fused.outputs[0]) {
      alpha *= scale->factor;
      fused.outputs[0] = graph.op(reader).outputs[0];
      replaced.push_back(reader);
      taken = true;
    }
    if (taken) {
      fused.attributes.set("alpha", alpha);
      graph.fuse(replaced, std::move(fused));
    }
  }
}

void fuse_matmul_transpose(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (!graph.alive(id) || !is_product(graph.op(id)) || !is_float(graph, graph.op(id))) {
      continue;
    }
    const TensorId result = graph.op(id).outputs[0];
    for (const size_t input : {0, 1}) {
      transpose_after_cast(graph, graph.producer(result), input);
      absorb_transpose(graph, graph.producer(result), input);
    }
  }
}

}  // namespace dfsim::inline graphs
