// Factor rule of mixtures of experts: rows, and the width of each expert. The experts themselves
// are whole: an operator with some of them would have to say which of the router's columns they
// are.
#include <algorithm>
#include <numeric>
#include <vector>

#include "graphs/ops/factors/factor_rules.h"

namespace dfsim::inline graphs {
namespace {

// Where the operands of MoE and QMoE lie: input, router, then three matrices, each with its scales
// (QMoE) and its bias, then the matrices' zero points (QMoE).
class ExpertOperands {
 public:
  explicit ExpertOperands(const FactorContext& context)
      : context_(context), packed_(context.op().op_type == "QMoE") {
    const int rank = context.input(0).rank();
    hidden_ = rank > 0 ? context.in_extent(0, rank - 1) : 0;
  }

  // The matrices of the experts are 0: gate, 1: down, 2: up. The down matrix contracts the width of
  // an expert, the others make it.
  size_t matrix(size_t which) const { return 2 + which * (packed_ ? 3 : 2); }
  size_t down_bias() const { return matrix(1) + (packed_ ? 2 : 1); }

  struct Place {
    size_t input;
    int dim;
  };

  // Dimensions that belong to the width of an expert.
  std::vector<Place> inner() const {
    std::vector<Place> places;
    for (size_t which = 0; which < 3; ++which) {
      const bool down = which == 1;
      const size_t input = matrix(which);
      if (!context_.has_input(input)) {
        continue;
      }
      const int stored = packed_ ? (down ? 2 : 1) : context_.in_extent(input, 1) == hidden_ ? 2 : 1;
      add(input, 3, stored, &places);
      if (packed_) {  // scales and zero points by rows and blocks of a row
        for (const size_t other : {input + 1, kZeroPoints + which}) {
          add(other, down ? 3 : 2, down ? 2 : 1, &places);
        }
      }
      if (!down) {
        add(input + (packed_ ? 2 : 1), 2, 1, &places);
      }
    }
    return places;
  }

 private:
  static constexpr size_t kZeroPoints = 11;

  void add(size_t input, int least_rank, int dim, std::vector<Place>* places) const {
    if (context_.has_input(input) && context_.input(input).rank() >= least_rank &&
        context_.in_extent(input, dim) > 1) {
      places->push_back({input, dim});
    }
  }

  const FactorContext& context_;
  bool packed_;
  int64_t hidden_ = 0;
};

// The router has one row for each row of the input, in order, so of the leading axes only the first
// one that is not 1 is a dimension of both.
void add_rows(FactorContext& context) {
  const int rank = context.input(0).rank();
  int first = 0;
  while (first + 1 < rank && context.in_extent(0, first) == 1) {
    ++first;
  }
  if (first + 1 >= rank) {
    return;
  }
  int64_t inside = 1;
  for (int axis = first + 1; axis + 1 < rank; ++axis) {
    inside *= context.in_extent(0, axis);
  }
  const int rows = context.add("rows", context.in_extent(0, first));
  context.carry_in(0, first, rows);
  context.carry_in(1, 0, rows, inside);
  context.carry_out(0, first, rows);
}

// Each device has some of the columns of each expert's first matrices and the rows of its last one
// that they meet.
void add_inner(FactorContext& context) {
  const ExpertOperands operands(context);
  const std::vector<ExpertOperands::Place> places = operands.inner();
  int64_t extent = 0;  // packed and in blocks, the same width has different extents
  for (const auto& [input, dim] : places) {
    extent = std::gcd(extent, context.in_extent(input, dim));
  }
  const int inner = context.add("inner", extent, Reduction::kSum);
  for (const auto& [input, dim] : places) {
    context.carry_in(input, dim, inner,
                     context.in_extent(input, dim) / std::max<int64_t>(1, extent));
  }
  if (context.has_input(operands.down_bias())) {
    context.map().addends.push_back(operands.down_bias());
  }
}

}  // namespace

void factors_experts(FactorContext& context) {
  if (context.input(0).rank() < 2 || context.input(1).rank() != 2 || !context.has_input(2)) {
    return;
  }
  add_rows(context);
  add_inner(context);
}

}  // namespace dfsim::inline graphs
