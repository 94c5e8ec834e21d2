// OpGeometry: an operator in the few canonical numbers its cost depends on.
//
// Purpose: the same product of matrices is a Gemm, a MatMul or a Linear with transposed weights; a
//   model must see one thing. Features, bounds and the lookup of measured shapes all start here, so
//   an op of a graph and a row of a profile that are the same work get the same numbers.
// The family says how `dims` is read; `kind` is the part of the class that gets a model of its own
// where there are enough rows ("linear", "bmm", "dense", "Add").
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// The .inc says how each family reads `dims`.
enum class Family : uint8_t {
#define DFSIM_FEATURE_FAMILY(value, name) value,
#include "opmodel/features/feature_families.inc"
#undef DFSIM_FEATURE_FAMILY
};
inline constexpr int kFamilyCount = 0
#define DFSIM_FEATURE_FAMILY(value, name) +1
#include "opmodel/features/feature_families.inc"
#undef DFSIM_FEATURE_FAMILY
    ;
inline constexpr size_t kMaxGeometryDims = 12;

std::string_view family_name(Family family);
// The family of that name; false when there is none.
bool family_from_name(std::string_view name, Family* family);

struct OpGeometry {
  Family family = Family::kGeneric;
  std::string kind;
  std::array<double, kMaxGeometryDims> dims{};
  DType dtype = DType::kUnknown;         // of the arithmetic
  DType weight_dtype = DType::kUnknown;  // of the second operand, where it matters
  bool matrix = false;                   // may run on matrix units
  double flops = 0;
  // On a CPU: time of the arithmetic, in that of as many FLOPs of one large product.
  double cpu_effort = 1;
  double bytes = 0;
  double bytes_in = 0;
  double bytes_out = 0;
  // Measured alone and again and again, as tables of kernels are made: what fits into the
  // last-level cache stays there. In a network other operators run in between.
  bool repeated = false;
  // Equal work, equal key: identifies a measured shape. Does not include the device.
  uint64_t key = 0;
};

// Total over any descriptor: ops whose shapes do not fit their class become kGeneric.
OpGeometry geometry_of(const OpDescriptor& op);

// Indices into dims, by family.
namespace dim {
enum Gemm : size_t { kB, kM, kN, kK, kBias };
enum Conv : size_t { kBatch, kC, kO, kH, kW, kOH, kOW, kKH, kKW, kStride, kGroup };
enum Attention : size_t { kAB, kHeads, kKvHeads, kQuery, kKeys, kSize, kCausal, kWindow };
enum Rows : size_t { kRowCount, kColumns, kOut, kIn };
enum Generic : size_t { kElementsIn, kElementsOut, kTensorsIn, kTensorsOut };
}  // namespace dim

}  // namespace dfsim::inline opmodel
