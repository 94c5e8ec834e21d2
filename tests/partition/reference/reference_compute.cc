// Reference executor: elementwise operators, matrix products, convolutions, pooling, recurrence.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "graphs/ops/op_def.h"
#include "tests/partition/reference/reference_executor.h"

namespace dfsim {
namespace {

using Values = std::vector<RefTensor>;

bool present(const Values& inputs, size_t i) {
  return i < inputs.size() && !inputs[i].values.empty();
}

// Computes every output element from the operand elements that broadcasting assigns to it.
void apply(const Values& inputs, RefTensor& out,
           const std::function<double(const std::vector<double>&)>& function) {
  for_each_index(out.extents, [&](const Index& index) {
    std::vector<double> x;
    for (size_t i = 0; i < inputs.size(); ++i) {
      x.push_back(present(inputs, i) ? inputs[i].broadcast(index) : 0);
    }
    out[index] = function(x);
  });
}

void elementwise(const Op& op, const Values& inputs, Values& outputs) {
  static const std::map<std::string, std::function<double(const std::vector<double>&)>> kFunctions =
      {
          {"Add", [](const auto& x) { return x[0] + x[1]; }},
          {"Sub", [](const auto& x) { return x[0] - x[1]; }},
          {"Mul", [](const auto& x) { return x[0] * x[1]; }},
          {"Max", [](const auto& x) { return *std::max_element(x.begin(), x.end()); }},
          {"Where", [](const auto& x) { return x[0] != 0 ? x[1] : x[2]; }},
          {"Neg", [](const auto& x) { return -x[0]; }},
          {"Relu", [](const auto& x) { return std::max(x[0], 0.0); }},
          {"Erf", [](const auto& x) { return std::erf(x[0]); }},
      };
  // Before opset 7 the second operand begins at `axis`.
  Values aligned = inputs;
  if (op.version < 7 && op.attributes.has("axis")) {
    const int64_t behind = static_cast<int64_t>(outputs[0].extents.size()) -
                           op.attributes.int_or("axis", 0) - inputs[1].rank();
    aligned[1].extents.insert(aligned[1].extents.end(), static_cast<size_t>(behind), 1);
  }
  if (op.op_type == "CastLike") {
    aligned.resize(1);  // the other operand only gives a dtype
  }
  const auto it = kFunctions.find(op.op_type);
  for (size_t o = 0; o < outputs.size(); ++o) {
    apply(
        aligned, outputs[o],
        it != kFunctions.end() ? it->second : [o](const std::vector<double>& x) {
          double sum = static_cast<double>(o);
          for (size_t i = 0; i < x.size(); ++i) {
            sum += static_cast<double>(i + 1) * x[i] * (x[i] + 1);
          }
          return sum;
        });
  }
}

// numpy's matmul of operands without vectors; `term` makes a summand of both elements.
void matmul(const RefTensor& a, const RefTensor& b, RefTensor& out,
            const std::function<double(double, double)>& term) {
  const int64_t k_extent = a.extents.back();
  for_each_index(out.extents, [&](const Index& index) {
    Index at_a(index.begin(), index.end());
    Index at_b(index.begin(), index.end());
    double sum = 0;
    for (int64_t k = 0; k < k_extent; ++k) {
      at_a[index.size() - 1] = k;
      at_b[index.size() - 2] = k;
      sum += term(a.broadcast(at_a), b.broadcast(at_b));
    }
    out[index] = sum;
  });
}

RefTensor transposed(const RefTensor& x) {
  RefTensor y({x.extents[1], x.extents[0]});
  for_each_index(y.extents, [&](const Index& i) { y[i] = x[{i[1], i[0]}]; });
  return y;
}

void gemm(const Op& op, const Values& inputs, RefTensor& out) {
  const RefTensor a = op.attributes.int_or("transA", 0) != 0 ? transposed(inputs[0]) : inputs[0];
  const RefTensor b = op.attributes.int_or("transB", 0) != 0 ? transposed(inputs[1]) : inputs[1];
  matmul(a, b, out, [](double x, double y) { return x * y; });
  if (present(inputs, 2)) {
    for_each_index(out.extents, [&](const Index& i) { out[i] += inputs[2].broadcast(i); });
  }
}

void matmul_op(const Op& op, const Values& inputs, RefTensor& out) {
  const bool integer = op.op_type == "MatMulInteger";
  const bool quantised = op.op_type == "QLinearMatMul";
  const double zero_a = integer && present(inputs, 2) ? inputs[2].values[0] : 0;
  const double zero_b = integer && present(inputs, 3) ? inputs[3].values[0] : 0;
  matmul(inputs[0], inputs[quantised ? 3 : 1], out,
         [=](double x, double y) { return (x - zero_a) * (y - zero_b); });
  for (double& value : out.values) {
    value = quantised ? std::min(value, 2.0) : value;  // saturation: not linear
  }
}

// A stand-in that unpacks each byte to as many equal weights as a block has per byte.
void packed_matmul(const Values& inputs, RefTensor& out) {
  const RefTensor& a = inputs[0];
  const RefTensor& b = inputs[1];
  const int64_t block = a.extents.back() / b.extents[1];
  for_each_index(out.extents, [&](const Index& index) {
    const int64_t n = index.back();
    double sum = present(inputs, 5) ? inputs[5][{n}] : 0;
    for (int64_t k = 0; k < a.extents.back(); ++k) {
      Index at = index;
      at.back() = k;
      const int64_t byte = k % block * b.extents[2] / block;
      sum += a[at] * b[{n, k / block, byte}] * inputs[2][{n, k / block}];
    }
    out[index] = sum;
  });
}

// Letters only, explicit output.
void einsum(const Op& op, const Values& inputs, RefTensor& out) {
  const std::string text = op.attributes.string_or("equation", "");
  const size_t arrow = text.find("->");
  std::vector<std::string> operands(1);
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      operands.emplace_back();
    } else {
      operands.back() += c;
    }
  }
  const std::string result = text.substr(arrow + 2);
  std::map<char, int64_t> extents;
  std::string letters;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t d = 0; d < operands[i].size(); ++d) {
      int64_t& extent = extents[operands[i][d]];
      extent = std::max(extent, inputs[i].extents[d]);
    }
  }
  Index space;
  for (const auto& [letter, extent] : extents) {
    letters += letter;
    space.push_back(extent);
  }
  const auto project = [&](const std::string& operand, const Index& index, const Index& limits) {
    Index own;
    for (size_t d = 0; d < operand.size(); ++d) {
      own.push_back(limits[d] == 1 ? 0 : index[letters.find(operand[d])]);
    }
    return own;
  };
  for_each_index(space, [&](const Index& index) {
    double product = 1;
    for (size_t i = 0; i < operands.size(); ++i) {
      product *= inputs[i][project(operands[i], index, inputs[i].extents)];
    }
    out[project(result, index, out.extents)] += product;
  });
}

struct Window {
  Index kernel, strides, dilations, pads;  // pads: begins only
};

Window window_of(const Op& op, Index kernel, const RefTensor& x, const RefTensor& y) {
  const size_t spatial = kernel.size();
  const auto list = [&](std::string_view name, int64_t fallback) {
    const auto* values = op.attributes.get_ints(name);
    Index result(spatial, fallback);
    for (size_t i = 0; values != nullptr && i < spatial; ++i) {
      result[i] = (*values)[i];
    }
    return result;
  };
  Window window{std::move(kernel), list("strides", 1), list("dilations", 1), list("pads", 0)};
  const std::string mode = op.attributes.string_or("auto_pad", "NOTSET");
  for (size_t s = 0; mode.starts_with("SAME") && s < spatial; ++s) {
    const int64_t total = std::max<int64_t>(0, (y.extents[s + 2] - 1) * window.strides[s] +
                                                   (window.kernel[s] - 1) * window.dilations[s] +
                                                   1 - x.extents[s + 2]);
    window.pads[s] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
  return window;
}

// Calls visit(tap, element index of x) for the taps of the window at `out` that are inside x.
template <typename Visit>
void for_each_tap(const Window& window, const RefTensor& x, const Index& out, int64_t channel,
                  const Visit& visit) {
  for_each_index(window.kernel, [&](const Index& tap) {
    Index at = {out[0], channel};
    bool inside = true;
    for (size_t s = 0; s < tap.size(); ++s) {
      at.push_back(out[s + 2] * window.strides[s] + tap[s] * window.dilations[s] - window.pads[s]);
      inside = inside && at.back() >= 0 && at.back() < x.extents[s + 2];
    }
    if (inside) {
      visit(tap, at);
    }
  });
}

void conv(const Op& op, const Values& inputs, RefTensor& out) {
  const bool quantised = op.op_type == "QLinearConv";
  const RefTensor& x = inputs[0];
  const RefTensor& w = inputs[quantised ? 3 : 1];
  const size_t bias = quantised ? 8 : op.op_type == "ConvInteger" ? SIZE_MAX : 2;
  const int64_t group = op.attributes.int_or("group", 1);
  const Window window = window_of(op, Index(w.extents.begin() + 2, w.extents.end()), x, out);
  const int64_t per_group = w.extents[0] / group;
  for_each_index(out.extents, [&](const Index& index) {
    double sum = present(inputs, bias) ? inputs[bias].values[static_cast<size_t>(index[1])] : 0;
    for (int64_t c = 0; c < w.extents[1]; ++c) {
      const int64_t channel = index[1] / per_group * w.extents[1] + c;
      for_each_tap(window, x, index, channel, [&](const Index& tap, const Index& at) {
        Index weight = {index[1], c};
        weight.insert(weight.end(), tap.begin(), tap.end());
        sum += x[at] * w[weight];
      });
    }
    const bool fused = op.op_type == "FusedConv" || op.domain == "com.microsoft.nchwc";
    if (fused && present(inputs, 3)) {
      sum += inputs[3][index];
    }
    if (quantised && inputs[4].rank() == 1) {
      sum *= inputs[4][{index[1]}];
    }
    out[index] = fused ? std::max(sum, 0.0) : quantised ? std::min(sum, 3.0) : sum;
  });
}

void conv_transpose(const Op& op, const Values& inputs, RefTensor& out) {
  const RefTensor& x = inputs[0];
  const RefTensor& w = inputs[1];  // [C, M / group, kernel...]
  const int64_t group = op.attributes.int_or("group", 1);
  const Window window = window_of(op, Index(w.extents.begin() + 2, w.extents.end()), x, out);
  for_each_index(x.extents, [&](const Index& index) {
    const int64_t g = index[1] / (x.extents[1] / group);
    for (int64_t m = 0; m < w.extents[1]; ++m) {
      for_each_index(window.kernel, [&](const Index& tap) {
        Index to = {index[0], g * w.extents[1] + m};
        Index weight = {index[1], m};
        bool inside = true;
        for (size_t s = 0; s < tap.size(); ++s) {
          to.push_back(index[s + 2] * window.strides[s] + tap[s] * window.dilations[s] -
                       window.pads[s]);
          inside = inside && to.back() >= 0 && to.back() < out.extents[s + 2];
          weight.push_back(tap[s]);
        }
        if (inside) {
          out[to] += x[index] * w[weight];
        }
      });
    }
  });
  if (present(inputs, 2)) {
    for_each_index(out.extents,
                   [&](const Index& i) { out[i] += inputs[2].values[static_cast<size_t>(i[1])]; });
  }
}

void pool(const Op& op, const RefTensor& x, RefTensor& out) {
  const bool global = op.op_type.starts_with("Global");
  const Window window = window_of(op,
                                  global ? Index(x.extents.begin() + 2, x.extents.end())
                                         : *op.attributes.get_ints("kernel_shape"),
                                  x, out);
  for_each_index(out.extents, [&](const Index& index) {
    double most = -std::numeric_limits<double>::infinity();
    double sum = 0;
    double count = 0;
    for_each_tap(window, x, index, index[1], [&](const Index&, const Index& at) {
      most = std::max(most, x[at]);
      sum += op.op_type.ends_with("LpPool") ? x[at] * x[at] : x[at];
      count += 1;
    });
    out[index] = op.op_type.ends_with("MaxPool")  ? most
                 : op.op_type.ends_with("LpPool") ? std::sqrt(sum)
                                                  : sum / count;
  });
}

// Each region mixes one channel of one image by its own numbers.
void regions(const Op& op, const Values& inputs, RefTensor& out) {
  const RefTensor& x = inputs[0];
  for_each_index(out.extents, [&](const Index& index) {
    const RefTensor& region = inputs[1];
    const auto image = static_cast<int64_t>(op.op_type == "RoiAlign" ? inputs[2][{index[0]}]
                                                                     : region[{index[0], 0}]);
    double sum = static_cast<double>(index[2] + index[3]);
    for (int64_t k = 0; k < region.extents[1]; ++k) {
      sum += region[{index[0], k}];
    }
    for_each_index({x.extents[2], x.extents[3]}, [&](const Index& at) {
      sum += static_cast<double>(at[0] + 2 * at[1]) * x[{image, index[1], at[0], at[1]}];
    });
    out[index] = sum;
  });
}

// One direction, any number of gates: h' = squash(sum over gates of (gate + 1) (W x + R h + b)).
void recurrent(const Op& op, const Values& inputs, Values& outputs) {
  const bool batch_first = op.attributes.int_or("layout", 0) != 0;
  const RefTensor& x = inputs[0];
  const RefTensor& w = inputs[1];
  const RefTensor& r = inputs[2];
  const int64_t hidden = r.extents[2];
  const int64_t steps = x.extents[batch_first ? 1 : 0];
  const int64_t batches = x.extents[batch_first ? 0 : 1];
  for (int64_t b = 0; b < batches; ++b) {
    std::vector<double> h(static_cast<size_t>(hidden), 0);
    for (int64_t j = 0; present(inputs, 5) && j < hidden; ++j) {
      h[static_cast<size_t>(j)] = inputs[5][batch_first ? Index{b, 0, j} : Index{0, b, j}];
    }
    const auto length = present(inputs, 4) ? static_cast<int64_t>(inputs[4][{b}]) : steps;
    for (int64_t t = 0; t < steps; ++t) {
      std::vector<double> next(h.size(), 0);
      for (int64_t row = 0; row < r.extents[1]; ++row) {
        double sum = 0;
        for (int64_t k = 0; k < x.extents[2]; ++k) {
          sum += w[{0, row, k}] * x[batch_first ? Index{b, t, k} : Index{t, b, k}];
        }
        for (int64_t k = 0; k < hidden; ++k) {
          sum += r[{0, row, k}] * h[static_cast<size_t>(k)];
        }
        next[static_cast<size_t>(row % hidden)] += static_cast<double>(row / hidden + 1) * sum;
      }
      for (size_t j = 0; j < h.size(); ++j) {
        h[j] = t < length ? next[j] / (1 + std::abs(next[j])) : h[j];
        const auto unit = static_cast<int64_t>(j);
        outputs[0][batch_first ? Index{b, t, 0, unit} : Index{t, 0, b, unit}] = h[j];
      }
    }
    for (size_t o = 1; o < outputs.size(); ++o) {
      for (int64_t j = 0; outputs[o].count() > 0 && j < hidden; ++j) {
        outputs[o][batch_first ? Index{b, 0, j} : Index{0, b, j}] = h[static_cast<size_t>(j)];
      }
    }
  }
}

// Per-axis scales belong to `axis`; others broadcast.
void quantise(const Op& op, const Values& inputs, RefTensor& out) {
  const auto rank = static_cast<int64_t>(out.extents.size());
  const int64_t given = op.attributes.int_or("axis", 1);
  const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
  const auto of = [&](size_t i, const Index& index) {
    if (!present(inputs, i)) {
      return 0.0;
    }
    return inputs[i].rank() == 1 && inputs[i].count() > 1 ? inputs[i][{index[axis]}]
                                                          : inputs[i].broadcast(index);
  };
  for_each_index(out.extents, [&](const Index& index) {
    out[index] = (inputs[0][index] - of(2, index)) * of(1, index);
  });
}

// New parameters and states, element by element, of one parameter.
void update(const Values& inputs, Values& outputs) {
  for (size_t o = 0; o < outputs.size(); ++o) {
    for (size_t e = 0; e < outputs[o].values.size(); ++e) {
      double sum = static_cast<double>(o) + inputs[0].values[0] * inputs[1].values[0];
      for (size_t i = 2; i < inputs.size(); ++i) {
        sum += static_cast<double>(i + o) * inputs[i].values[e];
      }
      outputs[o].values[e] = sum;
    }
  }
}

}  // namespace

bool run_compute_op(const Op& op, const std::vector<RefTensor>& inputs,
                    std::vector<RefTensor>& outputs) {
  const OpDef* def = find_op_def(op.domain, op.op_type);
  const OpClass op_class = def == nullptr ? OpClass::kOpaque : def->op_class;
  if (op.op_type == "MatMulNBits") {
    packed_matmul(inputs, outputs[0]);
  } else if (op.op_type == "MoE" || op.op_type == "QMoE") {
    run_experts(op, inputs, outputs[0]);
  } else if (op.op_type == "Gemm" || op.op_type == "linear") {
    gemm(op, inputs, outputs[0]);
  } else if (op.op_type == "Einsum") {
    einsum(op, inputs, outputs[0]);
  } else if (op_class == OpClass::kMatMul) {
    matmul_op(op, inputs, outputs[0]);
  } else if (op.op_type == "ConvTranspose") {
    conv_transpose(op, inputs, outputs[0]);
  } else if (op_class == OpClass::kConv) {
    conv(op, inputs, outputs[0]);
  } else if (op.op_type == "RoiAlign" || op.op_type == "MaxRoiPool") {
    regions(op, inputs, outputs[0]);
  } else if (op_class == OpClass::kPool) {
    pool(op, inputs[0], outputs[0]);
  } else if (op_class == OpClass::kRnn) {
    recurrent(op, inputs, outputs);
  } else if (op_class == OpClass::kQuantize) {
    quantise(op, inputs, outputs[0]);
  } else if (op_class == OpClass::kOptimizer) {
    update(inputs, outputs);
  } else if (op_class == OpClass::kElementwise) {
    elementwise(op, inputs, outputs);
  } else {
    return false;
  }
  return true;
}

}  // namespace dfsim
