// Values of LinearAttention: a state per head that each token decays, corrects, writes and reads.
#include <algorithm>
#include <cmath>

#include "graphs/ops/families/math/attention_folds.h"

namespace dfsim::inline graphs {
namespace {

// Query [B, T, Hq x K], key [B, T, H x K], value [B, T, H x V], state [B, H, K, V].
struct Linear {
  const ConstValue *q, *k, *v, *past, *decay, *beta;
  int64_t batch, tokens, q_heads, heads, key, width;
  int64_t decays;  // per token: one per head, or one per head and key element
  int64_t betas;   // per token: one, or one per head
  double scale;

  static double at(const ConstValue* value, int64_t i) {
    return value->as_double(static_cast<size_t>(i));
  }
};

// Whether an operand that the rule needs is there, as [B, T, something], and else absent.
bool as_needed(const ConstValue* value, bool needed, int64_t tokens) {
  return needed == (value != nullptr) &&
         (value == nullptr ||
          (value->extents.size() == 3 && value->extents[0] * value->extents[1] == tokens));
}

std::optional<Linear> linear_of(const InferContext& context) {
  const Attributes& attributes = context.attributes();
  const auto value = [&](size_t i) { return context.has_input(i) ? context.value(i) : nullptr; };
  Linear o = {value(0), value(1), value(2), value(3), value(4), value(5), 0, 0,
              0,        0,        0,        0,        0,        0,        0};
  o.q_heads = attributes.int_or("q_num_heads", 0);
  o.heads = attributes.int_or("kv_num_heads", 0);
  if (o.q == nullptr || o.k == nullptr || o.v == nullptr || !is_floating(o.q->dtype) ||
      !has_arithmetic(o.q->dtype) || o.q->extents.size() != 3 || o.k->extents.size() != 3 ||
      o.v->extents.size() != 3 || o.heads < 1 || o.q_heads < 1 || o.q_heads % o.heads != 0) {
    return std::nullopt;
  }
  o.batch = o.q->extents[0];
  o.tokens = o.q->extents[1];
  o.key = o.q->extents[2] / o.q_heads;
  o.width = o.v->extents[2] / o.heads;
  const std::string rule = attributes.string_or("update_rule", "gated_delta");
  const int64_t all = o.batch * o.tokens;
  if (!as_needed(o.decay, rule.starts_with("gated"), all) ||
      !as_needed(o.beta, rule.ends_with("delta"), all) ||
      o.k->extents != Extents{o.batch, o.tokens, o.heads * o.key} ||
      o.v->extents != Extents{o.batch, o.tokens, o.heads * o.width} || o.key < 1 ||
      (o.past != nullptr && o.past->extents != Extents{o.batch, o.heads, o.key, o.width})) {
    return std::nullopt;
  }
  o.decays = o.decay != nullptr ? o.decay->extents[2] : 0;
  o.betas = o.beta != nullptr ? o.beta->extents[2] : 0;
  if ((o.decay != nullptr && o.decays != o.heads && o.decays != o.heads * o.key) ||
      (o.beta != nullptr && o.betas != 1 && o.betas != o.heads)) {
    return std::nullopt;
  }
  const double given = attributes.get_float("scale").value_or(0);
  o.scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(o.key));
  return o;
}

// The state of one head of one sequence, [K, V].
class State {
 public:
  State(const Linear& o, int64_t n, int64_t head)
      : values(static_cast<size_t>(o.key * o.width)), o_(o), n_(n), head_(head) {
    for (size_t i = 0; o.past != nullptr && i < values.size(); ++i) {
      values[i] =
          Linear::at(o.past, (n * o.heads + head) * o.key * o.width + static_cast<int64_t>(i));
    }
  }

  void step(int64_t t) {
    const int64_t token = n_ * o_.tokens + t;
    for (int64_t d = 0; o_.decay != nullptr && d < o_.key; ++d) {
      const int64_t column = o_.decays == o_.heads ? head_ : head_ * o_.key + d;
      const double kept = std::exp(Linear::at(o_.decay, token * o_.decays + column));
      for (int64_t m = 0; m < o_.width; ++m) {
        at(d, m) *= kept;
      }
    }
    for (int64_t m = 0; m < o_.width; ++m) {
      double written = Linear::at(o_.v, (token * o_.heads + head_) * o_.width + m);
      if (o_.beta != nullptr) {
        double known = 0;
        for (int64_t d = 0; d < o_.key; ++d) {
          known += at(d, m) * key(token, d);
        }
        const int64_t column = o_.betas == 1 ? 0 : head_;
        written = Linear::at(o_.beta, token * o_.betas + column) * (written - known);
      }
      for (int64_t d = 0; d < o_.key; ++d) {
        at(d, m) += key(token, d) * written;
      }
    }
  }

  // The element of column `m` that query head `q` reads.
  double read(int64_t t, int64_t q, int64_t m) const {
    const int64_t row = (n_ * o_.tokens + t) * o_.q_heads + q;
    double sum = 0;
    for (int64_t d = 0; d < o_.key; ++d) {
      sum += Linear::at(o_.q, row * o_.key + d) * values[static_cast<size_t>(d * o_.width + m)];
    }
    return sum * o_.scale;
  }

  std::vector<double> values;

 private:
  double& at(int64_t d, int64_t m) { return values[static_cast<size_t>(d * o_.width + m)]; }
  double key(int64_t token, int64_t d) const {
    return Linear::at(o_.k, (token * o_.heads + head_) * o_.key + d);
  }

  const Linear& o_;
  int64_t n_;
  int64_t head_;
};

}  // namespace

void fold_linear_attention(InferContext& context) {
  const auto o = linear_of(context);
  const auto out = small_extents(context, 0);
  if (!o || !out || small_product(*out) != o->batch * o->tokens * o->q_heads * o->width) {
    return;
  }
  const int64_t group = o->q_heads / o->heads;
  std::vector<double> mixed(static_cast<size_t>(small_product(*out)));
  ConstValue states = empty_value(o->past != nullptr ? o->past->dtype : o->q->dtype,
                                  {o->batch, o->heads, o->key, o->width});
  for (int64_t n = 0; n < o->batch; ++n) {
    for (int64_t head = 0; head < o->heads; ++head) {
      State state(*o, n, head);
      for (int64_t t = 0; t < o->tokens; ++t) {
        state.step(t);
        for (int64_t i = 0; i < group * o->width; ++i) {
          const int64_t q = head * group + i / o->width;
          const int64_t row = (n * o->tokens + t) * o->q_heads + q;
          mixed[static_cast<size_t>(row * o->width + i % o->width)] =
              state.read(t, q, i % o->width);
        }
      }
      for (const double value : state.values) {
        append_double(&states, value);
      }
    }
  }
  ConstValue value = empty_value(o->q->dtype, *out);
  for (const double element : mixed) {
    append_double(&value, element);
  }
  context.set_value(0, std::move(value));
  if (context.has_output(1) && small_product(states.extents) <= kMaxConstElements) {
    context.set_value(1, std::move(states));
  }
}

}  // namespace dfsim::inline graphs
