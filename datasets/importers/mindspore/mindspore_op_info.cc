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

std::string parse_operand(std::string_view key, const JsonValue& value, TensorSpec* spec,
                          int* place) {
  if (!value.is(JsonKind::kObject)) {
    return fmt::format("{} is not an object", printable(key));
  }
  std::string_view text;
  if (value["format"].get(&text)) {
    spec->format = clean_format(text);
  }
  if (value["data_type"].get(&text)) {
    spec->dtype = mindspore_dtype(text);
    *place = mindspore_type_place(text);
  }
  const JsonValue shape = value["shape"];
  if (!shape.is(JsonKind::kMissing) && !parse_shape(shape, &spec->extents)) {
    return fmt::format("{} has a shape that is not a list of extents", printable(key));
  }
  return "";
}

// One field of op_info into the list it belongs to; "" or what is wrong.
std::string add_operand(std::string_view key, const JsonValue& value, TensorList* inputs,
                        TensorList* outputs, TypePlaces* places) {
  int64_t index = operand_index(key, "input_");
  TensorList* list = inputs;
  std::vector<int>* list_places = &places->inputs;
  if (index < 0) {
    index = operand_index(key, "output_");
    list = outputs;
    list_places = &places->outputs;
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
  if (list_places->size() <= i) {
    list_places->resize(i + 1, -1);
  }
  (*list)[i] = TensorSpec();
  (*list_places)[i] = -1;
  return parse_operand(key, value, &(*list)[i], &(*list_places)[i]);
}

}  // namespace

struct OpInfoParser::State {
  JsonParser parser;
  PaddedJson text;
};

OpInfoParser::OpInfoParser() : state_(std::make_unique<State>()) {}
OpInfoParser::~OpInfoParser() = default;

std::string OpInfoParser::parse(std::string_view json, TensorList* inputs, TensorList* outputs,
                                TypePlaces* places) {
  TypePlaces unwanted;
  TypePlaces* const found = places != nullptr ? places : &unwanted;
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
    problem = problem.empty() ? add_operand(key, value, inputs, outputs, found) : problem;
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
  if (lower == "float" || lower == "bf16") {
    return lower == "float" ? DType::kFloat32 : DType::kBFloat16;
  }
  if (lower == "int" || lower == "uint") {
    return lower == "int" ? DType::kInt32 : DType::kUInt32;
  }
  return dtype_from_name(lower);
}

namespace {

// One side of OperandLists. Types here are of CANN's own names (FLOAT is float32 and has a width),
// so that only names that are MindSpore's alone count as places.
std::string parse_side(std::string_view shapes, std::string_view types, std::string_view formats,
                       TensorList* tensors, std::vector<int>* places) {
  shapes = trim(shapes);
  if (shapes.empty() || shapes == "N/A") {
    return "";
  }
  const auto plain = [](std::string_view cell) {
    std::string text(trim(cell));
    std::erase(text, '"');
    return text;
  };
  const std::vector<std::string> each = split(plain(shapes), ';');
  const std::vector<std::string> dtypes = split(plain(types), ';');
  const std::vector<std::string> layouts = split(plain(formats), ';');
  if (each.size() > static_cast<size_t>(kMostOperands)) {
    return fmt::format("over {} operands", kMostOperands);
  }
  for (size_t i = 0; i < each.size(); ++i) {
    TensorSpec spec;
    if (!parse_shape_text(each[i], &spec.extents)) {
      return fmt::format("operand {} has a shape that is not a list of extents: '{}'", i,
                         printable(each[i], 60));
    }
    spec.dtype = i < dtypes.size() ? mindspore_dtype(trim(dtypes[i])) : DType::kUnknown;
    spec.format = i < layouts.size() ? clean_format(trim(layouts[i])) : "";
    const bool mindspores =
        i < dtypes.size() && to_lower(dtypes[i]).find("number_type") != std::string::npos;
    places->push_back(mindspores ? mindspore_type_place(trim(dtypes[i])) : -1);
    tensors->push_back(std::move(spec));
  }
  return "";
}

}  // namespace

std::string parse_operand_lists(const OperandLists& lists, TensorList* inputs, TensorList* outputs,
                                TypePlaces* places) {
  const std::string problem = parse_side(lists.input_shapes, lists.input_types, lists.input_formats,
                                         inputs, &places->inputs);
  return problem.empty() ? parse_side(lists.output_shapes, lists.output_types, lists.output_formats,
                                      outputs, &places->outputs)
                         : problem;
}

}  // namespace dfsim::inline datasets
