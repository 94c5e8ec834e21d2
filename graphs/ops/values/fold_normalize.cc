// Softmax and its relatives, and normalizations.
#include <algorithm>
#include <cmath>

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// The value of input 0 when it is floating and its axis is valid.
const ConstValue* floating_operand(const InferContext& context) {
  const ConstValue* a = context.value(0);
  return a != nullptr && is_floating(a->dtype) && has_arithmetic(a->dtype) && !a->extents.empty()
             ? a
             : nullptr;
}

std::optional<size_t> axis_of(const InferContext& context, const ConstValue& a, int64_t fallback) {
  const auto axis = context.axis(context.attributes().int_or("axis", fallback),
                                 static_cast<int>(a.extents.size()));
  return axis.ok() ? std::optional(static_cast<size_t>(*axis)) : std::nullopt;
}

void set_floats(InferContext& context, const ConstValue& like, const std::vector<double>& values) {
  ConstValue out = empty_value(like.dtype, like.extents);
  for (const double value : values) {
    append_double(&out, value);
  }
  context.set_value(0, std::move(out));
}

// Calls `on_line(positions)` for each set of positions along the axes from `first` up to, but not
// including, `last`.
template <typename OnLine>
void for_each_line(const Extents& extents, size_t first, size_t last, OnLine on_line) {
  int64_t rows = 1;
  int64_t length = 1;
  int64_t inner = 1;
  for (size_t i = 0; i < extents.size(); ++i) {
    (i < first ? rows : i < last ? length : inner) *= extents[i];
  }
  std::vector<size_t> line(static_cast<size_t>(length));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < inner; ++k) {
      for (int64_t i = 0; i < length; ++i) {
        line[static_cast<size_t>(i)] = static_cast<size_t>((row * length + i) * inner + k);
      }
      on_line(line);
    }
  }
}

void soften(const std::string& type, const std::vector<size_t>& line, std::vector<double>* x) {
  size_t best = 0;
  for (size_t i = 1; i < line.size(); ++i) {
    best = (*x)[line[i]] > (*x)[line[best]] ? i : best;
  }
  if (line.empty()) {
    return;
  }
  const double most = (*x)[line[best]];
  double sum = 0;
  for (const size_t at : line) {
    sum += std::exp((*x)[at] - most);
  }
  for (size_t i = 0; i < line.size(); ++i) {
    double& value = (*x)[line[i]];
    value = type == "Hardmax"      ? static_cast<double>(i == best)
            : type == "LogSoftmax" ? value - most - std::log(sum)
                                   : std::exp(value - most) / sum;
  }
}

}  // namespace

// Before opset 13 all axes from `axis` on are one.
void fold_softmax(InferContext& context) {
  const ConstValue* a = floating_operand(context);
  const bool joined = context.version() < 13;
  const auto axis = a != nullptr ? axis_of(context, *a, joined ? 1 : -1) : std::nullopt;
  if (!axis) {
    return;
  }
  std::vector<double> values = a->floats;
  for_each_line(
      a->extents, *axis, joined ? a->extents.size() : *axis + 1,
      [&](const std::vector<size_t>& line) { soften(context.op().op_type, line, &values); });
  set_floats(context, *a, values);
}

// With the given mean and variance; a training step computes its own and is left alone.
void fold_batch_normalization(InferContext& context) {
  const ConstValue* a = floating_operand(context);
  if (a == nullptr || a->extents.size() < 2 || context.input_count() < 5 ||
      context.attributes().int_or("training_mode", 0) != 0 || context.output_count() > 1) {
    return;
  }
  const auto channels = static_cast<size_t>(a->extents[1]);
  for (size_t i = 1; i < 5; ++i) {
    if (context.value(i) == nullptr || context.value(i)->size() != channels) {
      return;
    }
  }
  const double epsilon = context.attributes().get_float("epsilon").value_or(1e-5);
  std::vector<double> values = a->floats;
  IndexCounter counter(a->extents);
  for (size_t i = 0; i < values.size(); ++i, counter.next()) {
    const auto c = static_cast<size_t>(counter[1]);
    values[i] = (values[i] - context.value(3)->as_double(c)) /
                    std::sqrt(context.value(4)->as_double(c) + epsilon) *
                    context.value(1)->as_double(c) +
                context.value(2)->as_double(c);
  }
  set_floats(context, *a, values);
}

namespace {

struct Moments {
  double mean = 0;
  double scale = 1;  // 1 / sqrt(variance + epsilon)
};

Moments moments_of(const std::vector<double>& x, const std::vector<size_t>& line, double epsilon,
                   bool centered) {
  Moments moments;
  const auto count = static_cast<double>(line.size());
  for (const size_t at : line) {
    moments.mean += centered ? x[at] / count : 0;
  }
  double variance = 0;
  for (const size_t at : line) {
    variance += (x[at] - moments.mean) * (x[at] - moments.mean) / count;
  }
  moments.scale = 1 / std::sqrt(variance + epsilon);
  return moments;
}

}  // namespace

void fold_instance_normalization(InferContext& context) {
  const ConstValue* a = floating_operand(context);
  const ConstValue* scale = context.value(1);
  const ConstValue* bias = context.value(2);
  if (a == nullptr || a->extents.size() < 2 || scale == nullptr || bias == nullptr ||
      static_cast<int64_t>(scale->size()) != a->extents[1] || bias->size() != scale->size()) {
    return;
  }
  const double epsilon = context.attributes().get_float("epsilon").value_or(1e-5);
  std::vector<double> values = a->floats;
  size_t instance = 0;
  for_each_line(a->extents, 2, a->extents.size(), [&](const std::vector<size_t>& line) {
    const Moments moments = moments_of(a->floats, line, epsilon, true);
    const size_t c = instance++ % scale->size();
    for (const size_t at : line) {
      values[at] =
          (values[at] - moments.mean) * moments.scale * scale->as_double(c) + bias->as_double(c);
    }
  });
  set_floats(context, *a, values);
}

// Also gives mean and inverse deviation, where they are asked for.
void fold_layer_normalization(InferContext& context) {
  const ConstValue* a = floating_operand(context);
  const ConstValue* scale = context.value(1);
  const ConstValue* bias = context.value(2);
  const auto axis = a != nullptr ? axis_of(context, *a, -1) : std::nullopt;
  if (!axis || scale == nullptr) {
    return;
  }
  const Extents tail(a->extents.begin() + static_cast<std::ptrdiff_t>(*axis), a->extents.end());
  if (scale->extents.size() > tail.size() ||
      (bias != nullptr && bias->extents.size() > tail.size())) {
    return;
  }
  const auto scale_at = broadcast_positions(scale->extents, tail);
  const auto bias_at =
      bias != nullptr ? broadcast_positions(bias->extents, tail) : std::vector<int64_t>{};
  const bool centered = context.op().op_type == "LayerNormalization";
  const double epsilon = context.attributes().get_float("epsilon").value_or(1e-5);
  std::vector<double> values = a->floats;
  Extents line_extents = a->extents;
  std::fill(line_extents.begin() + static_cast<std::ptrdiff_t>(*axis), line_extents.end(), 1);
  ConstValue means = empty_value(DType::kFloat32, line_extents);
  ConstValue scales = means;
  for_each_line(a->extents, *axis, a->extents.size(), [&](const std::vector<size_t>& line) {
    const Moments moments = moments_of(a->floats, line, epsilon, centered);
    append_double(&means, moments.mean);
    append_double(&scales, moments.scale);
    for (size_t i = 0; i < line.size(); ++i) {
      double& value = values[line[i]];
      value = (value - moments.mean) * moments.scale *
                  scale->as_double(static_cast<size_t>(scale_at[i])) +
              (bias != nullptr ? bias->as_double(static_cast<size_t>(bias_at[i])) : 0);
    }
  });
  set_floats(context, *a, values);
  if (centered) {
    context.set_value(1, std::move(means));
    context.set_value(2, std::move(scales));
  }
}

// Channels in groups; scale and bias per channel from opset 21 on, before that per group.
void fold_group_normalization(InferContext& context) {
  const ConstValue* a = floating_operand(context);
  const ConstValue* scale = context.value(1);
  const ConstValue* bias = context.value(2);
  const int64_t groups = context.attributes().int_or("num_groups", 0);
  if (a == nullptr || a->extents.size() < 2 || scale == nullptr || bias == nullptr || groups < 1 ||
      a->extents[1] % groups != 0 || bias->size() != scale->size() || scale->size() == 0 ||
      a->extents[1] % static_cast<int64_t>(scale->size()) != 0) {
    return;
  }
  const double epsilon = context.attributes().get_float("epsilon").value_or(1e-5);
  Extents grouped = {a->extents[0], groups, a->extents[1] / groups};
  grouped.insert(grouped.end(), a->extents.begin() + 2, a->extents.end());
  const auto channels = static_cast<size_t>(a->extents[1]);
  const size_t inner = channels == 0 || a->extents[0] == 0
                           ? 1
                           : a->size() / (channels * static_cast<size_t>(a->extents[0]));
  const size_t channels_per_scale = channels / scale->size();
  std::vector<double> values = a->floats;
  for_each_line(grouped, 2, grouped.size(), [&](const std::vector<size_t>& line) {
    const Moments moments = moments_of(a->floats, line, epsilon, true);
    for (const size_t at : line) {
      const size_t c = at / inner % channels / std::max<size_t>(channels_per_scale, 1);
      values[at] =
          (values[at] - moments.mean) * moments.scale * scale->as_double(c) + bias->as_double(c);
    }
  });
  set_floats(context, *a, values);
}

// Over all but the channels, unless `axes` says otherwise (only this common form is computed).
void fold_mean_variance_normalization(InferContext& context) {
  const ConstValue* a = floating_operand(context);
  const auto* axes = context.attributes().get_ints("axes");
  const bool common = axes == nullptr || *axes == std::vector<int64_t>{0, 2, 3};
  if (a == nullptr || a->extents.size() != 4 || !common) {
    return;
  }
  std::vector<double> values = a->floats;
  const auto channels = static_cast<size_t>(a->extents[1]);
  const auto inner = static_cast<size_t>(a->extents[2] * a->extents[3]);
  for (size_t c = 0; c < channels; ++c) {
    std::vector<size_t> line;
    for (size_t at = 0; at < values.size(); ++at) {
      if (at / std::max<size_t>(inner, 1) % channels == c) {
        line.push_back(at);
      }
    }
    const Moments moments = moments_of(a->floats, line, 0, true);
    for (const size_t at : line) {
      const double deviation = 1 / moments.scale + 1e-9;  // as the operator's function has it
      values[at] = (values[at] - moments.mean) / deviation;
    }
  }
  set_floats(context, *a, values);
}

// Each channel's mean or largest value over space.
void fold_global_pool(InferContext& context) {
  const ConstValue* a = floating_operand(context);
  const auto extents = small_extents(context, 0);
  if (a == nullptr || !extents || a->extents.size() < 2 || a->size() == 0) {
    return;
  }
  const bool largest = context.op().op_type == "GlobalMaxPool";
  ConstValue out = empty_value(a->dtype, *extents);
  for_each_line(a->extents, 2, a->extents.size(), [&](const std::vector<size_t>& line) {
    double sum = 0;
    double most = a->floats[line[0]];
    for (const size_t at : line) {
      sum += a->floats[at];
      most = std::max(most, a->floats[at]);
    }
    append_double(&out, largest ? most : sum / static_cast<double>(line.size()));
  });
  context.set_value(0, std::move(out));
}

void fold_lp_normalization(InferContext& context) {
  const ConstValue* a = floating_operand(context);
  const auto axis = a != nullptr ? axis_of(context, *a, -1) : std::nullopt;
  if (!axis) {
    return;
  }
  const bool absolute = context.attributes().int_or("p", 2) == 1;
  std::vector<double> values = a->floats;
  for_each_line(a->extents, *axis, *axis + 1, [&](const std::vector<size_t>& line) {
    double norm = 0;
    for (const size_t at : line) {
      norm += absolute ? std::abs(values[at]) : values[at] * values[at];
    }
    norm = absolute ? norm : std::sqrt(norm);
    for (const size_t at : line) {
      values[at] = norm == 0 ? 0 : values[at] / norm;
    }
  });
  set_floats(context, *a, values);
}

// Each value by the squares of its neighbours among the channels.
void fold_lrn(InferContext& context) {
  const ConstValue* a = floating_operand(context);
  if (a == nullptr || a->extents.size() < 2) {
    return;
  }
  const Attributes& attributes = context.attributes();
  const double alpha = attributes.get_float("alpha").value_or(1e-4);
  const double beta = attributes.get_float("beta").value_or(0.75);
  const double bias = attributes.get_float("bias").value_or(1);
  const int64_t size = attributes.int_or("size", 1);
  if (size < 1) {
    return;
  }
  std::vector<double> values = a->floats;
  for_each_line(a->extents, 1, 2, [&](const std::vector<size_t>& line) {
    const auto count = static_cast<int64_t>(line.size());
    for (int64_t c = 0; c < count; ++c) {
      double sum = 0;
      const int64_t end = std::min(count, c + (size - 1) - (size - 1) / 2 + 1);
      for (int64_t k = std::max<int64_t>(0, c - (size - 1) / 2); k < end; ++k) {
        const double x = a->floats[line[static_cast<size_t>(k)]];
        sum += x * x;
      }
      values[line[static_cast<size_t>(c)]] /=
          std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
    }
  });
  set_floats(context, *a, values);
}

}  // namespace dfsim::inline graphs
