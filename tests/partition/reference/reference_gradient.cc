// Reference executor: gradients. Those of elementwise operators are here for the few functions that
// the executor computes as ONNX says; the loss is half the sum of squares.
#include <algorithm>
#include <cmath>

#include "graphs/ops/families/extensions/gradient_ops.h"
#include "tests/partition/reference/reference_executor.h"

namespace dfsim {
namespace {

using Values = std::vector<RefTensor>;

double slope(const std::string& of, const std::vector<double>& x) {
  constexpr double kErfSlope = 1.1283791670955126;  // 2 / sqrt(pi)
  return of == "Relu"  ? (x[1] > 0 ? 1.0 : 0.0)
         : of == "Erf" ? kErfSlope * std::exp(-x[1] * x[1])
                       : 1 + x[1];
}

void elementwise_gradient(const Op& op, const Values& inputs, RefTensor& out) {
  for_each_index(out.extents, [&](const Index& index) {
    std::vector<double> x;
    for (const RefTensor& input : inputs) {
      x.push_back(input.broadcast(index));
    }
    out[index] = x[0] * slope(op.attributes.string_or("of", ""), x);
  });
}

// Rows along the axes from `first` on.
template <typename Visit>
void for_each_row(const RefTensor& x, int first, const Visit& visit) {
  int64_t length = 1;
  for (size_t d = static_cast<size_t>(first); d < x.extents.size(); ++d) {
    length *= x.extents[d];
  }
  for (int64_t begin = 0; begin < x.count(); begin += length) {
    visit(static_cast<size_t>(begin), static_cast<size_t>(length));
  }
}

int first_axis(const Op& op, const RefTensor& x) {
  const int64_t axis = op.attributes.int_or("axis", -1);
  return static_cast<int>(axis < 0 ? axis + x.rank() : axis);
}

void softmax_gradient(const Op& op, const Values& inputs, RefTensor& out) {
  const RefTensor& product = inputs[0];
  const RefTensor& y = inputs[1];
  for_each_row(y, first_axis(op, y), [&](size_t begin, size_t length) {
    double sum = 0;
    for (size_t i = begin; i < begin + length; ++i) {
      sum += product.values[i];
    }
    for (size_t i = begin; i < begin + length; ++i) {
      out.values[i] = product.values[i] - y.values[i] * sum;
    }
  });
}

// Layer normalisation with an epsilon of 1, as the executor's forward pass.
void norm_gradient(const Op& op, const Values& inputs, Values& outputs) {
  const RefTensor& dy = inputs[0];
  const RefTensor& x = inputs[1];
  for_each_row(x, first_axis(op, x), [&](size_t begin, size_t length) {
    const auto n = static_cast<double>(length);
    double mean = 0;
    double variance = 0;
    for (size_t i = 0; i < length; ++i) {
      mean += x.values[begin + i] / n;
    }
    for (size_t i = 0; i < length; ++i) {
      variance += (x.values[begin + i] - mean) * (x.values[begin + i] - mean) / n;
    }
    const double inverse = 1 / std::sqrt(variance + 1);
    double sum = 0;
    double product = 0;
    for (size_t i = 0; i < length; ++i) {
      const double normal = (x.values[begin + i] - mean) * inverse;
      const double g = dy.values[begin + i] * inputs[2].values[i];
      sum += g / n;
      product += g * normal / n;
      outputs[1].values[i] += dy.values[begin + i] * normal;
      if (outputs.size() > 2) {
        outputs[2].values[i] += dy.values[begin + i];
      }
    }
    for (size_t i = 0; i < length; ++i) {
      const double normal = (x.values[begin + i] - mean) * inverse;
      const double g = dy.values[begin + i] * inputs[2].values[i];
      outputs[0].values[begin + i] = inverse * (g - sum - normal * product);
    }
  });
}

void gather_gradient(const Op& op, const Values& inputs, RefTensor& out) {
  const auto axis = static_cast<size_t>(op.attributes.int_or("axis", 0));
  const size_t picked = inputs[1].extents.size();
  for_each_index(inputs[0].extents, [&](const Index& index) {
    const Index at(index.begin() + static_cast<std::ptrdiff_t>(axis),
                   index.begin() + static_cast<std::ptrdiff_t>(axis + picked));
    Index to(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(axis));
    to.push_back(static_cast<int64_t>(inputs[1][at]));
    to.insert(to.end(), index.begin() + static_cast<std::ptrdiff_t>(axis + picked), index.end());
    out[to] += inputs[0][index];
  });
}

// Element of the image that a tap of the window at `step` meets, or false.
bool tap_at(const Op& op, const Index& step, const Index& tap, const RefTensor& image, Index* at) {
  const auto list = [&](std::string_view name, size_t i, int64_t fallback) {
    const auto* values = op.attributes.get_ints(name);
    return values != nullptr ? (*values)[i] : fallback;
  };
  for (size_t s = 0; s < tap.size(); ++s) {
    at->push_back(step[s + 2] * list("strides", s, 1) + tap[s] * list("dilations", s, 1) -
                  list("pads", s, 0));
    if (at->back() < 0 || at->back() >= image.extents[s + 2]) {
      return false;
    }
  }
  return true;
}

void filter_gradient(const Op& op, const Values& inputs, RefTensor& out) {
  const RefTensor& x = inputs[0];
  const RefTensor& dy = inputs[1];
  const int64_t per_group = out.extents[0] / op.attributes.int_or("group", 1);
  for_each_index(dy.extents, [&](const Index& step) {
    for (int64_t c = 0; c < out.extents[1]; ++c) {
      for_each_index(Index(out.extents.begin() + 2, out.extents.end()), [&](const Index& tap) {
        Index at = {step[0], step[1] / per_group * out.extents[1] + c};
        if (tap_at(op, step, tap, x, &at)) {
          Index to = {step[1], c};
          to.insert(to.end(), tap.begin(), tap.end());
          out[to] += x[at] * dy[step];
        }
      });
    }
  });
}

// To the first of the largest elements of each window.
void pool_gradient(const Op& op, const Values& inputs, RefTensor& out) {
  for_each_index(inputs[0].extents, [&](const Index& step) {
    bool done = false;
    for_each_index(*op.attributes.get_ints("kernel_shape"), [&](const Index& tap) {
      Index at = {step[0], step[1]};
      if (!done && tap_at(op, step, tap, out, &at) && inputs[1][at] == inputs[2][step]) {
        out[at] += inputs[0][step];
        done = true;
      }
    });
  });
}

void average_pool_gradient(const Op& op, const Values& inputs, RefTensor& out) {
  const Index& kernel = *op.attributes.get_ints("kernel_shape");
  for_each_index(inputs[0].extents, [&](const Index& step) {
    for_each_index(kernel, [&](const Index& tap) {
      Index at = {step[0], step[1]};
      if (tap_at(op, step, tap, out, &at)) {
        out[at] += inputs[0][step] / static_cast<double>(RefTensor(kernel).count());
      }
    });
  });
}

// Each element of the gradient to the place that is as far along its axes.
void spread_gradient(const Values& inputs, RefTensor& out, bool scaled) {
  for_each_index(inputs[0].extents, [&](const Index& index) {
    Index at = index;
    for (size_t d = 0; scaled && d < at.size(); ++d) {
      at[d] = index[d] * out.extents[d] / inputs[0].extents[d];
    }
    out[at] += inputs[0][index];
  });
}

// dY, queries, keys, values: for one batch and head after the other.
void attention_gradient(const Values& inputs, Values& outputs) {
  const RefTensor& q = inputs[1];
  const RefTensor& k = inputs[2];
  const RefTensor& v = inputs[3];
  const int64_t keys = k.extents[2];
  for_each_index({q.extents[0], q.extents[1], q.extents[2]}, [&](const Index& row) {
    const auto at = [&](int64_t position, int64_t i) { return Index{row[0], row[1], position, i}; };
    std::vector<double> share(static_cast<size_t>(keys));
    std::vector<double> slope(static_cast<size_t>(keys));
    double sum = 0;
    for (int64_t p = 0; p < keys; ++p) {
      double score = 0;
      for (int64_t i = 0; i < q.extents[3]; ++i) {
        score += q[at(row[2], i)] * k[at(p, i)];
      }
      share[static_cast<size_t>(p)] = std::exp(score);
      sum += std::exp(score);
      for (int64_t i = 0; i < v.extents[3]; ++i) {
        slope[static_cast<size_t>(p)] += inputs[0][at(row[2], i)] * v[at(p, i)];
      }
    }
    double mean = 0;
    for (size_t p = 0; p < share.size(); ++p) {
      share[p] /= sum;
      mean += share[p] * slope[p];
    }
    for (int64_t p = 0; p < keys; ++p) {
      const double weight = share[static_cast<size_t>(p)];
      const double score = weight * (slope[static_cast<size_t>(p)] - mean);
      for (int64_t i = 0; i < q.extents[3]; ++i) {
        outputs[0][at(row[2], i)] += score * k[at(p, i)];
        outputs[1][at(p, i)] += score * q[at(row[2], i)];
      }
      for (int64_t i = 0; i < v.extents[3]; ++i) {
        outputs[2][at(p, i)] += weight * inputs[0][at(row[2], i)];
      }
    }
  });
}

}  // namespace

bool run_gradient_op(const Op& op, const std::vector<RefTensor>& inputs,
                     std::vector<RefTensor>& outputs) {
  const std::string& type = op.op_type;
  if (type == "LossGrad") {
    outputs[0] = inputs[0];
  } else if (type == "ElementwiseGrad") {
    elementwise_gradient(op, inputs, outputs[0]);
  } else if (type == "SoftmaxGrad") {
    softmax_gradient(op, inputs, outputs[0]);
  } else if (type == "NormGrad") {
    norm_gradient(op, inputs, outputs);
  } else if (type == "GatherGrad") {
    gather_gradient(op, inputs, outputs[0]);
  } else if (type == "ConvFilterGrad") {
    filter_gradient(op, inputs, outputs[0]);
  } else if (type == "MaxPoolGrad") {
    pool_gradient(op, inputs, outputs[0]);
  } else if (type == "AveragePoolGrad") {
    average_pool_gradient(op, inputs, outputs[0]);
  } else if (type == "SliceGrad" || type == "ResizeGrad") {
    spread_gradient(inputs, outputs[0], type == "ResizeGrad");
  } else if (type == "AttentionGrad") {
    attention_gradient(inputs, outputs);
  } else if (type == "SgdUpdate") {
    for (size_t i = 0; i < outputs[0].values.size(); ++i) {
      outputs[0].values[i] = inputs[0].values[i] - 0.5 * inputs[1].values[i];
    }
  } else {
    return false;
  }
  return true;
}

}  // namespace dfsim
