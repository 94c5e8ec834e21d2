// Values of losses and parameter updates on small constants.
#include <algorithm>
#include <cmath>

#include "graphs/ops/families/extensions/training_folds.h"

namespace dfsim::inline graphs {
namespace {

// Scores [N, C, positions...] and the class of each [N, positions...].
struct Scored {
  std::vector<double> log_probabilities;  // as the scores lie
  std::vector<int64_t> classes;
  int64_t class_count;
  int64_t positions;

  double at(int64_t n, int64_t c, int64_t p) const {
    return log_probabilities[static_cast<size_t>((n * class_count + c) * positions + p)];
  }
};

std::optional<Scored> scored_of(const InferContext& context) {
  const ConstValue* x = context.value(0);
  const auto classes = context.ints(1);
  if (x == nullptr || !classes || x->extents.size() < 2 || !is_floating(x->dtype) ||
      !has_arithmetic(x->dtype) || x->extents[1] < 1 ||
      x->size() != classes->size() * static_cast<size_t>(x->extents[1])) {
    return std::nullopt;
  }
  const int64_t n = std::max<int64_t>(1, x->extents[0]);
  return Scored{x->floats, *classes, x->extents[1], static_cast<int64_t>(classes->size()) / n};
}

// Log-softmax over the classes.
void normalise(Scored* scored) {
  const int64_t batch = static_cast<int64_t>(scored->classes.size()) / scored->positions;
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t p = 0; p < scored->positions; ++p) {
      double most = scored->at(n, 0, p);
      for (int64_t c = 1; c < scored->class_count; ++c) {
        most = std::max(most, scored->at(n, c, p));
      }
      double sum = 0;
      for (int64_t c = 0; c < scored->class_count; ++c) {
        sum += std::exp(scored->at(n, c, p) - most);
      }
      for (int64_t c = 0; c < scored->class_count; ++c) {
        scored->log_probabilities[static_cast<size_t>(
            (n * scored->class_count + c) * scored->positions + p)] -= most + std::log(sum);
      }
    }
  }
}

// Each position's loss times the weight of its class; a mean divides by the sum of weights.
bool set_loss(InferContext& context, const Scored& scored, DType dtype) {
  const ConstValue* weights = context.has_input(2) ? context.value(2) : nullptr;
  const auto ignored = context.attributes().get_int("ignore_index");
  std::vector<double> losses;
  double sum = 0;
  double weight_sum = 0;
  for (size_t i = 0; i < scored.classes.size(); ++i) {
    const int64_t label = scored.classes[i];
    const auto at = static_cast<int64_t>(i);
    const bool counts = !ignored || label != *ignored;
    if (counts && (label < 0 || label >= scored.class_count)) {
      return false;
    }
    const double weight = !counts              ? 0
                          : weights == nullptr ? 1
                                               : weights->as_double(static_cast<size_t>(label));
    const double loss =
        counts ? -scored.at(at / scored.positions, label, at % scored.positions) : 0;
    losses.push_back(weight * loss);
    sum += weight * loss;
    weight_sum += weight;
  }
  const std::string reduction = context.attributes().string_or("reduction", "mean");
  const auto extents = small_extents(context, 0);
  if (!extents || (reduction == "mean" && weight_sum == 0)) {
    return false;
  }
  ConstValue out = empty_value(dtype, *extents);
  if (reduction != "none") {
    append_double(&out, reduction == "mean" ? sum / weight_sum : sum);
  } else {
    for (const double loss : losses) {
      append_double(&out, loss);
    }
  }
  if (static_cast<int64_t>(out.size()) != small_product(*extents)) {
    return false;
  }
  context.set_value(0, std::move(out));
  return true;
}

}  // namespace

void fold_nll_loss(InferContext& context) {
  if (const auto scored = scored_of(context)) {
    set_loss(context, *scored, context.value(0)->dtype);
  }
}

void fold_cross_entropy_loss(InferContext& context) {
  auto scored = scored_of(context);
  if (!scored || scored->positions < 1) {
    return;
  }
  const DType dtype = context.value(0)->dtype;
  const Extents extents = context.value(0)->extents;
  normalise(&*scored);
  if (set_loss(context, *scored, dtype) && context.has_output(1)) {
    ConstValue logs = empty_value(dtype, extents);
    for (const double value : scored->log_probabilities) {
      append_double(&logs, value);
    }
    context.set_value(1, std::move(logs));
  }
}

namespace {

// One element as an update reads and changes it.
struct Element {
  double weight;
  double gradient;  // with the regularisation
  double first;     // the optimiser's states
  double second;
};

struct Rule {
  double rate;
  double step;
  double alpha;
  double beta;
  double epsilon;
};

using UpdateRule = void (*)(const Rule& rule, Element* element);

void adagrad(const Rule& rule, Element* e) {
  e->first += e->gradient * e->gradient;
  e->weight -= rule.rate * e->gradient / (std::sqrt(e->first) + rule.epsilon);
}

void adam(const Rule& rule, Element* e) {
  e->first = rule.alpha * e->first + (1 - rule.alpha) * e->gradient;
  e->second = rule.beta * e->second + (1 - rule.beta) * e->gradient * e->gradient;
  const double correction = rule.step > 0 ? std::sqrt(1 - std::pow(rule.beta, rule.step)) /
                                                (1 - std::pow(rule.alpha, rule.step))
                                          : 1;
  e->weight -= rule.rate * correction * e->first / (std::sqrt(e->second) + rule.epsilon);
}

void momentum(const Rule& rule, Element* e) {
  e->first = rule.alpha * e->first + (rule.step > 0 ? rule.beta : 1) * e->gradient;
  e->weight -= rule.rate * e->first;
}

void nesterov(const Rule& rule, Element* e) {
  e->first = rule.alpha * e->first + (rule.step > 0 ? rule.beta : 1) * e->gradient;
  e->weight -= rule.rate * (e->gradient + rule.alpha * e->first);
}

// Inputs: rate, step, then `count` each of parameters, gradients and states; outputs: the same
// without gradients.
void fold_update(InferContext& context, size_t states, UpdateRule apply, Rule rule) {
  const Attributes& attributes = context.attributes();
  const size_t count = (context.input_count() - 2) / (2 + states);
  const auto value = [&](size_t list, size_t i) { return context.value(2 + list * count + i); };
  const double decay = attributes.get_float("norm_coefficient").value_or(0);
  const double after = attributes.get_float("norm_coefficient_post").value_or(0);
  if (context.value(0)->size() != 1 || context.value(1)->size() != 1) {
    return;
  }
  rule.rate = context.value(0)->as_double(0);
  rule.step = context.value(1)->as_double(0);
  rule.rate /= 1 + rule.step * attributes.get_float("decay_factor").value_or(0);
  // Setting a value may move the operands: everything is computed first.
  std::vector<std::vector<ConstValue>> of_parameter;
  for (size_t i = 0; i < count; ++i) {
    const ConstValue* weight = value(0, i);
    std::vector<ConstValue> results(states + 1, empty_value(weight->dtype, weight->extents));
    for (size_t list = 1; list < 2 + states; ++list) {
      if (value(list, i)->size() != weight->size() || !is_floating(weight->dtype)) {
        return;
      }
    }
    for (size_t k = 0; k < weight->size(); ++k) {
      Element element = {weight->as_double(k),
                         value(1, i)->as_double(k) + decay * weight->as_double(k),
                         value(2, i)->as_double(k), states > 1 ? value(3, i)->as_double(k) : 0};
      apply(rule, &element);
      append_double(&results[0], element.weight * (1 - after));
      append_double(&results[1], element.first);
      if (states > 1) {
        append_double(&results[2], element.second);
      }
    }
    of_parameter.push_back(std::move(results));
  }
  for (size_t i = 0; i < count; ++i) {
    for (size_t list = 0; list <= states; ++list) {
      if (context.has_output(list * count + i)) {
        context.set_value(list * count + i, std::move(of_parameter[i][list]));
      }
    }
  }
}

double setting(const InferContext& context, const char* name, double fallback) {
  return context.attributes().get_float(name).value_or(fallback);
}

}  // namespace

void fold_adagrad(InferContext& context) {
  fold_update(context, 1, adagrad, {0, 0, 0, 0, setting(context, "epsilon", 1e-6)});
}

void fold_adam(InferContext& context) {
  fold_update(context, 2, adam,
              {0, 0, setting(context, "alpha", 0.9), setting(context, "beta", 0.999),
               setting(context, "epsilon", 1e-6)});
}

void fold_momentum(InferContext& context) {
  const bool ahead = context.attributes().string_or("mode", "standard") == "nesterov";
  fold_update(context, 1, ahead ? nesterov : momentum,
              {0, 0, setting(context, "alpha", 0), setting(context, "beta", 0), 0});
}

}  // namespace dfsim::inline graphs
