// ONNX's numbers for element types (TensorProto.DataType): facts of the format, needed both by the
// importer and by rules whose attributes hold them (Cast, EyeLike, RandomNormal...).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace dfsim::inline graphs {

// kUnknown for a number that ONNX does not define.
DType dtype_from_onnx(int64_t code);
// 0 for a type that ONNX has no number for; the first of several.
int dtype_to_onnx(DType dtype);
// Opset 1's spelling to ours: "FLOAT" -> "float32".
std::string to_lower_dtype(std::string_view name);

}  // namespace dfsim::inline graphs
