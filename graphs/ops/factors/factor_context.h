// FactorContext: one op of a finished graph as a factor rule sees it, and the map it fills.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/ops/factors/factor_map.h"

namespace dfsim::inline graphs {

class FactorContext {
 public:
  FactorContext(const Graph& graph, const Op& op);

  const Op& op() const { return op_; }
  const Attributes& attributes() const { return op_.attributes; }
  size_t input_count() const { return op_.inputs.size(); }
  size_t output_count() const { return op_.outputs.size(); }
  bool has_input(size_t i) const { return i < input_count() && op_.inputs[i].valid(); }
  bool has_output(size_t i) const { return i < output_count() && op_.outputs[i].valid(); }
  // Unknown rank for a missing operand; static for those that are there.
  const Shape& input(size_t i) const;
  const Shape& output(size_t i) const;
  // Extent of a dimension. Where there is none: 1, and the op has no factors after all. Rules may
  // therefore rely on ranks that shape inference does not check.
  int64_t in_extent(size_t i, int dim) const { return extent(input(i), dim); }
  int64_t out_extent(size_t i, int dim) const { return extent(output(i), dim); }
  // A list that is an attribute or a constant input; nullopt when it is neither or not known.
  // `*absent` tells that it is not there at all.
  std::optional<std::vector<int64_t>> ints_from(std::string_view attribute, size_t input,
                                                bool* absent) const;
  // Counted from the front; -1 for an axis outside the rank.
  static int axis(int64_t axis, int rank) {
    return axis < -rank || axis >= rank ? -1 : static_cast<int>(axis < 0 ? axis + rank : axis);
  }
  // Entry `axis` of a list by axis. An axis outside makes the op one without factors.
  void flag(std::vector<bool>& flags, int axis, bool value) const;
  int at(const std::vector<int>& factors, int axis) const;

  // A new factor, or FactorDim::kWhole when there is nothing to split (extent below 2).
  int add(std::string label, int64_t extent, Reduction reduction = Reduction::kNone);
  // The dimension carries the factor. Nothing happens for kWhole or a missing operand.
  void carry_in(size_t input, int dim, int factor, int64_t block = 1);
  void carry_out(size_t output, int dim, int factor, int64_t block = 1);
  // `input` is broadcast against axes that have these factors: it carries those of the axes where
  // its extent is the whole one. `last` is the axis that its last dimension belongs to.
  void carry_broadcast(size_t input, const std::vector<int>& factors, int last);
  FactorMap& map() { return map_; }

  // No factor at all, for this reason.
  void set_unsplittable(std::string reason) { map_.unsplittable = std::move(reason); }
  FactorMap finish();

 private:
  int64_t extent(const Shape& shape, int dim) const;
  void carry(std::vector<FactorDim>& dims, const Shape& shape, int dim, int factor, int64_t block);

  const Graph& graph_;
  const Op& op_;
  FactorMap map_;
  mutable bool fits_ = true;  // what the rule asked for is there
};

// One factor per axis of input 0, but for those marked whole; carried by every output of that rank
// where its extent is the same. Returns the factors by axis.
std::vector<int> add_axis_factors(FactorContext& context, const std::vector<bool>& whole);

}  // namespace dfsim::inline graphs
