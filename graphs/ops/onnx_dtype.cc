#include "graphs/ops/onnx_dtype.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace dfsim::inline graphs {

namespace {

constexpr std::array kCodes = {
    DType::kUnknown,    DType::kFloat32,    DType::kUInt8,      DType::kInt8,
    DType::kUInt16,     DType::kInt16,      DType::kInt32,      DType::kInt64,
    DType::kString,     DType::kBool,       DType::kFloat16,    DType::kFloat64,
    DType::kUInt32,     DType::kUInt64,     DType::kComplex64,  DType::kComplex128,
    DType::kBFloat16,   DType::kFloat8E4M3, DType::kFloat8E4M3, DType::kFloat8E5M2,
    DType::kFloat8E5M2, DType::kUInt4,      DType::kInt4,       DType::kFloat4E2M1,
    DType::kFloat8E5M2,  // FLOAT8E8M0: scales of 8 bits
    DType::kUInt2,      DType::kInt2};

}  // namespace

DType dtype_from_onnx(int64_t code) {
  return code >= 0 && code < static_cast<int64_t>(kCodes.size()) ? kCodes[static_cast<size_t>(code)]
                                                                 : DType::kUnknown;
}

int dtype_to_onnx(DType dtype) {
  const auto it = std::find(kCodes.begin(), kCodes.end(), dtype);
  return it != kCodes.end() ? static_cast<int>(it - kCodes.begin()) : 0;
}

std::string to_lower_dtype(std::string_view name) {
  std::string lower = to_lower(name);
  if (lower == "float") {
    return "float32";
  }
  return lower == "double" ? "float64" : lower;
}

}  // namespace dfsim::inline graphs
