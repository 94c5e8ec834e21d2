// Folding rules against ONNX's reference evaluator: value_cases.txt has operators on small
// constants with the evaluator's results (make_value_cases.py writes it).
#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>

#include "base/text.h"
#include "graphs/ops/op_def.h"
#include "graphs/ops/values/stored_constant.h"
#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

const std::map<std::string, DType> kTypes = {
    {"f64", DType::kFloat64},   {"f32", DType::kFloat32}, {"f16", DType::kFloat16},
    {"bf16", DType::kBFloat16}, {"i64", DType::kInt64},   {"i32", DType::kInt32},
    {"i16", DType::kInt16},     {"i8", DType::kInt8},     {"u64", DType::kUInt64},
    {"u32", DType::kUInt32},    {"u16", DType::kUInt16},  {"u8", DType::kUInt8},
    {"b", DType::kBool}};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// "f32[2x3]1,2,3,4,5,6"
ConstValue parse_tensor(const std::string& text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  REQUIRE(close != std::string::npos);
  ConstValue value{kTypes.at(text.substr(0, open)), {}, {}, {}};
  const std::string dims = text.substr(open + 1, close - open - 1);
  for (const std::string& extent : dims.empty() ? std::vector<std::string>{} : split(dims, 'x')) {
    value.extents.push_back(std::stoll(extent));
  }
  const std::string list = text.substr(close + 1);
  for (const std::string& element : list.empty() ? std::vector<std::string>{} : split(list, ',')) {
    if (is_floating(value.dtype)) {
      // The file has what a float holds.
      const double number = std::stod(element);
      value.floats.push_back(value.dtype == DType::kFloat32
                                 ? static_cast<double>(static_cast<float>(number))
                                 : number);
    } else {
      value.ints.push_back(value.dtype == DType::kUInt64
                               ? static_cast<int64_t>(std::stoull(element))
                               : std::stoll(element));
    }
  }
  return value;
}

AttrValue parse_attribute(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string rest = text.substr(colon + 1);
  const auto items = rest.empty() ? std::vector<std::string>{} : split(rest, ',');
  if (kind == "I") {
    return int64_t{std::stoll(rest)};
  }
  if (kind == "F") {
    return std::stod(rest);
  }
  if (kind == "T") {
    return parse_tensor(rest);
  }
  if (kind == "IS") {
    std::vector<int64_t> list;
    for (const std::string& item : items) {
      list.push_back(std::stoll(item));
    }
    return list;
  }
  if (kind == "FS") {
    std::vector<double> list;
    for (const std::string& item : items) {
      list.push_back(std::stod(item));
    }
    return list;
  }
  return rest;
}

struct ValueCase {
  OpCase op;
  std::vector<std::optional<ConstValue>> expected;
};

Operand constant_operand(const std::string& text) {
  if (text == "-") {
    return absent();
  }
  ConstValue value = parse_tensor(text);
  return {Shape::of(value.extents), value.dtype, TensorRole::kConstant, value.ints, value.floats};
}

ValueCase parse_case(const std::string& line) {
  const auto fields = split(line, '|');
  REQUIRE(fields.size() == 6);
  ValueCase result;
  result.op.op_type = fields[0];
  result.op.version = std::stoi(fields[1]);
  result.op.domain = fields[2];
  for (const std::string& text :
       fields[3].empty() ? std::vector<std::string>{} : split(fields[3], ';')) {
    const size_t equals = text.find('=');
    result.op.attributes.emplace_back(text.substr(0, equals),
                                      parse_attribute(text.substr(equals + 1)));
  }
  for (const std::string& text :
       fields[4].empty() ? std::vector<std::string>{} : split(fields[4], ';')) {
    result.op.inputs.push_back(constant_operand(text));
  }
  for (const std::string& text : split(fields[5], ';')) {
    result.expected.push_back(text == "-" ? std::nullopt : std::optional(parse_tensor(text)));
  }
  result.op.outputs = result.expected.size();
  return result;
}

// Sums in another order and functions of a library differ in the last digits of the type.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-5;  // the file has nine digits
    case DType::kFloat16:
      return 2e-3;
    case DType::kBFloat16:
      return 2e-2;
    default:
      return 1e-5;
  }
}

bool same_number(double a, double b, double relative) {
  if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b)) {
    return (std::isnan(a) && std::isnan(b)) || a == b;
  }
  return std::abs(a - b) <= relative * std::max(1.0, std::max(std::abs(a), std::abs(b)));
}

// "" when both are equal, else the first difference.
std::string difference(const ConstValue& value, const ConstValue& expected) {
  if (value.dtype != expected.dtype) {
    return std::string("type ") + std::string(dtype_name(value.dtype)) + ", expected " +
           std::string(dtype_name(expected.dtype));
  }
  if (value.extents != expected.extents) {
    return "shape " + format_shape(Shape::of(value.extents)) + ", expected " +
           format_shape(Shape::of(expected.extents));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool same = is_floating(value.dtype)
                          ? same_number(value.floats[i], expected.floats[i], tolerance(value.dtype))
                          : value.ints[i] == expected.ints[i];
    if (!same) {
      return "element " + std::to_string(i) + " is " + std::to_string(value.as_double(i)) +
             ", expected " + std::to_string(expected.as_double(i));
    }
  }
  return "";
}

// Operators that the evaluator runs and dfsim does not compute, with the reason. None of them makes
// shapes from shapes.
const std::map<std::string, std::string> kWithoutValue = {
    {"TfIdfVectorizer", "counts of n-grams in text"},
    {"TreeEnsemble", "a trained classifier or regressor"},
    {"FlexAttention", "attention with subgraphs in it"},
    {"Dropout", "in training its mask is drawn at random"}};

std::vector<std::string> case_lines() {
  std::ifstream file(std::string(DFSIM_SOURCE_DIR) + "/tests/ops/value_cases.txt");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') {
      lines.push_back(line);
    }
  }
  return lines;
}

TEST_CASE("Folding rules: compute what ONNX's reference evaluator computes") {
  const auto lines = case_lines();
  REQUIRE(lines.size() > 500);
  std::map<std::string, int> without_rule;
  for (const std::string& line : lines) {
    const ValueCase example = parse_case(line);
    INFO(line.substr(0, 400));
    const OpDef* def = find_op_def(example.op.domain, example.op.op_type);
    REQUIRE(def != nullptr);
    const OpOutcome outcome = infer(example.op);
    if (!outcome.status.ok()) {
      FAIL_CHECK(outcome.status.message());
      continue;
    }
    for (size_t i = 0; i < example.expected.size(); ++i) {
      if (!example.expected[i]) {
        continue;
      }
      const ConstValue* value = outcome.value(i);
      if (value == nullptr) {
        ++without_rule[example.op.op_type];
        continue;
      }
      CHECK(difference(*value, *example.expected[i]) == "");
    }
  }
  for (const auto& [op, count] : without_rule) {
    INFO(op << " has no value in " << count << " outputs");
    CHECK(kWithoutValue.count(op) == 1);
  }
}

}  // namespace
}  // namespace dfsim
