// Tensor shapes whose dimensions are numbers or named symbols.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace dfsim::inline graphs {

// Bounds on what a tensor may claim, far above any real one. Importers and shape inference refuse
// more, so that products of a few extents fit in 63 bits and shapes stay small.
inline constexpr int kMaxRank = 64;
inline constexpr int64_t kMaxExtent = int64_t{1} << 40;

// One dimension: a non-negative extent, or a symbol (index into the graph's symbol table), or
// unknown. Eight bytes, so that shapes are plain arrays.
class Dim {
 public:
  constexpr Dim() = default;                     // unknown
  constexpr Dim(int64_t extent) : v_(extent) {}  // NOLINT: extents are written as numbers
  static constexpr Dim symbol(uint32_t index) { return Dim(kFirstSymbol - int64_t{index}); }
  static constexpr Dim unknown() { return Dim(); }

  constexpr bool known() const { return v_ >= 0; }
  constexpr bool is_symbol() const { return v_ <= kFirstSymbol; }
  // The extent; only for known dimensions.
  constexpr int64_t extent() const { return v_; }
  constexpr uint32_t symbol_index() const { return static_cast<uint32_t>(kFirstSymbol - v_); }

  friend constexpr bool operator==(Dim a, Dim b) = default;

 private:
  static constexpr int64_t kUnknown = -1;
  static constexpr int64_t kFirstSymbol = -2;
  int64_t v_ = kUnknown;
};

using Dims = std::vector<Dim>;

// A shape of known or unknown rank.
class Shape {
 public:
  Shape() = default;                                             // unknown rank
  Shape(Dims dims) : dims_(std::move(dims)), has_rank_(true) {}  // NOLINT
  Shape(std::initializer_list<Dim> dims) : dims_(dims), has_rank_(true) {}
  static Shape scalar() { return Shape(Dims{}); }
  static Shape of(const std::vector<int64_t>& extents);

  bool has_rank() const { return has_rank_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  const Dims& dims() const { return dims_; }
  Dim operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  // Rank and every extent are known.
  bool is_static() const;
  // Product of extents; 1 for a scalar. Only for static shapes; may be overflowed().
  Count elements() const;
  // Extents of a static shape.
  std::vector<int64_t> extents() const;

  friend bool operator==(const Shape& a, const Shape& b) = default;

 private:
  Dims dims_;
  bool has_rank_ = false;
};

// "1x3x224x224", "scalar", "?" for unknown rank; symbols by name when `symbols` is given.
std::string format_shape(const Shape& shape, const std::vector<std::string>* symbols = nullptr);

}  // namespace dfsim::inline graphs
