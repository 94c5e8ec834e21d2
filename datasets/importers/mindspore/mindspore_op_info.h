// The op_info column of the MindSpore profiler: shapes, dtypes and formats as JSON in a CSV cell.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/importers/mindspore/mindspore_types.h"
#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// One line of framework_raw_N.csv taken apart: the cells before op_info, op_info as JSON text, the
// cells behind it. Works whether the JSON is quoted as CSV wants it, quoted without doubling, or
// not quoted at all; it is the text from the line's first '{' to its last '}'.
struct FrameworkLine {
  std::vector<std::string> cells;  // op_info's own cell is in its place, as JSON text
};
FrameworkLine split_framework_line(std::string_view line);

class OpInfoParser {
 public:
  OpInfoParser();
  ~OpInfoParser();

  // Fills operands from {"input_0":{"format":..,"data_type":..,"shape":".."},..,"output_0":..};
  // gaps in the numbering become missing tensors. "" or what is wrong. Keys of another form are
  // ignored. A shape may be "32,3,224,224", "[32, 3]", "(32,)", "" (scalar), or a JSON list.
  // `places` gets the names of the types as places in MindSpore's order, -1 for other names.
  std::string parse(std::string_view json, TensorList* inputs, TensorList* outputs,
                    TypePlaces* places = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Operands of op_summary and kernel_details: "1,2;3,4" or "[1,2];[3,4]", "DT_BF16;FLOAT",
// "ND;FRACTAL_NZ"; "N/A" or "" where there are none.
struct OperandLists {
  std::string_view input_shapes;
  std::string_view input_types;
  std::string_view input_formats;
  std::string_view output_shapes;
  std::string_view output_types;
  std::string_view output_formats;
};
// As OpInfoParser::parse().
std::string parse_operand_lists(const OperandLists& lists, TensorList* inputs, TensorList* outputs,
                                TypePlaces* places);

// float16 of "NUMBER_TYPE_FLOAT16", "kNumberTypeFloat16", "Float16"; kUnknown when not known.
DType mindspore_dtype(std::string_view name);

}  // namespace dfsim::inline datasets
