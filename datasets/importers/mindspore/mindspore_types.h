// Element types as MindSpore's profiler writes them, and how its mistakes are recognised.
//
// The profiler turns a number of MindSpore's enumeration (kNumberTypeBool, kNumberTypeInt, ...)
// into a name with a table of its own. Where MindSpore put new entries in front and the profiler's
// table did not follow, every name is that of a neighbour. With a table that starts one too late a
// LogicalNot reads NUMBER_TYPE_BEGIN and a float16 product FLOAT, faster than float32 can be; with
// one that starts three too early float16 is NUMBER_TYPE_END, float32 UNKNOWN and int32 UINT8.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// The place of a name in MindSpore's order: 0 = BEGIN, 1 = BOOL, ... kTypeEnd = END,
// kTypeUnknown = UNKNOWN, which is what the profiler writes for a number behind its table. -1 for
// names outside that order (DT_FLOAT16, a custom type), which no table can have shifted.
inline constexpr int kTypeEnd = 16;
inline constexpr int kTypeUnknown = 17;
int mindspore_type_place(std::string_view name);

// Places of an operator's operands, in the order of its tensors.
struct TypePlaces {
  std::vector<int> inputs;
  std::vector<int> outputs;
};

// The type at `place` of a table that is `shift` off: name's place = type's place + shift. kUnknown
// where it is none (BEGIN, END) or nothing says which.
DType mindspore_type_at(int place, int shift);

// Facts about one operator, from which the shift is found.
struct TypedOp {
  std::string_view type;  // of MindSpore: "LogicalNot"
  OpClass op_class = OpClass::kOpaque;
  TypePlaces places;
  // A product whose time is shorter than any float32 unit allows: none of its inputs is float32.
  bool beats_float32 = false;
};

struct TypeShift {
  int shift = 0;           // 0 = the names are right, or nothing explains them better
  size_t impossible = 0;   // operators whose types cannot be right as they are written
  size_t unexplained = 0;  // those that the shift leaves impossible
};
// The shift of -4 to 4 that leaves the fewest operators impossible; a shift other than 0 must
// explain four of five of them. O(operators).
TypeShift find_type_shift(std::span<const TypedOp> ops);

}  // namespace dfsim::inline datasets
