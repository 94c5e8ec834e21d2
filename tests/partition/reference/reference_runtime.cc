// Reference executor: operators that the passes of runtimes make. Those with the channels last run
// as their plain forms on turned operands; quantised sums are saturated, which is not linear.
#include <algorithm>

#include "tests/partition/reference/reference_executor.h"

namespace dfsim {
namespace {

using Values = std::vector<RefTensor>;

bool given(const Values& inputs, size_t i) {
  return i < inputs.size() && !inputs[i].values.empty();
}

// Entry n of a vector, or the only entry.
double of_column(const RefTensor& x, int64_t n) {
  return x.values[x.values.size() == 1 ? 0 : static_cast<size_t>(n)];
}

RefTensor turned(const RefTensor& x, bool to_last) {
  const auto turn = [to_last](Index index) {
    if (to_last) {
      std::rotate(index.begin() + 1, index.begin() + 2, index.end());
    } else {
      std::rotate(index.begin() + 1, index.end() - 1, index.end());
    }
    return index;
  };
  RefTensor y(turn(x.extents));
  for_each_index(x.extents, [&](const Index& i) { y[turn(i)] = x[i]; });
  return y;
}

Op plain_pool(const Op& op, const std::string& type) {
  Op plain = op;
  plain.op_type = type;
  plain.domain.clear();
  return plain;
}

// Convolutions and pools with the channels last.
void channels_last(const Op& op, const Values& inputs, Values& outputs) {
  Op plain = op.op_type == "NhwcMaxPool" ? plain_pool(op, "MaxPool") : op;
  plain.attributes.set("channels_last", int64_t{0});
  plain.op_type = op.op_type == "NhwcFusedConv" ? "FusedConv" : plain.op_type;
  Values first = inputs;
  for (const size_t image : {size_t{0}, size_t{3}}) {
    if (given(first, image) && (image == 0 || op.op_type == "NhwcFusedConv")) {
      first[image] = turned(first[image], false);
    }
  }
  const Index wanted = turned(outputs[0], false).extents;
  outputs = {turned(run_reference_op(plain, first, {wanted})[0], true)};
}

// A product of two matrices, or of stacks of them, by columns: `scale` of a column follows the sum.
void product(const Op& op, const Values& inputs, size_t b, RefTensor& out) {
  const auto at = [](const RefTensor& x, Index index, bool transposed) {
    if (transposed) {
      std::swap(index[index.size() - 1], index[index.size() - 2]);
    }
    return x.broadcast(index);
  };
  const bool trans_a = op.attributes.int_or("transA", 0) != 0;
  const bool trans_b = op.attributes.int_or("transB", 0) != 0;
  const Index& a = inputs[0].extents;
  const int64_t length = a[a.size() - (trans_a ? 2 : 1)];
  for_each_index(out.extents, [&](const Index& index) {
    double sum = 0;
    for (int64_t k = 0; k < length; ++k) {
      Index row = index;
      Index column = index;
      row.back() = k;
      column[column.size() - 2] = k;
      sum += at(inputs[0], row, trans_a) * at(inputs[b], column, trans_b);
    }
    out[index] = sum;
  });
}

// Scales and a bias by column after the sum, then something that is not linear.
void finish(const Values& inputs, const std::vector<size_t>& scales, size_t bias, RefTensor& out) {
  for_each_index(out.extents, [&](const Index& index) {
    double value = out[index];
    for (const size_t scale : scales) {
      value *= given(inputs, scale) ? of_column(inputs[scale], index.back()) : 1;
    }
    value += given(inputs, bias) ? inputs[bias].broadcast(index) : 0;
    out[index] = std::min(value, 5.0);
  });
}

// Every row of an image mixes all rows of that image, and what the mask says of it.
void packed_attention(const Values& inputs, RefTensor& out) {
  const RefTensor& x = inputs[0];
  for_each_index(out.extents, [&](const Index& index) {
    double sum = given(inputs, 3) ? inputs[3][{index[0]}] : 0;
    for_each_index({x.extents[1], x.extents[2]}, [&](const Index& at) {
      sum += static_cast<double>(at[0] + 1) * x[{index[0], at[0], at[1]}] *
             inputs[1][{at[1], index[2]}];
    });
    out[index] = sum + static_cast<double>(index[1]);
  });
}

}  // namespace

bool run_runtime_op(const Op& op, const std::vector<RefTensor>& inputs,
                    std::vector<RefTensor>& outputs) {
  const std::string& type = op.op_type;
  if (type.starts_with("Nhwc") || op.attributes.int_or("channels_last", 0) != 0) {
    channels_last(op, inputs, outputs);
  } else if (type == "FusedMatMul") {
    product(op, inputs, 1, outputs[0]);
  } else if (type == "FusedGemm") {
    product(op, inputs, 1, outputs[0]);
    finish(inputs, {}, 2, outputs[0]);
  } else if (type == "QGemm") {
    product(op, inputs, 3, outputs[0]);
    finish(inputs, {4, 5}, 6, outputs[0]);
  } else if (type == "MatMulIntegerToFloat") {
    product(op, inputs, 1, outputs[0]);
    finish(inputs, {3, 5}, 6, outputs[0]);
  } else if (type == "DynamicQuantizeMatMul") {
    product(op, inputs, 1, outputs[0]);
    finish(inputs, {2, 3}, 4, outputs[0]);
  } else if (type == "QLinearConcat") {
    Values parts;
    for (size_t i = 2; i < inputs.size(); i += 3) {
      parts.push_back(inputs[i]);
    }
    outputs[0] = join_parts(parts, static_cast<int>(op.attributes.int_or("axis", 0)));
  } else if (type == "QLinearGlobalAveragePool") {
    outputs =
        run_reference_op(plain_pool(op, "GlobalAveragePool"), {inputs[0]}, {outputs[0].extents});
    finish({}, {}, 0, outputs[0]);
  } else if (type == "QLinearAveragePool") {
    outputs = run_reference_op(plain_pool(op, "AveragePool"), {inputs[0]}, {outputs[0].extents});
  } else if (type == "ReorderInput" || type == "ReorderOutput") {
    outputs[0].values = inputs[0].values;
  } else if (type == "Attention" && op.domain == "com.microsoft") {
    packed_attention(inputs, outputs[0]);
  } else {
    return false;
  }
  return true;
}

}  // namespace dfsim
