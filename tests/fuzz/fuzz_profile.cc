// libFuzzer target of what reads measurements: no input may crash, hang or grow memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/events/json_text.h"
#include "datasets/importers/mindspore/mindspore_op_info.h"
#include "datasets/importers/mindspore/mindspore_operands.h"
#include "datasets/importers/mindspore/mindspore_types.h"
#include "datasets/importers/op_names.h"
#include "datasets/profiles/profile_columns.h"
#include "datasets/profiles/profile_jsonl.h"
#include "datasets/tables/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const dfsim::StatusOr<dfsim::TensorList> tensors = dfsim::parse_tensors(text);
  if (tensors.ok()) {
    // An accepted list survives formatting and parsing.
    const auto again = dfsim::parse_tensors(dfsim::format_tensors(*tensors));
    if (!again.ok() || *again != *tensors) {
      std::abort();
    }
  }
  std::string scratch;
  std::vector<std::string_view> fields;
  dfsim::split_csv_line(text, &scratch, &fields);
  dfsim::Profile profile;
  dfsim::DropReport drops;
  dfsim::RowSink sink(profile, &drops, "fuzz");
  dfsim::ProfileRowParser rows(sink);
  dfsim::ProfileCells cells;
  for (size_t i = 0; i < fields.size() && i < cells.size(); ++i) {
    cells[i] = fields[i];
  }
  rows.add(cells, 1);
  dfsim::ProfileCells json_cells;
  dfsim::ProfileLineParser json;
  if (json.parse(text, &json_cells).empty()) {
    rows.add(json_cells, 2);
  }
  dfsim::OpInfoParser op_info;
  dfsim::TensorList inputs;
  dfsim::TensorList outputs;
  for (const std::string& cell : dfsim::split_framework_line(text).cells) {
    dfsim::TypePlaces places;
    op_info.parse(cell, &inputs, &outputs, &places);
    const dfsim::TypedOp typed = {"Conv2D", dfsim::OpClass::kConv, places, false};
    dfsim::find_type_shift(std::span(&typed, 1));
    dfsim::LogicalShapes shapes;
    if (!inputs.empty() && !outputs.empty()) {
      shapes.learn(inputs[0], outputs[0]);
    }
    for (const char* type : {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "MatMul",
                             "MaxPoolGrad", "DepthwiseConv2D", "Cast"}) {
      const dfsim::OpNameInfo op = dfsim::mindspore_op(type);
      dfsim::product_flops(op, dfsim::graph_operands(op, inputs, outputs, shapes));
    }
  }
  dfsim::split_json_array(text);
  return 0;
}
