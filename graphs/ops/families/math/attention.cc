// Fused attention of the standard domain (opset 23): Attention, RotaryEmbedding.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/layout/subgraph.h"
#include "graphs/ops/families/math/attention_folds.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {

// Q.K^T and scores.V, then 5 scalar operations of softmax and 2 of scale and mask per score.
void add_attention_work(WorkContext& context, Count batch_heads, Count q_length, Count kv_length,
                        Count head, Count v_head) {
  const Count scores = batch_heads * q_length * kv_length;
  context.add_macs(scores * (head + v_head));
  context.add_flops(scores, 7);
  context.set_matrix();
}

void read_rotary_tables(WorkContext& context, size_t first, Count positions) {
  for (const size_t input : {first, first + 1}) {
    const Shape table = context.has_input(input) ? context.input(input).shape : Shape();
    if (!table.is_static() || table.rank() == 0) {
      continue;
    }
    const Count read = positions * Count(table[table.rank() - 1].extent());
    if (!read.overflowed() && read.value() < table.elements().value()) {
      context.set_input_bytes(input, dtype_bytes(context.input(input).dtype, read));
    }
  }
}

namespace {

// Tables come with positions where not every token has rows of its own.
void work_rotary(WorkContext& context) {
  work_per_element(context);
  const Shape& x = context.input(0).shape;
  if (x.is_static() && x.rank() >= 3 && context.has_input(3)) {
    // [batch, heads, tokens, size] or [batch, tokens, heads * size]
    read_rotary_tables(context, 1, Count(x[0].extent()) * Count(x[x.rank() - 2].extent()));
  }
}

// Extents of Attention in head form, from 3-D (heads packed) or 4-D operands.
struct AttentionDims {
  Dim batch, q_heads, kv_heads, q_length, kv_length, head, v_head;
};

Dim divided(Dim dim, int64_t by) {
  return dim.known() && by > 0 ? Dim(dim.extent() / by) : Dim::unknown();
}

template <typename ShapeOf>
std::optional<AttentionDims> attention_dims(const Attributes& attributes, const ShapeOf& shape) {
  const Shape& q = shape(0);
  const Shape& k = shape(1);
  const Shape& v = shape(2);
  const Shape& past = shape(4);
  if (!q.has_rank() || !k.has_rank() || !v.has_rank() || q.rank() != k.rank() ||
      q.rank() != v.rank() || (q.rank() != 3 && q.rank() != 4)) {
    return std::nullopt;
  }
  AttentionDims dims;
  dims.batch = q[0];
  if (q.rank() == 4) {
    dims.q_heads = q[1];
    dims.kv_heads = k[1];
    dims.head = q[3];
    dims.v_head = v[3];
  } else {
    const int64_t q_heads = attributes.int_or("q_num_heads", 0);
    const int64_t kv_heads = attributes.int_or("kv_num_heads", q_heads);
    dims.q_heads = q_heads > 0 ? Dim(q_heads) : Dim::unknown();
    dims.kv_heads = kv_heads > 0 ? Dim(kv_heads) : Dim::unknown();
    dims.head = divided(q[2], q_heads);
    dims.v_head = divided(v[2], kv_heads);
  }
  dims.q_length = q[q.rank() - 2];
  dims.kv_length = k[k.rank() - 2];
  if (past.rank() == 4 && past[2].known() && dims.kv_length.known()) {
    dims.kv_length = Dim((Count(past[2].extent()) + Count(dims.kv_length.extent())).value());
  }
  return dims;
}

Status infer_attention(InferContext& context) {
  const auto dims = attention_dims(context.attributes(),
                                   [&](size_t i) -> const Shape& { return context.shape(i); });
  if (!dims) {
    return ok_status();
  }
  const Shape& q = context.shape(0);
  if (q.rank() == 4) {
    context.set_output(0, context.dtype(0), Shape({q[0], q[1], q[2], dims->v_head}));
  } else {
    const bool known = dims->q_heads.known() && dims->v_head.known();
    context.set_output(
        0, context.dtype(0),
        Shape({q[0], q[1],
               known ? Dim((Count(dims->q_heads.extent()) * Count(dims->v_head.extent())).value())
                     : Dim::unknown()}));
  }
  context.set_output(1, context.dtype(1),
                     Shape({dims->batch, dims->kv_heads, dims->kv_length, dims->head}));
  context.set_output(2, context.dtype(2),
                     Shape({dims->batch, dims->kv_heads, dims->kv_length, dims->v_head}));
  context.set_output(3, context.dtype(0),
                     Shape({dims->batch, dims->q_heads, dims->q_length, dims->kv_length}));
  return ok_status();
}

void work_attention(WorkContext& context) {
  const auto dims = attention_dims(context.op().attributes, [&](size_t i) {
    return context.has_input(i) ? context.input(i).shape : Shape();
  });
  if (!dims || !dims->batch.known() || !dims->q_heads.known() || !dims->q_length.known() ||
      !dims->kv_length.known() || !dims->head.known() || !dims->v_head.known()) {
    return;
  }
  add_attention_work(context, Count(dims->batch.extent()) * Count(dims->q_heads.extent()),
                     Count(dims->q_length.extent()), Count(dims->kv_length.extent()),
                     Count(dims->head.extent()), Count(dims->v_head.extent()));
}

// Subgraphs that change scores or probabilities, each [batch, heads, queries, keys].
constexpr std::string_view kModifiers[] = {"score_mod", "prob_mod"};

Status infer_flex_attention(InferContext& context) {
  const auto dims = attention_dims(context.attributes(),
                                   [&](size_t i) -> const Shape& { return context.shape(i); });
  if (!dims || context.shape(0).rank() != 4) {
    return !dims ? ok_status() : context.error("expected operands of rank 4");
  }
  const Shape& q = context.shape(0);
  context.set_output(0, context.dtype(0), Shape({q[0], q[1], q[2], dims->v_head}));
  const Shape scores({dims->batch, dims->q_heads, dims->q_length, dims->kv_length});
  for (const std::string_view name : kModifiers) {
    if (subgraph(context.attributes(), name) != nullptr) {
      DFSIM_RETURN_IF_ERROR(infer_body(context, name, {{DType::kFloat32, scores}}).status());
    }
  }
  return ok_status();
}

// The modifiers run on scores that stay on the chip: their arithmetic counts, their bytes don't.
void work_flex_attention(WorkContext& context) {
  work_attention(context);
  for (const std::string_view name : kModifiers) {
    if (const GraphPtr* body = subgraph(context.op().attributes, name)) {
      const auto work = body_work(**body);
      if (!work.ok()) {
        context.set_error(work.status());
        return;
      }
      context.add_flops(work->flops);
    }
  }
}

// Query [B, T, Hq * dk], key [B, T, Hkv * dk], value [B, T, Hkv * dv]; the state is
// [B, Hkv, dk, dv].
struct LinearDims {
  Count tokens, q_heads, kv_heads, key, value;
};

template <typename ShapeOf>
std::optional<LinearDims> linear_dims(const Attributes& attributes, const ShapeOf& shape) {
  const Shape& q = shape(0);
  const Shape& v = shape(2);
  const int64_t q_heads = attributes.int_or("q_num_heads", 0);
  const int64_t kv_heads = attributes.int_or("kv_num_heads", 0);
  if (q.rank() != 3 || v.rank() != 3 || !q.is_static() || !v.is_static() || q_heads < 1 ||
      kv_heads < 1) {
    return std::nullopt;
  }
  return LinearDims{Count(q[0].extent()) * Count(q[1].extent()), Count(q_heads), Count(kv_heads),
                    Count(q[2].extent() / q_heads), Count(v[2].extent() / kv_heads)};
}

Status infer_linear_attention(InferContext& context) {
  const auto dims =
      linear_dims(context.attributes(), [&](size_t i) -> const Shape& { return context.shape(i); });
  if (!dims) {
    return ok_status();
  }
  const Shape& q = context.shape(0);
  const DType state = context.has_input(3) ? context.dtype(3) : context.dtype(0);
  context.set_output(0, context.dtype(0),
                     Shape({q[0], q[1], Dim((dims->q_heads * dims->value).value())}));
  context.set_output(
      1, state,
      Shape({q[0], Dim(dims->kv_heads.value()), Dim(dims->key.value()), Dim(dims->value.value())}));
  return ok_status();
}

// Per token: an outer product into each state and a product with it per query head; the delta rules
// ask each state once more, gates scale it.
void work_linear_attention(WorkContext& context) {
  const auto dims = linear_dims(context.op().attributes,
                                [&](size_t i) -> const Shape& { return context.input(i).shape; });
  if (!dims) {
    return;
  }
  const std::string rule = context.op().attributes.string_or("update_rule", "gated_delta");
  const bool delta = rule.find("delta") != std::string::npos;
  const Count states = dims->tokens * dims->kv_heads * dims->key * dims->value;
  context.add_macs(states * Count(delta ? 2 : 1) +
                   dims->tokens * dims->q_heads * dims->key * dims->value);
  context.add_flops(rule.starts_with("gated") ? states : Count());
  context.set_matrix();
}

constexpr std::string_view kPreview = "ai.onnx.preview";

// clang-format off
constexpr OpDef kAttentionOps[] = {
    {.op_type = "Attention", .op_class = OpClass::kAttention, .infer = infer_attention,
     .work = work_attention, .fold = fold_attention, .required_inputs = 3, .factors = factors_attention},
    {.op_type = "FlexAttention", .op_class = OpClass::kAttention, .infer = infer_flex_attention,
     .work = work_flex_attention, .required_inputs = 3, .domain = kPreview},
    {.op_type = "LinearAttention", .op_class = OpClass::kAttention, .infer = infer_linear_attention,
     .work = work_linear_attention, .fold = fold_linear_attention, .required_inputs = 3},
    {.op_type = "LinearAttention", .op_class = OpClass::kAttention, .infer = infer_linear_attention,
     .work = work_linear_attention, .required_inputs = 3, .domain = kMicrosoft},
    // two products and a sum per element
    {.op_type = "RotaryEmbedding", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_rotary, .fold = fold_rotary_embedding, .flops_per_element = 3,
     .required_inputs = 3, .factors = factors_rotary},
};
// clang-format on

constexpr WorkNote kAttentionNotes[] = {
    {work_rotary, "3 per output element; reads the tables' rows of its tokens"},
    {work_flex_attention, "as Attention; the arithmetic of its subgraphs"},
    {work_linear_attention,
     "MACs = state elements x tokens per update (2 for delta rules) and query; 1 more when gated"},
    {work_attention, "MACs = scores x (head + value head); 7 per score"},
};

}  // namespace

OpFamily attention_op_defs() { return {kAttentionOps, kAttentionNotes}; }

}  // namespace dfsim::inline graphs
