// Reference executor: normalisations, softmax, reductions, losses, and selection along an axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/partition/reference/reference_executor.h"

namespace dfsim {
namespace {

using Values = std::vector<RefTensor>;

bool present_norm(const Values& inputs, size_t i) {
  return i < inputs.size() && !inputs[i].values.empty();
}

int axis_of(const Op& op, int rank, int64_t fallback) {
  const int64_t axis = op.attributes.int_or("axis", fallback);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// For each element: all elements that agree with it on the axes that are not `summed`.
template <typename Visit>
void for_each_row(const RefTensor& x, const std::vector<bool>& summed, const Visit& visit) {
  for_each_index(x.extents, [&](const Index& index) {
    Index inner;
    for (size_t d = 0; d < index.size(); ++d) {
      inner.push_back(summed[d] ? x.extents[d] : 1);
    }
    std::vector<double> row;
    for_each_index(inner, [&](const Index& offset) {
      Index at = index;
      for (size_t d = 0; d < at.size(); ++d) {
        at[d] = summed[d] ? offset[d] : at[d];
      }
      row.push_back(x[at]);
    });
    visit(index, row);
  });
}

double mean(const std::vector<double>& row) {
  return std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
}

double variance(const std::vector<double>& row) {
  const double m = mean(row);
  double sum = 0;
  for (const double value : row) {
    sum += (value - m) * (value - m);
  }
  return sum / static_cast<double>(row.size());
}

std::vector<bool> summed_axes(const Op& op, const RefTensor& x) {
  const int rank = x.rank();
  std::vector<bool> summed(static_cast<size_t>(rank), false);
  const std::string& type = op.op_type;
  int first = rank - 1;
  int end = rank;
  if (type == "InstanceNormalization") {
    first = 2;
  } else if (type == "GroupNormalization") {
    first = 1;
  } else if (type == "LRN") {
    first = 1;
    end = 2;
  } else if (type == "LpNormalization" || op.op_type.find("oftmax") != std::string::npos) {
    first = axis_of(op, rank, -1);
    end = op.version < 13 && type != "LpNormalization" ? rank : first + 1;
  } else if (type == "LayerNormalization" || type == "RMSNormalization") {
    first = axis_of(op, rank, -1);
  }
  std::fill(summed.begin() + first, summed.begin() + end, true);
  if (type == "MeanVarianceNormalization") {
    summed = {true, false, true, true};
  }
  return summed;
}

double normalised(const std::string& type, double value, const std::vector<double>& row) {
  if (type == "Softmax" || type == "LogSoftmax") {
    const double most = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const double x : row) {
      sum += std::exp(x - most);
    }
    const double share = std::exp(value - most) / sum;
    return type == "Softmax" ? share : std::log(share);
  }
  if (type == "LRN" || type == "LpNormalization") {
    double sum = 1;
    for (const double x : row) {
      sum += x * x;
    }
    return value / sum;
  }
  return (value - mean(row)) / std::sqrt(variance(row) + 1);
}

void norm(const Op& op, const Values& inputs, Values& outputs) {
  RefTensor x = inputs[0];
  const bool skips = op.op_type.starts_with("Skip");
  if (skips) {
    for_each_index(x.extents, [&](const Index& i) { x[i] += inputs[1].broadcast(i); });
  }
  const bool per_channel = op.op_type == "InstanceNormalization";
  const size_t scale = skips ? 2 : 1;
  for_each_row(x, summed_axes(op, x), [&](const Index& index, const std::vector<double>& row) {
    double value = normalised(op.op_type, x[index], row);
    if (op.op_type.find("Normalization") != std::string::npos &&
        op.op_type != "GroupNormalization") {
      const auto parameter = [&](size_t i, double fallback) {
        return !present_norm(inputs, i) ? fallback
               : per_channel            ? inputs[i][{index[1]}]
                                        : inputs[i].broadcast(index);
      };
      value = value * parameter(scale, 1) + parameter(scale + 1, 0);
    }
    outputs[0][index] = value;
    for (size_t o = 1; o < outputs.size(); ++o) {
      if (outputs[o].extents == x.extents) {
        outputs[o][index] = x[index];  // the sum with the skip connection
      } else if (!outputs[o].values.empty()) {
        Index at = index;
        for (size_t d = 0; d < at.size(); ++d) {
          at[d] = outputs[o].extents[d] == 1 ? 0 : at[d];
        }
        outputs[o][at] = mean(row);
      }
    }
  });
}

void batch_norm(const Op& op, const Values& inputs, Values& outputs) {
  const bool training = op.attributes.int_or("training_mode", 0) != 0;
  std::vector<bool> summed(inputs[0].extents.size(), true);
  summed[1] = false;
  for_each_row(inputs[0], summed, [&](const Index& index, const std::vector<double>& row) {
    const auto of = [&](size_t i) { return inputs[i][{index[1]}]; };
    const double centre = training ? mean(row) : of(3);
    outputs[0][index] = (inputs[0][index] - centre) * of(1) + of(2) + of(4);
    for (size_t o = 1; o < outputs.size(); ++o) {
      outputs[o][{index[1]}] = mean(row) + of(2 + o);
    }
  });
}

double reduced(const std::string& type, const std::vector<double>& row) {
  if (type == "ReduceMean") {
    return mean(row);
  }
  if (type == "ReduceMax" || type == "ReduceMin" || type.starts_with("Arg")) {
    const auto most = type == "ReduceMin" || type == "ArgMin"
                          ? std::min_element(row.begin(), row.end())
                          : std::max_element(row.begin(), row.end());
    return type.starts_with("Arg") ? static_cast<double>(most - row.begin()) : *most;
  }
  double sum = type == "ReduceProd" ? 1 : 0;
  for (const double x : row) {
    sum = type == "ReduceProd"        ? sum * x
          : type == "ReduceL1"        ? sum + std::abs(x)
          : type == "ReduceSumSquare" ? sum + x * x
          : type == "ReduceL2"        ? sum + x * x
          : type == "ReduceLogSumExp" ? sum + std::exp(x)
                                      : sum + x;
  }
  return type == "ReduceL2"          ? std::sqrt(sum)
         : type == "ReduceLogSum"    ? std::log(std::abs(sum) + 1)
         : type == "ReduceLogSumExp" ? std::log(sum)
                                     : sum;
}

void reduce(const Op& op, const Values& inputs, RefTensor& out) {
  const int rank = inputs[0].rank();
  std::vector<int64_t> axes;
  if (op.op_type.starts_with("Arg")) {
    axes = {axis_of(op, rank, 0)};
  } else if (present_norm(inputs, 1)) {
    for (const double axis : inputs[1].values) {
      axes.push_back(static_cast<int64_t>(axis));
    }
  } else if (const auto* list = op.attributes.get_ints("axes")) {
    axes = *list;
  }
  std::vector<bool> summed(static_cast<size_t>(rank), axes.empty());
  for (const int64_t axis : axes) {
    summed[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  const bool keep = op.attributes.int_or("keepdims", 1) != 0;
  for_each_row(inputs[0], summed, [&](const Index& index, const std::vector<double>& row) {
    Index to;
    for (size_t d = 0; d < index.size(); ++d) {
      if (!summed[d]) {
        to.push_back(index[d]);
      } else if (keep) {
        to.push_back(0);
      }
    }
    out[to] = reduced(op.op_type, row);
  });
}

void cumulative_sum(const Values& inputs, RefTensor& out) {
  const auto given = static_cast<int64_t>(inputs[1].values[0]);
  const auto axis = static_cast<size_t>(given < 0 ? given + inputs[0].rank() : given);
  for_each_index(out.extents, [&](const Index& index) {
    Index at = index;
    for (at[axis] = 0; at[axis] <= index[axis]; ++at[axis]) {
      out[index] += inputs[0][at];
    }
  });
}

void top_k(const Op& op, const Values& inputs, Values& outputs) {
  const RefTensor& x = inputs[0];
  const int axis = axis_of(op, x.rank(), -1);
  std::vector<bool> summed(x.extents.size(), false);
  summed[static_cast<size_t>(axis)] = true;
  const int64_t k = outputs[0].extents[static_cast<size_t>(axis)];
  for_each_row(x, summed, [&](const Index& index, const std::vector<double>& row) {
    std::vector<size_t> order(row.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return row[a] > row[b]; });
    Index to = index;
    for (int64_t i = 0; i < k; ++i) {
      to[static_cast<size_t>(axis)] = i;
      outputs[0][to] = row[order[static_cast<size_t>(i)]];
      outputs[1][to] = static_cast<double>(order[static_cast<size_t>(i)]);
    }
  });
}

// Labels [N, d...]; scores [N, C, d...].
void loss(const Op& op, const Values& inputs, Values& outputs) {
  const RefTensor& labels = inputs[1];
  const std::string how = op.attributes.string_or("reduction", "mean");
  const bool softmax = op.op_type == "SoftmaxCrossEntropyLoss";
  double sum = 0;
  for_each_index(labels.extents, [&](const Index& index) {
    std::vector<double> row;
    Index at = {index[0], 0};
    at.insert(at.end(), index.begin() + 1, index.end());
    for (at[1] = 0; at[1] < inputs[0].extents[1]; ++at[1]) {
      row.push_back(inputs[0][at]);
    }
    const auto label = static_cast<size_t>(labels[index]);
    const double value = softmax ? -normalised("LogSoftmax", row[label], row) : -row[label];
    sum += value;
    if (how == "none") {
      outputs[0][index] = value;
    }
    for (at[1] = 0; outputs.size() > 1 && at[1] < inputs[0].extents[1]; ++at[1]) {
      outputs[1][at] = normalised("LogSoftmax", row[static_cast<size_t>(at[1])], row);
    }
  });
  if (how != "none") {
    outputs[0].values[0] = how == "sum" ? sum : sum / static_cast<double>(labels.count());
  }
}

}  // namespace

bool run_norm_op(const Op& op, const std::vector<RefTensor>& inputs,
                 std::vector<RefTensor>& outputs) {
  const std::string& type = op.op_type;
  if (type == "BatchNormalization") {
    batch_norm(op, inputs, outputs);
  } else if (type.ends_with("Normalization") || type == "Softmax" || type == "LogSoftmax" ||
             type == "LRN") {
    norm(op, inputs, outputs);
  } else if (type.starts_with("Reduce") || type == "ArgMax" || type == "ArgMin") {
    reduce(op, inputs, outputs[0]);
  } else if (type == "CumSum") {
    cumulative_sum(inputs, outputs[0]);
  } else if (type == "TopK") {
    top_k(op, inputs, outputs);
  } else if (type.ends_with("Loss")) {
    loss(op, inputs, outputs);
  } else {
    return false;
  }
  return true;
}

}  // namespace dfsim
