// FactorMap: how an operator may be split over devices.
//
// A factor is one dimension of an op's iteration space, as a letter of an einsum is. Splitting it p
// ways splits every operand dimension that carries it into p equal runs, and the op at shard shapes
// is an ordinary op that costs what its definition says. What happens to the results tells the
// kind:
//   parallel    every output carries the factor: shards of the results, nothing to exchange
//   contracted  some output does not: each device has a part of it, to be joined by `reduction`
//   halo        windows slide along it: neighbours first exchange the edges of an input
// A dimension without a factor must be whole on each device (the axis of a softmax). An op without
// any factor is unsplittable: every device runs all of it, and `unsplittable` says why.
// Paper: the factors of Shardy and GSPMD (Xu et al. 2021, arXiv:2105.04663), einsum-like per op.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

enum class Reduction : uint8_t { kNone, kSum, kMean, kMax, kMin, kProd };
inline constexpr int kReductionCount = 6;
std::string_view reduction_name(Reduction reduction);

enum class FactorKind : uint8_t { kParallel, kContracted, kHalo };
std::string_view factor_kind_name(FactorKind kind);

// What stands beyond the first and last element of an axis: padding of sums or of maxima.
enum class HaloFill : uint8_t { kZero, kLowest };

struct Factor {
  std::string label;  // for people: "batch", "k", "dim2"
  int64_t extent = 0;
  Reduction reduction = Reduction::kNone;  // of the outputs that do not carry it
  int halo = -1;                           // index into FactorMap::halos
};

// Which factor a dimension carries: its extent is the factor's times `block`. A block above 1 is
// what lies inside one step of the factor (the size of a head in a dimension of heads x size).
struct FactorDim {
  static constexpr int kWhole = -1;
  int factor = kWhole;
  int64_t block = 1;

  bool operator==(const FactorDim&) const = default;
};

// Whether some dimension carries the factor.
bool carries(const std::vector<FactorDim>& dims, int factor);

// An input whose shards need `before` elements of the shard before and `after` of the one behind
// them; at the ends there is `fill` instead. The op then runs without padding on that axis.
struct Halo {
  size_t input = 0;
  int dim = 0;
  int spatial = 0;  // position of the axis in `pads`
  int64_t before = 0;
  int64_t after = 0;
  HaloFill fill = HaloFill::kZero;
};

struct FactorMap {
  std::vector<Factor> factors;
  // By operand and dimension; empty for operands that are left out.
  std::vector<std::vector<FactorDim>> inputs;
  std::vector<std::vector<FactorDim>> outputs;
  std::vector<bool> has_output;  // by output: somebody asked for it
  // Inputs that are added to the result (a bias): while a contracted factor is split, only the
  // first device of each group may add them.
  std::vector<size_t> addends;
  std::vector<Halo> halos;
  std::vector<int64_t> pads;  // explicit padding of all window axes, begins first
  // Counts written in attributes that are divided as the factor is (groups, heads).
  std::vector<std::pair<std::string, int>> divided_attributes;
  // A constant input, or an attribute, that holds the extents of output 0.
  int shape_input = -1;
  std::string shape_attribute;
  std::string unsplittable;  // the reason when there are no factors

  FactorKind kind(int factor) const;
  // Whether the factor can be split into `ways` equal shards, each at least as long as its halos.
  bool can_split(int factor, int64_t ways) const;
};

}  // namespace dfsim::inline graphs
