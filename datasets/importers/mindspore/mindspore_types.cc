// Three parts: MindSpore's order of types, what each kind of operator can have as operands, and the
// vote on the shift that makes a whole run possible.
#include "datasets/importers/mindspore/mindspore_types.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

constexpr int kMaxShift = 4;

// kNumberTypeBegin and what follows. INT, UINT and FLOAT are types without a width: no tensor has
// them, but versions without a shift write them for 32 bits.
constexpr std::array<std::string_view, kTypeEnd + 1> kOrder = {
    "begin",  "bool",   "int",    "int8",  "int16",   "int32",   "int64",   "uint", "uint8",
    "uint16", "uint32", "uint64", "float", "float16", "float32", "float64", "end"};
constexpr std::array<DType, kTypeEnd + 1> kTypes = {
    DType::kUnknown, DType::kBool,   DType::kInt32,   DType::kInt8,    DType::kInt16,
    DType::kInt32,   DType::kInt64,  DType::kUInt32,  DType::kUInt8,   DType::kUInt16,
    DType::kUInt32,  DType::kUInt64, DType::kFloat32, DType::kFloat16, DType::kFloat32,
    DType::kFloat64, DType::kUnknown};

// Types that an operand may have.
using Allowed = std::initializer_list<DType>;
constexpr Allowed kFloats = {DType::kFloat16, DType::kFloat32, DType::kBFloat16};
constexpr Allowed kFactors = {DType::kFloat16, DType::kFloat32, DType::kBFloat16, DType::kInt8,
                              DType::kUInt8};
constexpr Allowed kBools = {DType::kBool};
constexpr Allowed kIndices = {DType::kInt32, DType::kInt64};

bool is_one_of(DType type, Allowed allowed) {
  return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
}

// Operand `i` of `places` cannot be, if it is there.
bool breaks(const std::vector<int>& places, size_t i, int shift, Allowed allowed) {
  if (i >= places.size() || places[i] < 0) {
    return false;
  }
  const DType type = mindspore_type_at(places[i], shift);
  // UNKNOWN says nothing unless the shift gives it a meaning.
  return type == DType::kUnknown ? places[i] != kTypeUnknown : !is_one_of(type, allowed);
}

// BEGIN, END and types without a width belong to no tensor.
bool has_no_tensor(const std::vector<int>& places, int shift) {
  return std::any_of(places.begin(), places.end(), [shift](int place) {
    return place >= 0 && place != kTypeUnknown &&
           mindspore_type_at(place, shift) == DType::kUnknown;
  });
}

bool starts_with_any(std::string_view type, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [type](std::string_view beginning) { return type.starts_with(beginning); });
}

bool is_impossible(const TypedOp& op, const std::string& type, int shift) {
  const auto& in = op.places.inputs;
  const auto& out = op.places.outputs;
  if (has_no_tensor(in, shift) || has_no_tensor(out, shift)) {
    return true;
  }
  if (op.op_class == OpClass::kConv || op.op_class == OpClass::kMatMul) {
    const bool too_fast = op.beats_float32 && !in.empty() && in[0] >= 0 &&
                          mindspore_type_at(in[0], shift) == DType::kFloat32;
    return too_fast || breaks(in, 0, shift, kFactors) || breaks(in, 1, shift, kFactors);
  }
  if (op.op_class == OpClass::kNorm || op.op_class == OpClass::kSoftmax ||
      op.op_class == OpClass::kOptimizer || op.op_class == OpClass::kPool) {
    return breaks(in, 0, shift, kFloats);
  }
  if (starts_with_any(type, {"logical"})) {
    return breaks(in, 0, shift, kBools) || breaks(out, 0, shift, kBools);
  }
  if (starts_with_any(type, {"equal", "notequal", "greater", "less", "isfinite"})) {
    return breaks(out, 0, shift, kBools);
  }
  if (starts_with_any(type, {"relu", "gelu", "fastgelu", "sigmoid", "tanh", "swish", "hswish",
                             "exp", "log", "sqrt", "rsqrt", "dropoutdomask"})) {
    return breaks(in, 0, shift, kFloats);
  }
  return starts_with_any(type, {"gather", "embeddinglookup"}) && breaks(in, 1, shift, kIndices);
}

}  // namespace

int mindspore_type_place(std::string_view name) {
  std::string lower = to_lower(name);
  for (const std::string_view prefix : {"number_type_", "knumbertype", "number_type"}) {
    if (lower.starts_with(prefix)) {
      lower.erase(0, prefix.size());
      break;
    }
  }
  if (lower == "unknown") {
    return kTypeUnknown;
  }
  const auto* const it = std::find(kOrder.begin(), kOrder.end(), lower);
  return it == kOrder.end() ? -1 : static_cast<int>(it - kOrder.begin());
}

DType mindspore_type_at(int place, int shift) {
  const int actual = place - shift;
  if (place == kTypeUnknown) {
    // All numbers behind the table read alike. Only a shift that leaves one type there tells which;
    // with 3 these are float32 and float64, which Ascend's kernels do not compute in.
    return shift == 3 ? DType::kFloat32 : shift == 2 ? DType::kFloat64 : DType::kUnknown;
  }
  if (place < 0 || actual < 0) {
    return DType::kUnknown;
  }
  if (shift < 0 && actual == kTypeEnd) {
    return DType::kBFloat16;  // later versions have it behind float64
  }
  if (actual > kTypeEnd) {
    return DType::kUnknown;
  }
  // Without a shift FLOAT is taken for float32; with one, a place that comes out as a type without
  // a width speaks against that shift.
  const bool without_width = kOrder[static_cast<size_t>(actual)] == "int" ||
                             kOrder[static_cast<size_t>(actual)] == "uint" ||
                             kOrder[static_cast<size_t>(actual)] == "float";
  return shift != 0 && without_width ? DType::kUnknown : kTypes[static_cast<size_t>(actual)];
}

TypeShift find_type_shift(std::span<const TypedOp> ops) {
  std::array<size_t, 2 * kMaxShift + 1> impossible{};
  const auto place_of = [](int shift) { return static_cast<size_t>(shift) + kMaxShift; };
  for (const TypedOp& op : ops) {
    const std::string type = to_lower(op.type);
    for (int shift = -kMaxShift; shift <= kMaxShift; ++shift) {
      impossible[place_of(shift)] += is_impossible(op, type, shift) ? 1 : 0;
    }
  }
  TypeShift found;
  found.impossible = impossible[kMaxShift];
  found.unexplained = found.impossible;
  // Small shifts first: of several that explain as much the smallest is the most likely.
  for (const int shift : {-1, 1, -2, 2, -3, 3, -4, 4}) {
    const size_t left = impossible[place_of(shift)];
    if (left < found.unexplained && left * 5 <= found.impossible) {
      found.shift = shift;
      found.unexplained = left;
    }
  }
  return found;
}

}  // namespace dfsim::inline datasets
