// Element types of tensors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace dfsim::inline base {

enum class DType : uint8_t {
  kUnknown,
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kFloat8E4M3,
  kFloat8E5M2,
  kFloat4E2M1,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kInt4,
  kUInt64,
  kUInt32,
  kUInt16,
  kUInt8,
  kUInt4,
  kBool,
  kComplex64,
  kComplex128,
  kString,
  kTFloat32,  // fp32 operands, 10 bits of mantissa in the products: a kind of arithmetic
  kInt2,
  kUInt2,
};

inline constexpr int kDTypeCount = static_cast<int>(DType::kUInt2) + 1;

// Lower-case name as users write it: "float32", "bfloat16", "int8"...
std::string_view dtype_name(DType dtype);
// The dtype of that name (also the short forms fp32, fp16, bf16, fp8...), or kUnknown.
DType dtype_from_name(std::string_view name);
// Bits of one element; 4 for int4, 2 for int2. Strings count as 64 (a pointer), unknown as 32.
int dtype_bits(DType dtype);
bool is_floating(DType dtype);
bool is_integer(DType dtype);  // signed and unsigned, without bool

// The dtype whose arithmetic units are used where hardware has none for `dtype`: the next wider of
// its kind (fp8 -> fp16 -> fp32 -> fp64, tf32 -> fp32, int4 -> int8 -> ... -> fp32). Itself when
// there is none.
DType wider_stand_in(DType dtype);

// Bytes that `elements` elements occupy, sub-byte types packed and rounded up.
Count dtype_bytes(DType dtype, Count elements);

}  // namespace dfsim::inline base
