// Reference executor: attention in heads and in rows, and rotary embeddings.
#include <algorithm>
#include <cmath>

#include "tests/partition/reference/reference_executor.h"

namespace dfsim {
namespace {

using Values = std::vector<RefTensor>;

// Rows [B, S, n h] as heads [B, n, S, h]; heads stay.
RefTensor in_heads(const RefTensor& x, int64_t heads) {
  if (x.rank() == 4) {
    return x;
  }
  const int64_t size = x.extents[2] / heads;
  RefTensor y({x.extents[0], heads, x.extents[1], size});
  for_each_index(y.extents, [&](const Index& i) { y[i] = x[{i[0], i[2], i[1] * size + i[3]}]; });
  return y;
}

void attend(const Values& inputs, int64_t q_heads, int64_t kv_heads, RefTensor& out) {
  const RefTensor q = in_heads(inputs[0], q_heads);
  const RefTensor k = in_heads(inputs[1], kv_heads);
  const RefTensor v = in_heads(inputs[2], kv_heads);
  const bool masked = inputs.size() > 3 && !inputs[3].values.empty();
  const int64_t keys = k.extents[2];
  const int64_t size = v.extents[3];
  for_each_index({q.extents[0], q.extents[1], q.extents[2]}, [&](const Index& at) {
    const int64_t head = at[1] / (q.extents[1] / k.extents[1]);
    std::vector<double> scores;
    for (int64_t key = 0; key < keys; ++key) {
      double score = masked ? inputs[3].broadcast({at[0], at[1], at[2], key}) : 0;
      for (int64_t d = 0; d < q.extents[3]; ++d) {
        score += q[{at[0], at[1], at[2], d}] * k[{at[0], head, key, d}];
      }
      scores.push_back(score);
    }
    const double most = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& score : scores) {
      score = std::exp(score - most);
      total += score;
    }
    for (int64_t d = 0; d < size; ++d) {
      double sum = 0;
      for (int64_t key = 0; key < keys; ++key) {
        sum += scores[static_cast<size_t>(key)] / total * v[{at[0], head, key, d}];
      }
      out[out.rank() == 4 ? Index{at[0], at[1], at[2], d} : Index{at[0], at[2], at[1] * size + d}] =
          sum;
    }
  });
}

// A stand-in that pairs both halves of a head with the caches of its position.
void rotary(const Op& op, const Values& inputs, RefTensor& out) {
  const size_t cos = op.domain.empty() ? 1 : 2;
  const RefTensor& positions = inputs[op.domain.empty() ? 3 : 1];
  const RefTensor& x = inputs[0];
  const int64_t half = inputs[cos].extents.back();
  for_each_index(x.extents, [&](const Index& index) {
    const int64_t step = index[index.size() - 2];
    const auto row = static_cast<int64_t>(positions.broadcast({index[0], step}));
    Index other = index;  // in the same head, of which rows hold several
    const int64_t in_head = index.back() % (2 * half);
    other.back() += (in_head + half) % (2 * half) - in_head;
    const int64_t column = in_head % half;
    out[index] = x[index] * inputs[cos][{row, column}] + x[other] * inputs[cos + 1][{row, column}];
  });
}

}  // namespace

bool run_attention_op(const Op& op, const std::vector<RefTensor>& inputs,
                      std::vector<RefTensor>& outputs) {
  if (op.op_type == "RotaryEmbedding") {
    rotary(op, inputs, outputs[0]);
  } else if (op.op_type == "MultiHeadAttention") {
    const int64_t heads = op.attributes.int_or("num_heads", 0);
    attend(inputs, heads, heads, outputs[0]);
  } else if (op.op_type == "GroupQueryAttention") {
    attend({inputs[0], inputs[1], inputs[2]}, op.attributes.int_or("num_heads", 0),
           op.attributes.int_or("kv_num_heads", 0), outputs[0]);
  } else if (op.op_type == "Attention") {
    const int64_t heads = op.attributes.int_or("q_num_heads", 0);
    attend(inputs, heads, op.attributes.int_or("kv_num_heads", heads), outputs[0]);
  } else {
    return false;
  }
  return true;
}

}  // namespace dfsim
