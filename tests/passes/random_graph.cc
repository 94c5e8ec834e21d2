#include "tests/passes/random_graph.h"

#include <numeric>

#include "graphs/ops/infer.h"

namespace dfsim {
namespace {

constexpr int kOpset = 17;
constexpr int64_t kMostElements = 1024;

int64_t product_of(const std::vector<int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

Tensor& RandomGraph::declare(const std::string& name, const std::vector<int64_t>& extents) {
  Tensor& tensor = builder_.tensor(builder_.tensor_by_name(name));
  tensor.shape = Shape::of(extents);
  tensor.dtype = DType::kFloat32;
  return tensor;
}

std::string RandomGraph::weight(const std::vector<int64_t>& extents) {
  std::string name = "w" + std::to_string(count_++);
  declare(name, extents).role = TensorRole::kWeight;
  return name;
}

std::string RandomGraph::number(double value) {
  std::string name = "c" + std::to_string(count_++);
  declare(name, {}).role = TensorRole::kConstant;
  builder_.set_constant(builder_.tensor_by_name(name),
                        ConstValue{DType::kFloat32, {}, {}, {value}});
  return name;
}

std::string RandomGraph::ints(const std::vector<int64_t>& values) {
  std::string name = "i" + std::to_string(count_++);
  const auto size = static_cast<int64_t>(values.size());
  Tensor& tensor = declare(name, {size});
  tensor.role = TensorRole::kConstant;
  tensor.dtype = DType::kInt64;
  builder_.set_constant(builder_.tensor_by_name(name),
                        ConstValue{DType::kInt64, {size}, values, {}});
  return name;
}

std::string RandomGraph::op(const std::string& type, const std::vector<std::string>& inputs,
                            const Attributes& attributes, int outputs) {
  std::string signature = type;
  for (const std::string& input : inputs) {
    signature += " " + input;
  }
  if (!made_.insert(signature).second) {
    return "";
  }
  Op op;
  op.op_type = type;
  op.version = kOpset;
  std::string name = "t" + std::to_string(count_++);
  op.name = name;
  for (const std::string& input : inputs) {
    op.inputs.push_back(builder_.tensor_by_name(input));
  }
  for (int i = 0; i < outputs; ++i) {
    op.outputs.push_back(builder_.tensor_by_name(i == 0 ? name : name + "_" + std::to_string(i)));
  }
  for (const auto& [key, value] : attributes) {
    op.attributes.set(key, value);
  }
  return builder_.add_op(std::move(op)).ok() ? name : "";
}

void RandomGraph::keep(const std::string& name, std::vector<int64_t> extents) {
  if (!name.empty()) {
    values_.push_back({name, std::move(extents)});
  }
}

void RandomGraph::add_elementwise(const Value& x) {
  static const std::vector<std::string> kTypes = {"Relu", "Sigmoid", "Tanh",     "Neg",
                                                  "Abs",  "Erf",     "Identity", "Softmax"};
  keep(op(kTypes[choose_(static_cast<uint32_t>(kTypes.size()))], {x.name}), x.extents);
}

void RandomGraph::add_binary(const Value& x) {
  static const std::vector<std::string> kTypes = {"Add", "Mul", "Sub"};
  const std::string& type = kTypes[choose_(3)];
  if (choose_(3) == 0) {
    keep(op(type, {x.name, number(0.5)}), x.extents);
    return;
  }
  for (const Value& y : values_) {
    if (y.extents == x.extents && y.name != x.name) {
      keep(op(type, {x.name, y.name}), x.extents);
      return;
    }
  }
}

void RandomGraph::add_bias(const Value& x) {
  keep(op("Add", {x.name, weight({x.extents.back()})}), x.extents);
}

void RandomGraph::add_product(const Value& x) {
  const int64_t columns = one_of({2, 4, 8});
  std::vector<int64_t> extents = x.extents;
  const std::string w = weight({extents.back(), columns});
  extents.back() = columns;
  if (extents.size() == 2 && choose_(2) == 0) {
    keep(op("Gemm", {x.name, w, weight({columns})}), extents);
    return;
  }
  const std::string made = op("MatMul", {x.name, w});
  keep(made, extents);
  if (!made.empty() && choose_(2) == 0) {
    keep(op("Add", {made, weight({columns})}), extents);
  }
}

// x times its own transpose, scaled as attention does it; or as an Einsum.
void RandomGraph::add_scores(const Value& x) {
  if (x.extents.size() != 3) {
    return;
  }
  const std::vector<int64_t> scores = {x.extents[0], x.extents[1], x.extents[1]};
  if (choose_(3) == 0) {
    const std::string w = weight(x.extents);
    keep(op("Einsum", {x.name, w}, {{"equation", std::string("bik,bjk->bij")}}), scores);
    return;
  }
  const std::string turned = op("Transpose", {x.name}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  if (turned.empty()) {
    return;
  }
  keep(turned, {x.extents[0], x.extents[2], x.extents[1]});
  const std::string made = op("MatMul", {x.name, turned});
  keep(op(choose_(2) == 0 ? "Mul" : "Div", {made, number(2)}), scores);
}

void RandomGraph::add_transpose(const Value& x) {
  std::vector<int64_t> perm(x.extents.size());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i) {
    std::swap(perm[i - 1], perm[choose_(static_cast<uint32_t>(i))]);
  }
  std::vector<int64_t> extents;
  for (const int64_t axis : perm) {
    extents.push_back(x.extents[static_cast<size_t>(axis)]);
  }
  keep(op("Transpose", {x.name}, {{"perm", perm}}), extents);
}

void RandomGraph::add_reshape(const Value& x) {
  std::vector<int64_t> extents = x.extents;
  if (choose_(3) == 0) {
    const auto axis = static_cast<int64_t>(choose_(static_cast<uint32_t>(extents.size())));
    const std::string wide = op("Unsqueeze", {x.name, ints({axis})});
    const std::string narrow = op("Squeeze", {wide, ints({axis})});
    keep(narrow, extents);
    return;
  }
  if (extents.size() > 2) {  // the last two as one
    const int64_t last = extents.back();
    extents.pop_back();
    extents.back() *= last;
  } else if (extents.back() % 2 == 0) {  // the last one as two
    extents.back() /= 2;
    extents.push_back(2);
  } else {
    return;
  }
  keep(op("Reshape", {x.name, ints(extents)}), extents);
}

void RandomGraph::add_norm(const Value& x) {
  const int64_t width = x.extents.back();
  std::string normed = x.name;
  for (const Value& y : values_) {  // behind a sum, as a transformer's block has it
    if (y.extents == x.extents && y.name != x.name && choose_(2) == 0) {
      normed = op("Add", {x.name, y.name});
      keep(normed, x.extents);
      break;
    }
  }
  if (!normed.empty()) {
    keep(op("LayerNormalization", {normed, weight({width}), weight({width})},
            {{"axis", int64_t{-1}}, {"epsilon", 1e-5}}),
         x.extents);
  }
}

// Layer normalisation in the operators that an old exporter writes.
void RandomGraph::add_written_norm(const Value& x) {
  const int64_t width = x.extents.back();
  const Attributes over_last = {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}};
  const std::string mean = op("ReduceMean", {x.name}, over_last);
  if (mean.empty()) {
    return;
  }
  const std::string centred = op("Sub", {x.name, mean});
  const std::string square = op("Pow", {centred, number(2)});
  const std::string variance = op("ReduceMean", {square}, over_last);
  const std::string deviation = op("Sqrt", {op("Add", {variance, number(1e-5)})});
  const std::string scaled = op("Mul", {op("Div", {centred, deviation}), weight({width})});
  keep(op("Add", {scaled, weight({width})}), x.extents);
}

void RandomGraph::add_gelu(const Value& x) {
  if (choose_(3) == 0) {  // x sigmoid(1.702 x)
    const std::string gate = op("Sigmoid", {op("Mul", {x.name, number(1.702)})});
    keep(op("Mul", {x.name, gate}), x.extents);
    return;
  }
  const std::string inner = op("Erf", {op("Div", {x.name, number(1.4142135381698608)})});
  const std::string sum = op("Add", {inner, number(1)});
  keep(op("Mul", {op("Mul", {x.name, sum}), number(0.5)}), x.extents);
}

void RandomGraph::add_split(const Value& x) {
  std::vector<int64_t> extents = x.extents;
  if (extents.back() % 2 != 0) {
    return;
  }
  extents.back() /= 2;
  const int64_t half = extents.back();
  const auto axis = static_cast<int64_t>(extents.size()) - 1;
  if (choose_(2) == 0) {
    const std::string first = op("Split", {x.name}, {{"axis", axis}}, 2);
    keep(first, extents);
    keep(first.empty() ? "" : first + "_1", extents);
    return;
  }
  const std::string low = op("Slice", {x.name, ints({0}), ints({half}), ints({axis})});
  const std::string high = op("Slice", {x.name, ints({half}), ints({2 * half}), ints({axis})});
  keep(low, extents);
  keep(high, extents);
  keep(op("Concat", {high, low}, {{"axis", axis}}), x.extents);
}

void RandomGraph::add_conv(const Value& x) {
  if (x.extents.size() != 4 || x.extents[2] < 3 || x.extents[3] < 3) {
    return;
  }
  const int64_t channels = one_of({8, 16, 32});
  std::string from = x.name;
  std::vector<int64_t> extents = x.extents;
  if (choose_(2) == 0) {
    from = op("Pad", {from, ints({0, 0, 1, 1, 0, 0, 1, 1})});
    extents[2] += 2;
    extents[3] += 2;
  }
  const std::string made = op("Conv", {from, weight({channels, extents[1], 3, 3})},
                              {{"kernel_shape", std::vector<int64_t>{3, 3}}});
  extents = {extents[0], channels, extents[2] - 2, extents[3] - 2};
  std::string last = made;
  if (!last.empty() && choose_(2) == 0) {
    last = op("BatchNormalization", {last, weight({channels}), weight({channels}),
                                     weight({channels}), weight({channels})});
  }
  if (!last.empty() && choose_(2) == 0) {
    last = op("Relu", {last});
  }
  keep(last, extents);
}

void RandomGraph::step() {
  using Step = void (RandomGraph::*)(const Value&);
  static const std::vector<Step> kSteps = {
      &RandomGraph::add_elementwise,  &RandomGraph::add_binary, &RandomGraph::add_bias,
      &RandomGraph::add_product,      &RandomGraph::add_scores, &RandomGraph::add_transpose,
      &RandomGraph::add_reshape,      &RandomGraph::add_norm,   &RandomGraph::add_gelu,
      &RandomGraph::add_written_norm, &RandomGraph::add_split,  &RandomGraph::add_conv};
  const Value x = any();
  if (product_of(x.extents) <= kMostElements) {
    (this->*kSteps[choose_(static_cast<uint32_t>(kSteps.size()))])(x);
  }
}

StatusOr<Graph> RandomGraph::make(int steps) {
  const std::vector<std::vector<std::vector<int64_t>>> kInputs = {
      {{2, 4, 8}, {2, 4, 8}}, {{4, 6}, {4, 6}}, {{1, 8, 5, 5}, {1, 8, 5, 5}}};
  for (const std::vector<int64_t>& extents : kInputs[choose_(3)]) {
    const std::string name = "x" + std::to_string(values_.size());
    declare(name, extents);
    builder_.mark_input(builder_.tensor_by_name(name));
    values_.push_back({name, extents});
  }
  for (int i = 0; i < steps; ++i) {
    step();
  }
  std::set<TensorId> read;
  for (size_t i = 0; i < builder_.op_count(); ++i) {
    read.insert(builder_.op(OpId(i)).inputs.begin(), builder_.op(OpId(i)).inputs.end());
  }
  for (size_t i = 0; i < builder_.op_count(); ++i) {
    for (const TensorId output : builder_.op(OpId(i)).outputs) {
      if (!read.contains(output)) {
        builder_.mark_output(output);
      }
    }
  }
  DFSIM_RETURN_IF_ERROR(infer_shapes(builder_, {}).status());
  return builder_.build();
}

}  // namespace dfsim
