// Attention of ONNX Runtime (com.microsoft): fused projections, heads and caches.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"

namespace dfsim::inline graphs {
namespace {

Dim dim_over(Dim dim, int64_t by) {
  return dim.known() && by > 0 ? Dim(dim.extent() / by) : Dim::unknown();
}

Dim product(Dim a, Dim b) {
  return a.known() && b.known() ? Dim((Count(a.extent()) * Count(b.extent())).value())
                                : Dim::unknown();
}

Dim sum(Dim a, Dim b) {
  return a.known() && b.known() ? Dim((Count(a.extent()) + Count(b.extent())).value())
                                : Dim::unknown();
}

// The common form of all these operators.
struct Heads {
  Dim batch, q_heads, kv_heads, q_length, kv_length, head, v_head;
  Dim past;  // positions in the cache, 0 without one
  bool known() const {
    return batch.known() && q_heads.known() && kv_heads.known() && q_length.known() &&
           kv_length.known() && head.known() && v_head.known();
  }
};

Dim head_count(const Attributes& attributes, std::string_view name) {
  const int64_t heads = attributes.int_or(name, 0);
  return heads > 0 ? Dim(heads) : Dim::unknown();
}

// The cache's positions: [..., positions, head] of rank 4, or 5 with keys and values stacked.
Dim past_positions(const Shape& past) { return past.rank() >= 4 ? past[past.rank() - 2] : Dim(0); }

// Attention, QAttention: input [B, S, I] times weights [I, Q + K + V]; `past` is the input with
// both caches. The hidden sizes are equal unless qkv_hidden_sizes says otherwise.
template <typename ShapeOf>
std::optional<Heads> fused_heads(const Op& op, const ShapeOf& shape) {
  const Shape& x = shape(0);
  const Shape& w = shape(1);
  if (x.rank() != 3 || w.rank() != 2) {
    return std::nullopt;
  }
  const int64_t heads = op.attributes.int_or("num_heads", 0);
  const auto* sizes = op.attributes.get_ints("qkv_hidden_sizes");
  const bool own_sizes = sizes != nullptr && sizes->size() == 3;
  const Dim q_size = own_sizes ? Dim(std::max<int64_t>(0, (*sizes)[0])) : dim_over(w[1], 3);
  const Dim v_size = own_sizes ? Dim(std::max<int64_t>(0, (*sizes)[2])) : q_size;
  Heads result;
  result.batch = x[0];
  result.q_heads = result.kv_heads = head_count(op.attributes, "num_heads");
  result.q_length = x[1];
  result.head = dim_over(q_size, heads);
  result.v_head = dim_over(v_size, heads);
  result.past = past_positions(shape(op.op_type == "QAttention" ? 8 : 4));
  result.kv_length = sum(x[1], result.past);
  return result;
}

Status infer_fused(InferContext& context) {
  const auto heads =
      fused_heads(context.op(), [&](size_t i) -> const Shape& { return context.shape(i); });
  if (!heads) {
    return ok_status();
  }
  const DType dtype = context.op().op_type == "QAttention" ? context.dtype(3) : context.dtype(0);
  context.set_output(
      0, dtype, Shape({heads->batch, heads->q_length, product(heads->q_heads, heads->v_head)}));
  context.set_output(1, dtype,
                     Shape({Dim(2), heads->batch, heads->q_heads, heads->kv_length, heads->head}));
  return ok_status();
}

void add_scores(WorkContext& context, const Heads& heads) {
  add_attention_work(context, Count(heads.batch.extent()) * Count(heads.q_heads.extent()),
                     Count(heads.q_length.extent()), Count(heads.kv_length.extent()),
                     Count(heads.head.extent()), Count(heads.v_head.extent()));
}

void work_fused(WorkContext& context) {
  const auto heads = fused_heads(context.op(), [&](size_t i) {
    return context.has_input(i) ? context.input(i).shape : Shape();
  });
  if (!heads || !heads->known()) {
    return;
  }
  const Shape& x = context.input(0).shape;
  context.add_macs(x.elements() * Count(context.input(1).shape[1].extent()));
  add_scores(context, *heads);
}

// MultiHeadAttention: query [B, S, H], keys and values apart [B, L, H], in heads [B, n, L, h], or
// packed into the query [B, S, n, 3, h] or the key [B, L, n, 2, h]; caches in inputs 6 and 7.
template <typename ShapeOf>
std::optional<Heads> multi_heads(const Op& op, const ShapeOf& shape) {
  const Shape& q = shape(0);
  const Shape& k = shape(1);
  const Shape& v = shape(2);
  if (q.rank() != 3 && q.rank() != 5) {
    return std::nullopt;
  }
  const int64_t count = op.attributes.int_or("num_heads", 0);
  Heads heads;
  heads.batch = q[0];
  heads.q_heads = heads.kv_heads = head_count(op.attributes, "num_heads");
  heads.q_length = heads.kv_length = q[1];
  heads.head = q.rank() == 5 ? q[4] : dim_over(q[2], count);
  heads.v_head = heads.head;
  if (k.rank() == 4) {
    heads.kv_length = k[2];
  } else if (k.rank() >= 3) {
    heads.kv_length = k[1];
  }
  if (v.rank() == 3) {
    heads.v_head = dim_over(v[2], count);
  } else if (v.rank() == 4) {
    heads.v_head = v[3];
  }
  heads.past = past_positions(shape(6));
  heads.kv_length = sum(heads.kv_length, heads.past);
  return heads;
}

Status infer_multi_head(InferContext& context) {
  const auto heads =
      multi_heads(context.op(), [&](size_t i) -> const Shape& { return context.shape(i); });
  if (!heads) {
    return ok_status();
  }
  context.set_output(
      0, context.dtype(0),
      Shape({heads->batch, heads->q_length, product(heads->q_heads, heads->v_head)}));
  context.set_output(1, context.dtype(0),
                     Shape({heads->batch, heads->kv_heads, heads->kv_length, heads->head}));
  context.set_output(2, context.dtype(0),
                     Shape({heads->batch, heads->kv_heads, heads->kv_length, heads->v_head}));
  return ok_status();
}

void work_multi_head(WorkContext& context) {
  const auto heads = multi_heads(context.op(), [&](size_t i) {
    return context.has_input(i) ? context.input(i).shape : Shape();
  });
  if (heads && heads->known()) {
    add_scores(context, *heads);
  }
}

// The input with the number of positions in use, and the first of the two tables of angles.
// SparseAttention has the blocks that it looks at in between; all count, as if no block were left
// out.
size_t total_length_input(const Op& op) { return op.op_type == "SparseAttention" ? 7 : 6; }
size_t cosines_input(const Op& op) { return op.op_type == "SparseAttention" ? 9 : 7; }

// GroupQueryAttention: query [B, S, n * h] or with keys and values behind it; caches in 3 and 4,
// which hold the new positions already when they are as long as total_sequence_length (input 6).
template <typename ShapeOf>
std::optional<Heads> grouped_heads(const Op& op, const ShapeOf& shape,
                                   const ConstValue* total_length) {
  const Shape& q = shape(0);
  const Shape& k = shape(1);
  if (q.rank() != 3) {
    return std::nullopt;
  }
  const int64_t count = op.attributes.int_or("num_heads", 0);
  const int64_t kv_count = op.attributes.int_or("kv_num_heads", 0);
  Heads heads;
  heads.batch = q[0];
  heads.q_heads = head_count(op.attributes, "num_heads");
  heads.kv_heads = head_count(op.attributes, "kv_num_heads");
  heads.q_length = q[1];
  const Count packed =
      Count(std::max<int64_t>(0, count)) + Count(2) * Count(std::max<int64_t>(0, kv_count));
  heads.head = dim_over(q[2], k.rank() == 3 ? count : packed.value());
  heads.v_head = heads.head;
  heads.past = past_positions(shape(3));
  heads.kv_length = sum(heads.q_length, heads.past);
  if (total_length != nullptr && total_length->size() == 1 && heads.past.known() &&
      total_length->as_int(0) >= 0) {
    heads.kv_length = Dim(std::max(total_length->as_int(0), heads.past.extent()));
  }
  return heads;
}

Status infer_grouped(InferContext& context) {
  const auto heads = grouped_heads(
      context.op(), [&](size_t i) -> const Shape& { return context.shape(i); },
      context.value(total_length_input(context.op())));
  if (!heads) {
    return ok_status();
  }
  // A cache of fewer bits packs several values into one; others have the heads' size.
  const Shape& cache = context.shape(3);
  if (cache.rank() == 4 && cache[3].known() && heads->head.known() && cache[3] != heads->head &&
      is_floating(context.dtype(3)) && heads->head.extent() > 0) {
    return context.error(fmt::format(
        "the cache {} has heads of {} elements, the query's {} have {}", format_shape(cache),
        cache[3].extent(), heads->q_heads.extent(), heads->head.extent()));
  }
  context.set_output(0, context.dtype(0),
                     Shape({heads->batch, heads->q_length, product(heads->q_heads, heads->head)}));
  for (size_t i = 1; i < 3; ++i) {
    context.set_output(i, context.has_input(2 + i) ? context.dtype(2 + i) : context.dtype(0),
                       Shape({heads->batch, heads->kv_heads, heads->kv_length, heads->head}));
  }
  return ok_status();
}

// The cache may have room for more positions than are in use: only the total counts, and where the
// caches are shared between runs, only the new positions are written.
void work_grouped(WorkContext& context) {
  constexpr size_t kFirstCache = 3;
  auto heads = grouped_heads(
      context.op(),
      [&](size_t i) { return context.has_input(i) ? context.input(i).shape : Shape(); },
      context.value(total_length_input(context.op())));
  if (!heads || !heads->known()) {
    return;
  }
  const ConstValue* total = context.value(total_length_input(context.op()));
  const bool in_place = heads->past.known() && heads->past == heads->kv_length;
  if (in_place && total != nullptr && total->size() == 1 && total->as_int(0) > 0) {
    heads->kv_length = Dim(std::min(total->as_int(0), heads->past.extent()));
    const Count row = Count(heads->batch.extent()) * Count(heads->kv_heads.extent()) *
                      Count(heads->head.extent());
    const DType dtype =
        context.has_input(kFirstCache) ? context.input(kFirstCache).dtype : context.input(0).dtype;
    for (size_t cache = kFirstCache; cache < kFirstCache + 2; ++cache) {
      if (context.has_input(cache)) {
        context.set_input_bytes(cache, dtype_bytes(dtype, row * Count(heads->kv_length.extent())));
      }
    }
    const Count added = row * Count(heads->q_length.extent()) * Count(2);
    context.set_written_bytes(context.first_output().bytes() + dtype_bytes(dtype, added));
  }
  read_rotary_tables(context, cosines_input(context.op()),
                     Count(heads->batch.extent()) * Count(heads->q_length.extent()));
  add_scores(context, *heads);
}

// input, position_ids, cosines, sines
void work_contrib_rotary(WorkContext& context) {
  work_per_element(context);
  const Shape& x = context.input(0).shape;
  if (x.is_static() && x.rank() >= 3) {
    read_rotary_tables(context, 2, Count(x[0].extent()) * Count(x[x.rank() - 2].extent()));
  }
}

// clang-format off
constexpr OpDef kContribAttentionOps[] = {
    {.op_type = "Attention", .op_class = OpClass::kAttention, .infer = infer_fused,
     .work = work_fused, .required_inputs = 2, .domain = kMicrosoft, .factors = factors_packed_attention},
    {.op_type = "QAttention", .op_class = OpClass::kAttention, .infer = infer_fused,
     .work = work_fused, .required_inputs = 4, .domain = kMicrosoft, .factors = factors_packed_attention},
    {.op_type = "MultiHeadAttention", .op_class = OpClass::kAttention, .infer = infer_multi_head,
     .work = work_multi_head, .domain = kMicrosoft, .factors = factors_multi_head_attention},
    {.op_type = "GroupQueryAttention", .op_class = OpClass::kAttention, .infer = infer_grouped,
     .work = work_grouped, .domain = kMicrosoft, .factors = factors_grouped_attention},
    {.op_type = "SparseAttention", .op_class = OpClass::kAttention, .infer = infer_grouped,
     .work = work_grouped, .required_inputs = 7, .domain = kMicrosoft},
    // three positions per token choose the rows
    {.op_type = "MRotaryEmbedding", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_contrib_rotary, .flops_per_element = 3, .required_inputs = 4, .domain = kMicrosoft},
    {.op_type = "RotaryEmbedding", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_contrib_rotary, .flops_per_element = 3, .required_inputs = 4, .domain = kMicrosoft,
     .factors = factors_rotary},
};
// clang-format on

constexpr WorkNote kContribAttentionNotes[] = {
    {work_fused, "MACs = projections + scores x (head + value head); 7 per score"},
    {work_multi_head, "MACs = scores x (head + value head); 7 per score"},
    {work_grouped,
     "MACs = scores x (head + value head); 7 per score; reads the tables' rows of its tokens"},
    {work_contrib_rotary, "3 per output element; reads the tables' rows of its tokens"},
};

}  // namespace

OpFamily contrib_attention_op_defs() { return {kContribAttentionOps, kContribAttentionNotes}; }

}  // namespace dfsim::inline graphs
