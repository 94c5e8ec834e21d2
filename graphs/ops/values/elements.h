// Elements of constants: what the rules that compute values (fold_*.h) share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graphs/ops/infer_context.h"

namespace dfsim::inline graphs {

using Extents = std::vector<int64_t>;

// Whether dfsim computes with elements of that type: floats of 16 to 64 bits, integers of 8 to 64
// bits and booleans.
bool has_arithmetic(DType dtype);

// The element of `dtype` nearest to `value`, as arithmetic in that type would give it: ties go to
// even, what is too large becomes infinite. Floating types only.
double round_to(DType dtype, double value);
// The element of `dtype` with the low bits of `value` (two's complement); a bool becomes 0 or 1.
int64_t wrap_to(DType dtype, int64_t value);

// The number without its fraction: the nearest whole number that fits for one beyond, 0 for NaN.
int64_t to_whole(double value);

// An empty constant of that type and shape; append_* fill it in row-major order.
ConstValue empty_value(DType dtype, Extents extents);
// Appends `value`, rounded to the constant's type; integer types truncate it. False: it is out of
// the integer's range, and a run may give anything.
bool append_double(ConstValue* out, double value);
// Appends `value`, with the low bits that the type has.
void append_int(ConstValue* out, int64_t value);
// Appends element `i` of a constant of the same type, or 0 when `i` is negative.
void append_element_of(const ConstValue& from, int64_t i, ConstValue* out);

// The product of extents; more than kMaxConstElements counts as one more than that.
int64_t small_product(std::span<const int64_t> extents);
// The output's extents when they are known and small enough to hold a value.
std::optional<Extents> small_extents(const InferContext& context, size_t output);

// Row-major strides of static extents.
Extents row_major_strides(const Extents& extents);
// base + sum of index * stride for every index of `extents`, in row-major order.
std::vector<int64_t> strided_positions(const Extents& extents, const Extents& strides,
                                       int64_t base);
// For each position of `extents` in row-major order, the position in an operand that broadcasts.
std::vector<int64_t> broadcast_positions(const Extents& operand, const Extents& extents);

// Steps through all indices of `extents` in row-major order.
class IndexCounter {
 public:
  explicit IndexCounter(const Extents& extents) : extents_(extents), index_(extents.size(), 0) {}
  const Extents& index() const { return index_; }
  int64_t operator[](size_t axis) const { return index_[axis]; }
  void next();

 private:
  const Extents& extents_;
  Extents index_;
};

// in0[source] for each of `sources`; a negative source is 0. No value when one is out of range.
void fold_by_index(InferContext& context, size_t output, const Extents& extents,
                   const std::vector<int64_t>& sources);

}  // namespace dfsim::inline graphs
