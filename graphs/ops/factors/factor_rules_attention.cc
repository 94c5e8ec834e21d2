// Factor rules of fused attention and of recurrent layers.
#include <algorithm>

#include "graphs/ops/factors/factor_rules.h"

namespace dfsim::inline graphs {
namespace {

// Axis `dim` of operands in heads, or packed rows of `heads` times the size of one.
void carry_heads(FactorContext& context, size_t input, int factor, int64_t groups) {
  const Shape& shape = context.input(input);
  if (shape.rank() == 4) {
    context.carry_in(input, 1, factor, shape[1].extent() / groups);
  } else if (shape.rank() == 3) {
    context.carry_in(input, 2, factor, shape[2].extent() / groups);
  }
}

void carry_heads_out(FactorContext& context, size_t output, int factor, int64_t groups) {
  const Shape& shape = context.output(output);
  if (shape.rank() == 4) {
    context.carry_out(output, 1, factor, shape[1].extent() / groups);
  } else if (shape.rank() == 3) {
    context.carry_out(output, 2, factor, shape[2].extent() / groups);
  }
}

void add_batch(FactorContext& context, const std::vector<size_t>& inputs) {
  const int batch = context.add("batch", context.in_extent(0, 0));
  for (const size_t input : inputs) {
    context.carry_in(input, 0, batch);
  }
  for (size_t o = 0; o < context.output_count(); ++o) {
    context.carry_out(o, 0, batch);
  }
}

}  // namespace

// q, k, v, mask, past key, past value -> y, present key, present value, scores.
void factors_attention(FactorContext& context) {
  const Shape& q = context.input(0);
  const bool in_heads = q.rank() == 4;
  const int64_t q_heads = in_heads ? q[1].extent() : context.attributes().int_or("q_num_heads", 0);
  const int64_t kv_heads =
      in_heads ? context.in_extent(1, 1) : context.attributes().int_or("kv_num_heads", q_heads);
  if (kv_heads < 1 || q_heads % kv_heads != 0) {
    context.set_unsplittable("its number of heads is not known");
    return;
  }
  add_batch(context, {0, 1, 2, 4, 5});
  const int heads = context.add("heads", kv_heads);
  for (const size_t i : {0, 1, 2, 4, 5}) {
    carry_heads(context, i, heads, kv_heads);
  }
  for (size_t o = 0; o < context.output_count(); ++o) {
    carry_heads_out(context, o, heads, kv_heads);
  }
  if (!in_heads && heads != FactorDim::kWhole) {
    context.map().divided_attributes.emplace_back("q_num_heads", heads);
    context.map().divided_attributes.emplace_back("kv_num_heads", heads);
  }
  // A mask [..., batch, heads, queries, keys] follows where it is not broadcast.
  const Shape& mask = context.input(3);
  const int axes = mask.rank();
  if (axes >= 4 && mask[axes - 4] != Dim(1)) {
    context.carry_in(3, axes - 4, context.map().inputs[0][0].factor);
  }
  if (axes >= 3 && mask[axes - 3] != Dim(1)) {
    context.carry_in(3, axes - 3, heads, mask[axes - 3].extent() / kv_heads);
  }
  // Queries are independent of each other, unless their positions decide what they see or the
  // operator also outputs whole keys.
  if (context.attributes().int_or("is_causal", 0) == 0 && context.output_count() == 1) {
    const int dim = in_heads ? 2 : 1;
    const int queries = context.add("queries", context.in_extent(0, dim));
    context.carry_in(0, dim, queries);
    context.carry_out(0, dim, queries);
    if (axes >= 2 && mask[axes - 2] != Dim(1)) {
      context.carry_in(3, axes - 2, queries);
    }
  }
}

// query, key, value in rows; bias, masks and caches are left to a later rule.
void factors_multi_head_attention(FactorContext& context) {
  const int64_t count = context.attributes().int_or("num_heads", 0);
  const bool plain = context.input_count() == 3 ||
                     std::none_of(context.op().inputs.begin() + 3, context.op().inputs.end(),
                                  [](TensorId id) { return id.valid(); });
  if (count < 1 || !plain || context.input_count() < 3 || context.input(0).rank() != 3 ||
      context.input(1).rank() != 3 || context.input(2).rank() != 3 || context.has_output(1)) {
    context.set_unsplittable("only queries, keys and values in rows have a rule");
    return;
  }
  add_batch(context, {0, 1, 2});
  const int heads = context.add("heads", count);
  for (size_t i = 0; i < 3; ++i) {
    carry_heads(context, i, heads, count);
  }
  carry_heads_out(context, 0, heads, count);
  if (heads != FactorDim::kWhole) {
    context.map().divided_attributes.emplace_back("num_heads", heads);
  }
  if (context.attributes().int_or("unidirectional", 0) == 0) {
    const int queries = context.add("queries", context.in_extent(0, 1));
    context.carry_in(0, 1, queries);
    context.carry_out(0, 1, queries);
  }
}

// query, key, value in rows, past key, past value, lengths... -> y, present key, present value.
void factors_grouped_attention(FactorContext& context) {
  const int64_t q_heads = context.attributes().int_or("num_heads", 0);
  const int64_t kv_heads = context.attributes().int_or("kv_num_heads", 0);
  if (kv_heads < 1 || q_heads % kv_heads != 0 || context.input(0).rank() != 3 ||
      context.input(1).rank() != 3 || context.input(2).rank() != 3) {
    context.set_unsplittable("only queries, keys and values in rows of their own have a rule");
    return;
  }
  add_batch(context, {0, 1, 2, 3, 4});
  const int heads = context.add("heads", kv_heads);
  for (const size_t i : {0, 1, 2, 3, 4}) {
    carry_heads(context, i, heads, kv_heads);
  }
  for (size_t o = 0; o < std::min<size_t>(context.output_count(), 3); ++o) {
    carry_heads_out(context, o, heads, kv_heads);
  }
  if (heads != FactorDim::kWhole) {
    context.map().divided_attributes.emplace_back("num_heads", heads);
    context.map().divided_attributes.emplace_back("kv_num_heads", heads);
  }
}

// x, weights of queries, keys and values side by side, their bias, a mask by image (behind two
// scales where it is quantised), a cache. The columns of a head are in three places of the weights,
// which no run of columns is.
void factors_packed_attention(FactorContext& context) {
  const bool quantised = context.op().op_type == "QAttention";
  const size_t mask = quantised ? 5 : 3;
  const size_t cache = quantised ? 8 : 4;
  const size_t added = quantised ? SIZE_MAX : 5;  // to the scores
  if (context.has_input(cache) || context.has_output(1)) {
    context.set_unsplittable("its cache has no rule");
    return;
  }
  const int batch = context.add("batch", context.in_extent(0, 0));
  context.carry_in(0, 0, batch);
  context.carry_out(0, 0, batch);
  // They follow where they are not broadcast.
  for (const size_t input : {mask, added}) {
    if (context.has_input(input) && context.in_extent(input, 0) == context.in_extent(0, 0)) {
      context.carry_in(input, 0, batch);
    }
  }
}

// Steps follow each other and gates are mixed: only the batch is free.
void factors_rnn(FactorContext& context) {
  const bool batch_first = context.attributes().int_or("layout", 0) != 0;
  const int dim = batch_first ? 0 : 1;
  const int batch = context.add("batch", context.in_extent(0, dim));
  context.carry_in(0, dim, batch);
  context.carry_in(4, 0, batch);
  context.carry_in(5, dim, batch);
  context.carry_in(6, dim, batch);
  context.carry_out(0, batch_first ? 0 : 2, batch);
  context.carry_out(1, dim, batch);
  context.carry_out(2, dim, batch);
}

}  // namespace dfsim::inline graphs
