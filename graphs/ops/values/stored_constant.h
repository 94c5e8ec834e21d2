// Constants as files store them: what importers of every format share.
#pragma once

#include <cstdint>
#include <string_view>

#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

// Values of floating constants beyond so many elements are not kept; integers may be shapes.
inline constexpr int64_t kMaxFloatConstElements = 64;

// Whether a constant of that type and so many elements is small enough to keep its value.
bool keeps_value(DType dtype, Count elements);

// IEEE binary16 bits, and bfloat16 bits.
double half_to_double(uint16_t bits);
double bfloat_to_double(uint16_t bits);

// Appends `count` little-endian elements of value->dtype. False: the size is another, or the type
// has no bytes of its own.
bool append_raw(std::string_view bytes, size_t count, ConstValue* value);

// Shape vectors, indices and scalars are part of the program; everything else was trained. The
// elements must not have overflowed.
TensorRole role_of_stored(DType dtype, const Shape& shape, bool has_value);

}  // namespace dfsim::inline graphs
