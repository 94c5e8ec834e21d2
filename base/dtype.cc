// One table with the name, the size and the kind of each element type; all functions look things
// up in it.
#include "base/dtype.h"

#include <array>

namespace dfsim::inline base {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::string_view short_name;
  int bits;
};

constexpr std::array<DTypeInfo, kDTypeCount> kDTypes = {{
    {DType::kUnknown, "unknown", "", 32},
    {DType::kFloat64, "float64", "fp64", 64},
    {DType::kFloat32, "float32", "fp32", 32},
    {DType::kFloat16, "float16", "fp16", 16},
    {DType::kBFloat16, "bfloat16", "bf16", 16},
    {DType::kFloat8E4M3, "float8e4m3", "fp8", 8},
    {DType::kFloat8E5M2, "float8e5m2", "fp8e5m2", 8},
    {DType::kFloat4E2M1, "float4e2m1", "fp4", 4},
    {DType::kInt64, "int64", "", 64},
    {DType::kInt32, "int32", "", 32},
    {DType::kInt16, "int16", "", 16},
    {DType::kInt8, "int8", "", 8},
    {DType::kInt4, "int4", "", 4},
    {DType::kUInt64, "uint64", "", 64},
    {DType::kUInt32, "uint32", "", 32},
    {DType::kUInt16, "uint16", "", 16},
    {DType::kUInt8, "uint8", "", 8},
    {DType::kUInt4, "uint4", "", 4},
    {DType::kBool, "bool", "", 8},
    {DType::kComplex64, "complex64", "", 64},
    {DType::kComplex128, "complex128", "", 128},
    {DType::kString, "string", "", 64},
    {DType::kTFloat32, "tf32", "", 32},
    {DType::kInt2, "int2", "", 2},
    {DType::kUInt2, "uint2", "", 2},
}};

const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }

DType dtype_from_name(std::string_view name) {
  for (const DTypeInfo& entry : kDTypes) {
    if (name == entry.name || (!entry.short_name.empty() && name == entry.short_name)) {
      return entry.dtype;
    }
  }
  return DType::kUnknown;
}

int dtype_bits(DType dtype) { return info(dtype).bits; }

bool is_floating(DType dtype) {
  return (dtype >= DType::kFloat64 && dtype <= DType::kFloat4E2M1) || dtype == DType::kTFloat32;
}

bool is_integer(DType dtype) {
  return (dtype >= DType::kInt64 && dtype <= DType::kUInt4) || dtype == DType::kInt2 ||
         dtype == DType::kUInt2;
}

DType wider_stand_in(DType dtype) {
  switch (dtype) {
    case DType::kFloat4E2M1:
    case DType::kFloat8E5M2:
      return DType::kFloat8E4M3;
    case DType::kFloat8E4M3:
    case DType::kBFloat16:
      return DType::kFloat16;
    case DType::kInt2:
    case DType::kUInt2:
    case DType::kInt4:
    case DType::kUInt4:
    case DType::kUInt8:
    case DType::kBool:
      return DType::kInt8;
    case DType::kFloat64:
    case DType::kFloat32:
      return DType::kFloat64;
    default:
      return DType::kFloat32;
  }
}

Count dtype_bytes(DType dtype, Count elements) {
  const int bits = dtype_bits(dtype);
  if (bits >= 8) {
    return elements * Count(bits / 8);
  }
  const int per_byte = 8 / bits;
  if (elements.overflowed()) {
    return elements;
  }
  return Count(elements.value() / per_byte + (elements.value() % per_byte != 0 ? 1 : 0));
}

}  // namespace dfsim::inline base
