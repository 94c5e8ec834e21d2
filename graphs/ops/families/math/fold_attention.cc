// Values of Attention and RotaryEmbedding on small constants. Operands of rank 3 hold their heads
// side by side in the last axis; HeadView reads both forms alike.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "graphs/ops/families/math/attention_folds.h"

namespace dfsim::inline graphs {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

// [batch, heads, length, size], or [batch, length, heads x size].
struct HeadView {
  const ConstValue* value;
  int64_t batch, heads, length, size;
  bool packed;

  static std::optional<HeadView> of(const ConstValue* value, int64_t heads) {
    if (value == nullptr || !is_floating(value->dtype) || !has_arithmetic(value->dtype)) {
      return std::nullopt;
    }
    const Extents& e = value->extents;
    if (e.size() == 4) {
      return HeadView{value, e[0], e[1], e[2], e[3], false};
    }
    if (e.size() != 3 || heads < 1 || e[2] % heads != 0) {
      return std::nullopt;
    }
    return HeadView{value, e[0], heads, e[1], e[2] / heads, true};
  }

  double at(int64_t n, int64_t h, int64_t i, int64_t k) const {
    const int64_t position = packed ? ((n * length + i) * heads + h) * size + k
                                    : ((n * heads + h) * length + i) * size + k;
    return value->floats[static_cast<size_t>(position)];
  }
};

// Keys or values with the cache in front.
struct Cached {
  std::optional<HeadView> past;
  HeadView now;

  int64_t length() const { return now.length + (past ? past->length : 0); }
  double at(int64_t n, int64_t h, int64_t i, int64_t k) const {
    const int64_t before = past ? past->length : 0;
    return i < before ? past->at(n, h, i, k) : now.at(n, h, i - before, k);
  }
};

// The sum of all that is added to a score: a mask that broadcasts to [batch, heads, queries, keys],
// causality, windows and the valid lengths of keys.
class Bias {
 public:
  static std::optional<Bias> of(const InferContext& context, int64_t queries, int64_t past) {
    const Attributes& attributes = context.attributes();
    Bias bias;
    bias.mask_ = context.has_input(3) ? context.value(3) : nullptr;
    if (bias.mask_ != nullptr && bias.mask_->extents.size() > 4) {
      return std::nullopt;
    }
    bias.causal_ = attributes.int_or("is_causal", 0) != 0;
    bias.left_ = attributes.int_or("left_window_size", -1);
    bias.right_ = attributes.int_or("right_window_size", -1);
    bias.lengths_ = context.has_input(6) ? context.ints(6) : std::nullopt;
    bias.queries_ = queries;
    bias.past_ = past;
    return bias;
  }

  double at(int64_t n, int64_t h, int64_t i, int64_t j) const {
    const int64_t valid = lengths_ && n < static_cast<int64_t>(lengths_->size())
                              ? (*lengths_)[static_cast<size_t>(n)]
                              : -1;
    const int64_t offset = valid >= 0 ? valid - queries_ : past_;
    const int64_t behind = i + offset - j;  // how far key j lies before query i
    const bool hidden = (valid >= 0 && j >= valid) || (causal_ && behind < 0) ||
                        (left_ >= 0 && behind > left_) || (right_ >= 0 && -behind > right_);
    return hidden ? kMasked : mask_at({n, h, i, j});
  }

 private:
  double mask_at(const std::array<int64_t, 4>& index) const {
    if (mask_ == nullptr) {
      return 0;
    }
    int64_t position = 0;
    const size_t rank = mask_->extents.size();
    for (size_t axis = 0; axis < rank; ++axis) {
      const int64_t extent = mask_->extents[axis];
      const int64_t i = index[4 - rank + axis];
      // A mask may be shorter than the keys: what it does not cover is hidden.
      if (axis + 1 == rank && i >= extent && extent != 1) {
        return kMasked;
      }
      position = position * extent + (extent == 1 ? 0 : i);
    }
    const auto at = static_cast<size_t>(position);
    return mask_->dtype == DType::kBool ? (mask_->as_int(at) != 0 ? 0 : kMasked)
                                        : mask_->as_double(at);
  }

  const ConstValue* mask_ = nullptr;
  std::optional<std::vector<int64_t>> lengths_;
  bool causal_ = false;
  int64_t left_ = -1;
  int64_t right_ = -1;
  int64_t queries_ = 0;
  int64_t past_ = 0;
};

struct Operands {
  HeadView q;
  Cached k;
  Cached v;
  Bias bias;
  double scale;
  double softcap;
};

std::optional<Operands> operands_of(const InferContext& context) {
  const Attributes& attributes = context.attributes();
  const int64_t kv_heads = attributes.int_or("kv_num_heads", 0);
  const auto q = HeadView::of(context.value(0), attributes.int_or("q_num_heads", 0));
  const auto k = HeadView::of(context.value(1), kv_heads);
  const auto v = HeadView::of(context.value(2), kv_heads);
  if (!q || !k || !v || k->heads < 1 || q->heads % k->heads != 0 || v->heads != k->heads ||
      k->size != q->size || k->batch != q->batch || v->batch != q->batch ||
      v->length != k->length) {
    return std::nullopt;
  }
  const auto past_k = HeadView::of(context.has_input(4) ? context.value(4) : nullptr, 0);
  const auto past_v = HeadView::of(context.has_input(5) ? context.value(5) : nullptr, 0);
  if (past_k.has_value() != past_v.has_value() ||
      (past_k && (past_k->size != k->size || past_v->size != v->size || past_k->heads != k->heads ||
                  past_k->length != past_v->length))) {
    return std::nullopt;
  }
  auto bias = Bias::of(context, q->length, past_k ? past_k->length : 0);
  if (!bias) {
    return std::nullopt;
  }
  const double scale = attributes.get_float("scale").value_or(
      1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, q->size))));
  return Operands{*q,    {past_k, *k}, {past_v, *v},
                  *bias, scale,        attributes.get_float("softcap").value_or(0)};
}

// The scores of one query: products, with the cap, with the bias, and as probabilities.
struct Row {
  std::vector<double> products, capped, biased, probabilities;
};

Row row_of(const Operands& o, int64_t n, int64_t h, int64_t i) {
  const int64_t group = o.q.heads / o.k.now.heads;
  Row row;
  double most = kMasked;
  for (int64_t j = 0; j < o.k.length(); ++j) {
    double sum = 0;
    for (int64_t c = 0; c < o.q.size; ++c) {
      sum += o.q.at(n, h, i, c) * o.k.at(n, h / group, j, c);
    }
    row.products.push_back(sum * o.scale);
    row.capped.push_back(o.softcap > 0 ? std::tanh(sum * o.scale / o.softcap) * o.softcap
                                       : sum * o.scale);
    row.biased.push_back(row.capped.back() + o.bias.at(n, h, i, j));
    most = std::max(most, row.biased.back());
  }
  double sum = 0;
  for (const double score : row.biased) {
    sum += most == kMasked ? 0 : std::exp(score - most);
  }
  for (const double score : row.biased) {
    row.probabilities.push_back(sum == 0 ? 0 : std::exp(score - most) / sum);
  }
  return row;
}

// The cache with the new positions behind it, when the output is wanted.
std::optional<ConstValue> present(const InferContext& context, size_t output,
                                  const Cached& cached) {
  const auto extents = context.has_output(output) ? small_extents(context, output) : std::nullopt;
  if (!extents) {
    return std::nullopt;
  }
  ConstValue out = empty_value(cached.now.value->dtype, {cached.now.batch, cached.now.heads,
                                                         cached.length(), cached.now.size});
  for (IndexCounter at(out.extents); static_cast<int64_t>(out.size()) < small_product(*extents);
       at.next()) {
    append_double(&out, cached.at(at[0], at[1], at[2], at[3]));
  }
  return out.extents == *extents ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

void fold_attention(InferContext& context) {
  const auto o = operands_of(context);
  const auto out = small_extents(context, 0);
  if (!o || !out || small_product(*out) == 0) {
    return;
  }
  const int64_t group = o->q.heads / o->k.now.heads;
  const int64_t mode = context.attributes().int_or("qk_matmul_output_mode", 0);
  const DType dtype = o->q.value->dtype;
  const int64_t width = o->v.now.size;
  std::vector<double> mixed(static_cast<size_t>(small_product(*out)));
  ConstValue scores = empty_value(dtype, {o->q.batch, o->q.heads, o->q.length, o->k.length()});
  const Extents rows = {o->q.batch, o->q.heads, o->q.length};
  IndexCounter at(rows);
  for (int64_t r = 0; r < small_product(rows); ++r, at.next()) {
    const Row row = row_of(*o, at[0], at[1], at[2]);
    const auto& shown = mode == 3   ? row.probabilities
                        : mode == 2 ? row.biased
                        : mode == 1 ? row.capped
                                    : row.products;
    for (const double score : shown) {
      append_double(&scores, score);
    }
    for (int64_t c = 0; c < width; ++c) {
      double sum = 0;
      for (int64_t j = 0; j < o->v.length(); ++j) {
        sum += row.probabilities[static_cast<size_t>(j)] * o->v.at(at[0], at[1] / group, j, c);
      }
      const int64_t position =
          o->q.packed ? ((at[0] * o->q.length + at[2]) * o->q.heads + at[1]) * width + c
                      : r * width + c;
      mixed[static_cast<size_t>(position)] = sum;
    }
  }
  // Setting a value may move the operands: everything is computed first.
  auto keys = present(context, 1, o->k);
  auto values = present(context, 2, o->v);
  if (keys) {
    context.set_value(1, std::move(*keys));
  }
  if (values) {
    context.set_value(2, std::move(*values));
  }
  if (context.has_output(3) && small_product(scores.extents) <= kMaxConstElements) {
    context.set_value(3, std::move(scores));
  }
  ConstValue value = empty_value(dtype, *out);
  for (const double element : mixed) {
    append_double(&value, element);
  }
  context.set_value(0, std::move(value));
}

// Pairs of elements turned by the angle of their position: halves of a head, or neighbours.
void fold_rotary_embedding(InferContext& context) {
  const Attributes& attributes = context.attributes();
  const ConstValue* x = context.value(0);
  const ConstValue* cosines = context.value(1);
  const ConstValue* sines = context.value(2);
  const auto ids = context.has_input(3) ? context.ints(3) : std::nullopt;
  const auto heads = HeadView::of(x, attributes.int_or("num_heads", 0));
  if (!heads || cosines == nullptr || sines == nullptr || cosines->extents != sines->extents ||
      cosines->extents.empty() || !is_floating(cosines->dtype)) {
    return;
  }
  const int64_t given = attributes.int_or("rotary_embedding_dim", 0);
  const int64_t turned = given > 0 ? given : heads->size;
  const int64_t half = turned / 2;
  const int64_t tokens = heads->batch * heads->length;
  const int64_t rows = static_cast<int64_t>(cosines->size()) / std::max<int64_t>(1, half);
  if (turned > heads->size || half < 1 || cosines->extents.back() != half ||
      (ids ? static_cast<int64_t>(ids->size()) != tokens : rows != tokens)) {
    return;
  }
  const bool neighbours = attributes.int_or("interleaved", 0) != 0;
  ConstValue out = empty_value(x->dtype, x->extents);
  const Extents order = heads->packed
                            ? Extents{heads->batch, heads->length, heads->heads, heads->size}
                            : Extents{heads->batch, heads->heads, heads->length, heads->size};
  IndexCounter at(order);
  for (size_t i = 0; i < x->size(); ++i, at.next()) {
    const int64_t h = heads->packed ? at[2] : at[1];
    const int64_t position = heads->packed ? at[1] : at[2];
    const int64_t k = at[3];
    const int64_t token = at[0] * heads->length + position;
    const int64_t row = ids ? (*ids)[static_cast<size_t>(token)] : token;
    if (row < 0 || row >= rows) {
      return;
    }
    if (k >= turned) {
      append_double(&out, x->floats[i]);
      continue;
    }
    const int64_t pair = neighbours ? k / 2 : k % half;
    const bool second = neighbours ? k % 2 == 1 : k >= half;
    const int64_t partner = neighbours ? (second ? k - 1 : k + 1) : (second ? k - half : k + half);
    const double cosine = cosines->floats[static_cast<size_t>(row * half + pair)];
    const double sine = sines->floats[static_cast<size_t>(row * half + pair)];
    const double other = heads->at(at[0], h, position, partner);
    append_double(&out, cosine * x->floats[i] + (second ? sine : -sine) * other);
  }
  context.set_value(0, std::move(out));
}

}  // namespace dfsim::inline graphs
