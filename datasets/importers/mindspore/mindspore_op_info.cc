// Takes one line of framework_raw_N.csv apart. Versions of the profiler quote the JSON in the
// op_info cell in three ways, so the line is split from both ends at the first "{" and the last
// "}" before any JSON is parsed. Attributes are not recorded; those that shapes determine
// (transposes, windows) are guessed from the operands.
#include "datasets/importers/mindspore/mindspore_op_info.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json_value.h"
#include "base/text.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/tables/csv.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

constexpr int64_t kMostOperands = 4096;

void append_cells(std::string_view text, std::vector<std::string>* cells) {
  std::string scratch;
  std::vector<std::string_view> fields;
  if (!split_csv_line(text, &scratch, &fields)) {
    for (std::string& cell : split(text, ',')) {
      cells->push_back(std::move(cell));
    }
    return;
  }
  cells->insert(cells->end(), fields.begin(), fields.end());
}

// {""input_0"":..} -> {"input_0":..}.
std::string undouble_quotes(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    out += json[i];
    if (json[i] == '"' && i + 1 < json.size() && json[i + 1] == '"') {
      ++i;
    }
  }
  return out;
}

// "1, 2,3" with or without brackets; false when an item is not an extent.
bool parse_shape_text(std::string_view text, std::vector<int64_t>* extents) {
  text = trim(text);
  while (!text.empty() && (text.front() == '[' || text.front() == '(')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ']' || text.back() == ')')) {
    text.remove_suffix(1);
  }
  if (trim(text).empty()) {
    return true;
  }
  for (const std::string& item : split(text, ',')) {
    if (trim(item).empty()) {
      continue;  // "(32,)"
    }
    const auto extent = parse_number<int64_t>(item);
    if (!extent.has_value() || *extent < -2 || *extent > kMaxExtent) {
      return false;
    }
    extents->push_back(std::max<int64_t>(*extent, -1));
  }
  return true;
}

bool parse_shape(const JsonValue& shape, std::vector<int64_t>* extents) {
  std::string_view text;
  if (shape.get(&text)) {
    return parse_shape_text(text, extents);
  }
  bool fine = shape.is(JsonKind::kArray) || shape.is(JsonKind::kNull);
  shape.each_element([&](const JsonValue& item) {
    int64_t extent = 0;
    if (!item.get(&extent) || extent < -2 || extent > kMaxExtent) {
      fine = false;
    } else {
      extents->push_back(std::max<int64_t>(extent, -1));
    }
  });
  return fine;
}

// "input_3" -> 3, with the operands it belongs to; -1 for other keys.
int64_t operand_index(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix)) {
    return -1;
  }
  return parse_number<int64_t>(key.substr(prefix.size())).value_or(-1);
}

// A format is a word; anything else would break the text form of tensors.
std::string clean_format(std::string_view format) {
  if (format == "DefaultFormat" || format == "NCHW" || format == "ND" ||
      format == "kOpFormat_DEFAULT") {
    return format == "NCHW" ? "NCHW" : "";
  }
  std::string out;
  for (const char c : format) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':') {
      out += c;
    }
  }
  return out;
}

std::string parse_operand(std::string_view key, const JsonValue& value, TensorSpec* spec) {
  if (!value.is(JsonKind::kObject)) {
    return fmt::format("{} is not an object", printable(key));
  }
  std::string_view text;
  if (value["format"].get(&text)) {
    spec->format = clean_format(text);
  }
  if (value["data_type"].get(&text)) {
    spec->dtype = mindspore_dtype(text);
  }
  const JsonValue shape = value["shape"];
  if (!shape.is(JsonKind::kMissing) && !parse_shape(shape, &spec->extents)) {
    return fmt::format("{} has a shape that is not a list of extents", printable(key));
  }
  return "";
}

// One field of op_info into the list it belongs to; "" or what is wrong.
std::string add_operand(std::string_view key, const JsonValue& value, TensorList* inputs,
                        TensorList* outputs) {
  int64_t index = operand_index(key, "input_");
  TensorList* list = inputs;
  if (index < 0) {
    index = operand_index(key, "output_");
    list = outputs;
  }
  if (index < 0) {
    return "";
  }
  if (index >= kMostOperands) {
    return fmt::format("{}: over {} operands", printable(key), kMostOperands);
  }
  const auto i = static_cast<size_t>(index);
  if (list->size() <= i) {
    list->resize(i + 1, missing_tensor());
  }
  (*list)[i] = TensorSpec();
  return parse_operand(key, value, &(*list)[i]);
}

}  // namespace

struct OpInfoParser::State {
  JsonParser parser;
  PaddedJson text;
};

OpInfoParser::OpInfoParser() : state_(std::make_unique<State>()) {}
OpInfoParser::~OpInfoParser() = default;

std::string OpInfoParser::parse(std::string_view json, TensorList* inputs, TensorList* outputs) {
  JsonValue object;
  const auto read = [this, &object](std::string_view text) {
    state_->text.assign(text);
    return state_->parser.parse_object(state_->text.view(), &object);
  };
  bool fine = read(json);
  if (!fine && json.find('"') == std::string_view::npos) {
    std::string double_quoted(json);  // a Python dictionary
    std::replace(double_quoted.begin(), double_quoted.end(), '\'', '"');
    fine = read(double_quoted);
  }
  if (!fine) {
    return fmt::format("op_info is not a JSON object: {}", state_->parser.error());
  }
  std::string problem;
  object.each_member([&](std::string_view key, const JsonValue& value) {
    problem = problem.empty() ? add_operand(key, value, inputs, outputs) : problem;
  });
  return problem;
}

FrameworkLine split_framework_line(std::string_view line) {
  FrameworkLine out;
  const size_t open = line.find('{');
  const size_t close = line.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    append_cells(line, &out.cells);
    return out;
  }
  std::string_view before = line.substr(0, open);
  std::string_view after = line.substr(close + 1);
  if (before.ends_with('"')) {
    before.remove_suffix(1);
  }
  if (after.starts_with('"')) {
    after.remove_prefix(1);
  }
  if (before.ends_with(',')) {
    before.remove_suffix(1);
  }
  append_cells(before, &out.cells);
  const std::string_view json = line.substr(open, close - open + 1);
  const std::string_view first = trim(json.substr(1));
  out.cells.push_back(first.starts_with("\"\"") ? undouble_quotes(json) : std::string(json));
  if (after.starts_with(',')) {
    append_cells(after.substr(1), &out.cells);
  }
  return out;
}

DType mindspore_dtype(std::string_view name) {
  std::string lower = to_lower(name);
  for (const std::string_view prefix : {"number_type_", "knumbertype", "number_type", "dt_"}) {
    if (lower.starts_with(prefix)) {
      lower.erase(0, prefix.size());
      break;
    }
  }
  if (lower == "float") {
    return DType::kFloat32;
  }
  if (lower == "int" || lower == "uint") {
    return lower == "int" ? DType::kInt32 : DType::kUInt32;
  }
  return dtype_from_name(lower);
}

namespace {

// [N,C,H,W] of a 4-D tensor or of one stored as [N,C1,H,W,C0]; {} for other ranks.
std::vector<int64_t> as_nchw(const TensorSpec& spec) {
  const auto& e = spec.extents;
  if (e.size() == 4) {
    return e;
  }
  if (e.size() == 5 && spec.format == "NC1HWC0") {
    return {e[0], e[1] * e[4], e[2], e[3]};
  }
  return {};
}

std::string guess_transposes(const TensorList& inputs, const TensorList& outputs) {
  const auto& a = inputs[0].extents;
  const auto& b = inputs[1].extents;
  const auto& c = outputs[0].extents;
  if (a.size() < 2 || b.size() < 2 || c.size() < 2) {
    return "";
  }
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      const int64_t m = a[a.size() - (trans_a ? 1 : 2)];
      const int64_t ka = a[a.size() - (trans_a ? 2 : 1)];
      const int64_t kb = b[b.size() - (trans_b ? 1 : 2)];
      const int64_t n = b[b.size() - (trans_b ? 2 : 1)];
      if (ka == kb && c[c.size() - 2] == m && c.back() == n) {
        return trans_a || trans_b ? gemm_attributes(trans_a, trans_b) : "";
      }
    }
  }
  return "";
}

}  // namespace

std::string guess_mindspore_attributes(std::string_view onnx_type, const TensorList& inputs,
                                       const TensorList& outputs) {
  if (inputs.size() < 2 || outputs.empty()) {
    return "";
  }
  if (onnx_type == "MatMul" && inputs[0].format.empty() && inputs[1].format.empty()) {
    return guess_transposes(inputs, outputs);
  }
  if (onnx_type == "Conv" && inputs[1].extents.size() == 4) {
    const ConvGeometry conv =
        guess_conv(as_nchw(inputs[0]), inputs[1].extents, as_nchw(outputs[0]));
    return conv.kernel.empty() ? "" : conv_attributes(conv);
  }
  return "";
}

}  // namespace dfsim::inline datasets
