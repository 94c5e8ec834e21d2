// Operators that ONNX Runtime's model builders emit for decoders (com.microsoft): attention over
// packed tokens or one token at a time, mixtures of experts, tables of few bits.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/extensions/contrib_ops.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

// ---- Attention over the tokens of a batch without padding: [tokens, H]; token_offset is [B, S].

// PackedAttention: input, weights [I, Q + K + V], bias, token_offset.
// PackedMultiHeadAttention: query [T, H] or [T, n, 3, h], key, value, bias, token_offset.
struct Packed {
  Count pairs;  // batch x heads x query x key positions, as if no sequence were shorter
  Count head;
  Count hidden;
};

template <typename ShapeOf>
std::optional<Packed> packed_heads(const Op& op, const ShapeOf& shape) {
  const bool projects = op.op_type == "PackedAttention";
  const Shape& x = shape(0);
  const Shape& offset = shape(projects ? 3 : 4);
  const int64_t heads = op.attributes.int_or("num_heads", 0);
  if (!x.is_static() || !offset.is_static() || offset.rank() != 2 || heads < 1) {
    return std::nullopt;
  }
  Packed packed;
  if (projects) {
    const Shape& w = shape(1);
    if (x.rank() != 2 || w.rank() != 2 || !w.is_static()) {
      return std::nullopt;
    }
    packed.hidden = Count(w[1].extent() / 3);
  } else if (x.rank() == 2) {
    packed.hidden = Count(x[1].extent());
  } else if (x.rank() == 4) {
    packed.hidden = Count(x[1].extent()) * Count(x[3].extent());
  } else {
    return std::nullopt;
  }
  packed.head = packed.hidden.overflowed() ? packed.hidden : Count(packed.hidden.value() / heads);
  const Count length(offset[1].extent());
  packed.pairs = Count(offset[0].extent()) * Count(heads) * length * length;
  return packed;
}

Status infer_packed(InferContext& context) {
  const auto packed =
      packed_heads(context.op(), [&](size_t i) -> const Shape& { return context.shape(i); });
  if (packed && !packed->hidden.overflowed()) {
    context.set_output(0, context.dtype(0),
                       Shape({context.shape(0)[0], Dim(packed->hidden.value())}));
  }
  return ok_status();
}

void work_packed(WorkContext& context) {
  const auto packed = packed_heads(context.op(), [&](size_t i) {
    return context.has_input(i) ? context.input(i).shape : Shape();
  });
  if (!packed) {
    return;
  }
  if (context.op().op_type == "PackedAttention") {
    context.add_macs(context.input(0).shape.elements() * Count(context.input(1).shape[1].extent()));
  }
  context.add_macs(packed->pairs * packed->head * Count(2));
  context.add_flops(packed->pairs, 7);
  context.set_matrix();
}

// ---- One token at a time: query [B, 1, H], caches [B, heads, positions, head] in inputs 5 and 6.

Status infer_decoder(InferContext& context) {
  const Shape& q = context.shape(0);
  const Shape& v = context.shape(2);
  if (q.rank() == 3) {
    context.set_output(0, context.dtype(0), v.rank() == 3 ? Shape({q[0], q[1], v[2]}) : q);
  }
  const bool shared = context.attributes().int_or("past_present_share_buffer", 0) != 0;
  for (size_t i = 1; i < 3; ++i) {
    const Shape& past = context.shape(4 + i);
    if (past.rank() != 4) {
      continue;
    }
    Dims dims = past.dims();
    if (!shared && dims[2].known()) {
      dims[2] = Dim((Count(dims[2].extent()) + Count(1)).value());
    }
    context.set_output(i, context.dtype(4 + i), Shape(std::move(dims)));
  }
  return ok_status();
}

// How many positions of a cache with room are in use: one more than past_sequence_length, where the
// model says that, else all.
Count positions_in_use(const WorkContext& context, int64_t room) {
  constexpr size_t kPastLength = 7;
  const ConstValue* const past = context.value(kPastLength);
  const bool told = past != nullptr && past->size() == 1 && past->as_int(0) >= 0;
  return Count(told && past->as_int(0) < room ? past->as_int(0) + 1 : room);
}

void work_decoder(WorkContext& context) {
  constexpr size_t kFirstCache = 5;
  constexpr int kCacheRank = 4;
  const Shape& q = context.input(0).shape;
  if (q.rank() != 3) {
    return;
  }
  Count positions(1);
  if (context.has_input(kFirstCache) && context.input(kFirstCache).shape.rank() == kCacheRank) {
    const Count past(context.input(kFirstCache).shape[2].extent());
    const bool shared = context.op().attributes.int_or("past_present_share_buffer", 0) != 0;
    positions = shared ? positions_in_use(context, past.value()) : past + Count(1);
  } else if (context.has_input(1) && context.input(1).shape.rank() == kCacheRank) {
    positions = Count(context.input(1).shape[2].extent());  // cross attention: keys of the encoder
  }
  const Count heads(std::max<int64_t>(1, context.op().attributes.int_or("num_heads", 1)));
  // All heads together are as wide as the query: scores, then the mix of values.
  context.add_macs(q.elements() * positions * Count(2));
  context.add_flops(Count(q[0].extent()) * Count(q[1].extent()) * heads * positions, 7);
  context.set_matrix();
}

// Values of so many bits in a byte.
int64_t values_per_byte(int64_t bits) { return bits == 2 || bits == 4 ? 8 / bits : 1; }

// ---- Mixtures of experts: input [rows, H] or [B, S, H], router [rows, E], then the experts'
// matrices, of which each row passes through `k`.

struct ExpertMatrices {
  size_t stride;   // inputs from one matrix to the next: weight, (scales), bias
  int64_t packed;  // elements per stored element
};

ExpertMatrices expert_matrices(const Op& op) {
  if (op.op_type != "QMoE") {
    return {2, 1};
  }
  return {3, values_per_byte(op.attributes.int_or("expert_weight_bits", 4))};
}

void work_experts(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  const Shape& router = context.input(1).shape;
  if (x.rank() < 2 || router.rank() != 2 || router[1].extent() < 1) {
    return;
  }
  Count rows(1);
  for (int i = 0; i + 1 < x.rank(); ++i) {
    rows *= Count(x[i].extent());
  }
  const int64_t experts = router[1].extent();
  const int64_t chosen = std::clamp<int64_t>(context.op().attributes.int_or("k", 1), 1, experts);
  const Count visits = rows * Count(chosen);
  const bool all_used = visits.overflowed() || visits.value() >= experts;
  const auto [stride, packed] = expert_matrices(context.op());
  for (size_t i = 2; i < 2 + 3 * stride; i += stride) {
    if (!context.has_input(i) || context.input(i).shape.rank() != 3) {
      continue;
    }
    const Tensor& matrix = context.input(i);
    const Count elements = matrix.shape.elements() * Count(packed);
    if (elements.overflowed() || matrix.bytes().overflowed()) {
      continue;
    }
    context.add_macs(visits * Count(elements.value() / experts));
    if (!all_used) {  // only the chosen experts' matrices are read
      context.set_input_bytes(i, Count(matrix.bytes().value() / experts) * visits);
      const Tensor* scales =
          stride == 3 && context.has_input(i + 1) ? &context.input(i + 1) : nullptr;
      if (scales != nullptr && !scales->bytes().overflowed()) {
        context.set_input_bytes(i + 1, Count(scales->bytes().value() / experts) * visits);
      }
    }
  }
  context.add_flops(router.elements(), 5);  // softmax over the experts
  context.set_matrix();
}

// Three matrices with their scales and biases, then the matrices' zero points.
Count experts_elements(const Op& op, size_t input, const Tensor& operand) {
  constexpr size_t kZeroPoints = 11;
  const bool is_matrix = input == 2 || input == 5 || input == 8;
  const bool holds_packed = operand.dtype == DType::kUInt8 && (is_matrix || input >= kZeroPoints);
  return operand.shape.elements() * Count(holds_packed ? expert_matrices(op).packed : 1);
}

// ---- A gather from a table of few bits: data, indices, scales, zero points.

Status infer_gather_blocks(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& indices = context.shape(1);
  if (!x.has_rank() || !indices.has_rank() || x.rank() == 0) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("gather_axis", 0), x.rank()));
  Dims source = x.dims();
  if (context.dtype(0) == DType::kUInt8 && source.back().known()) {
    const Count packed(values_per_byte(context.attributes().int_or("bits", 4)));
    source.back() = Dim((Count(source.back().extent()) * packed).value());
  }
  Dims dims(source.begin(), source.begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), source.begin() + axis + 1, source.end());
  context.set_output(0, context.dtype(2), Shape(std::move(dims)));
  return ok_status();
}

// The table and its zero points.
Count gather_blocks_elements(const Op& op, size_t input, const Tensor& operand) {
  constexpr size_t kZeroPoints = 3;
  const bool packed = (input == 0 || input == kZeroPoints) && operand.dtype == DType::kUInt8;
  return operand.shape.elements() *
         Count(packed ? values_per_byte(op.attributes.int_or("bits", 4)) : 1);
}

// Scale and zero point per element that is returned; of the table, its bits are read.
void work_gather_blocks(WorkContext& context) {
  const Count elements = context.first_output().shape.elements();
  context.add_flops(elements, 2);
  const int64_t bits = context.op().attributes.int_or("bits", 4);
  const Count read = elements * Count(bits);
  const Count stored = read.overflowed() ? read : Count((read.value() + 7) / 8);
  const Count table = context.input(0).bytes();
  if (!stored.overflowed() && !table.overflowed() && stored.value() < table.value()) {
    context.set_input_bytes(0, stored);
  }
}

// ---- Inverse of square matrices.

void work_inverse(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  const Count side(x.rank() > 0 ? x[x.rank() - 1].extent() : 1);
  context.add_flops(x.elements() * side * Count(2));
}

// clang-format off
constexpr OpDef kContribDecoderOps[] = {
    {.op_type = "PackedAttention", .op_class = OpClass::kAttention, .infer = infer_packed,
     .work = work_packed, .required_inputs = 4, .domain = kMicrosoft},
    {.op_type = "PackedMultiHeadAttention", .op_class = OpClass::kAttention, .infer = infer_packed,
     .work = work_packed, .domain = kMicrosoft},
    {.op_type = "DecoderMaskedMultiHeadAttention", .op_class = OpClass::kAttention,
     .infer = infer_decoder, .work = work_decoder, .domain = kMicrosoft},
    {.op_type = "MoE", .op_class = OpClass::kMatMul, .infer = infer_same_as_first,
     .work = work_experts, .required_inputs = 3, .domain = kMicrosoft,
     .factors = factors_experts},
    {.op_type = "QMoE", .op_class = OpClass::kMatMul, .infer = infer_same_as_first,
     .work = work_experts, .required_inputs = 3, .domain = kMicrosoft,
     .factors = factors_experts,
     .stored_elements = experts_elements},
    {.op_type = "GatherBlockQuantized", .op_class = OpClass::kGather, .infer = infer_gather_blocks,
     .work = work_gather_blocks, .required_inputs = 3, .domain = kMicrosoft,
     .stored_elements = gather_blocks_elements},
    {.op_type = "Inverse", .infer = infer_same_as_first, .work = work_inverse,
     .domain = kMicrosoft},
    {.op_type = "Trilu", .op_class = OpClass::kDataMovement, .infer = infer_same_as_first,
     .work = work_copy, .domain = kMicrosoft},
};
// clang-format on

constexpr WorkNote kContribDecoderNotes[] = {
    {work_packed, "MACs = projections + scores x (head + value head); 7 per score"},
    {work_decoder, "MACs = query elements x positions x 2; 7 per score"},
    {work_experts,
     "MACs = rows x chosen experts x their matrices; reads the matrices that are chosen"},
    {work_gather_blocks, "2 per output element; reads what it returns"},
    {work_inverse, "2 x side per element"},
};

}  // namespace

OpFamily contrib_decoder_op_defs() { return {kContribDecoderOps, kContribDecoderNotes}; }

}  // namespace dfsim::inline graphs
