// TensorFlow graphs for tests, written in their text format by small helpers.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "graphs/ops/totals.h"
#include "graphs/tensorflow/importer.h"

namespace dfsim {

using Extents = std::vector<int64_t>;

inline std::string shape_text(const Extents& extents) {
  std::string text;
  for (const int64_t extent : extents) {
    text += fmt::format("dim {{ size: {} }} ", extent);
  }
  return text;
}

// One node; `attributes` as in the format: attr("T", "type: DT_FLOAT").
inline std::string node(const std::string& name, const std::string& op,
                        const std::vector<std::string>& inputs,
                        const std::string& attributes = "") {
  std::string text = fmt::format("node {{ name: \"{}\" op: \"{}\" ", name, op);
  for (const std::string& input : inputs) {
    text += fmt::format("input: \"{}\" ", input);
  }
  return text + attributes + "}\n";
}

inline std::string attr(const std::string& key, const std::string& value) {
  return fmt::format("attr {{ key: \"{}\" value {{ {} }} }} ", key, value);
}

inline std::string int_list(const Extents& values) {
  return fmt::format("list {{ i: [{}] }}", fmt::join(values, ", "));
}

inline std::string placeholder(const std::string& name, const Extents& extents,
                               const std::string& type = "DT_FLOAT") {
  return node(name, "Placeholder", {},
              attr("dtype", "type: " + type) +
                  attr("shape", fmt::format("shape {{ {} }}", shape_text(extents))));
}

// A weight: shape and type only.
inline std::string weight(const std::string& name, const Extents& extents) {
  return node(name, "Const", {},
              attr("dtype", "type: DT_FLOAT") +
                  attr("value", fmt::format("tensor {{ dtype: DT_FLOAT tensor_shape {{ {} }} }}",
                                            shape_text(extents))));
}

// A vector of integers, or a scalar.
inline std::string ints(const std::string& name, const Extents& values) {
  return node(
      name, "Const", {},
      attr("value", fmt::format("tensor {{ dtype: DT_INT32 tensor_shape {{ {} }} int_val: [{}] }}",
                                shape_text({static_cast<int64_t>(values.size())}),
                                fmt::join(values, ", "))));
}
inline std::string integer(const std::string& name, int64_t value) {
  return node(
      name, "Const", {},
      attr("value",
           fmt::format("tensor {{ dtype: DT_INT32 tensor_shape {{ }} int_val: {} }}", value)));
}

// One function of the library.
inline std::string function(const std::string& name, const std::vector<std::string>& arguments,
                            const std::vector<std::string>& results, const std::string& nodes,
                            const std::string& returns) {
  std::string text = fmt::format("function {{ signature {{ name: \"{}\" ", name);
  for (const std::string& argument : arguments) {
    text += fmt::format("input_arg {{ name: \"{}\" type: DT_FLOAT }} ", argument);
  }
  for (const std::string& result : results) {
    text += fmt::format("output_arg {{ name: \"{}\" type: DT_FLOAT }} ", result);
  }
  std::string body = nodes;
  for (size_t at = body.find("node {"); at != std::string::npos; at = body.find("node {", at + 8)) {
    body.replace(at, 4, "node_def");
  }
  return text + "} " + body + returns + "}\n";
}

inline std::string ret(const std::string& key, const std::string& value) {
  return fmt::format("ret {{ key: \"{}\" value: \"{}\" }} ", key, value);
}

inline std::string func(const std::string& name) {
  return fmt::format("func {{ name: \"{}\" }}", name);
}

inline constexpr const char* kVersions = "versions { producer: 1000 }\n";

inline StatusOr<ImportedModel> import_text(const std::string& text,
                                           const ImportOptions& options = {}) {
  return import_tensorflow_bytes(text + kVersions, TensorFlowFormat::kGraphDefText, options);
}

// The types of all operators, in order, with blanks between.
inline std::string op_types(const Graph& graph) {
  std::string types;
  for (const Op& op : graph.ops()) {
    types += (types.empty() ? "" : " ") + op.op_type;
  }
  return types;
}

inline std::string output_shape(const Graph& graph, size_t output = 0) {
  return format_shape(graph.tensor(graph.outputs()[output]).shape);
}

}  // namespace dfsim
