// Operator attributes and small constant values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "graphs/ir/shape.h"

namespace dfsim::inline graphs {

class Graph;

// A constant tensor small enough to be looked at during shape inference. Integers and booleans are
// in `ints`, floating-point values in `floats`; the other vector is empty. Row-major order.
// Invariant: the filled vector has exactly elements(extents) entries.
struct ConstValue {
  DType dtype = DType::kUnknown;
  std::vector<int64_t> extents;
  std::vector<int64_t> ints;
  std::vector<double> floats;

  size_t size() const { return is_floating(dtype) ? floats.size() : ints.size(); }
  // The element as an integer (floats truncated, saturating, NaN as 0) or as a double.
  int64_t as_int(size_t i) const;
  double as_double(size_t i) const {
    return is_floating(dtype) ? floats[i] : static_cast<double>(ints[i]);
  }
};

// Constants above this many elements are never copied into the IR: only their shape is kept.
inline constexpr int64_t kMaxConstElements = 4096;

using AttrValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, ConstValue, std::shared_ptr<const Graph>>;

// A few named values in the order of the file; linear search, as ops have few attributes.
class Attributes {
 public:
  // Adds or replaces.
  void set(std::string name, AttrValue value);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const AttrValue* find(std::string_view name) const;

  // Each returns nullptr or nullopt when the attribute is absent or of another type.
  std::optional<int64_t> get_int(std::string_view name) const;
  std::optional<double> get_float(std::string_view name) const;
  const std::string* get_string(std::string_view name) const;
  const std::vector<int64_t>* get_ints(std::string_view name) const;

  int64_t int_or(std::string_view name, int64_t fallback) const {
    return get_int(name).value_or(fallback);
  }
  std::string string_or(std::string_view name, std::string_view fallback) const;

  const std::vector<std::pair<std::string, AttrValue>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<std::string, AttrValue>> entries_;
};

}  // namespace dfsim::inline graphs
