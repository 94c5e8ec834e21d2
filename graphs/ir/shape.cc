#include "graphs/ir/shape.h"

#include <algorithm>

#include "base/text.h"

namespace dfsim::inline graphs {

Shape Shape::of(const std::vector<int64_t>& extents) {
  return Shape(Dims(extents.begin(), extents.end()));
}

bool Shape::is_static() const {
  return has_rank_ && std::all_of(dims_.begin(), dims_.end(), [](Dim dim) { return dim.known(); });
}

Count Shape::elements() const {
  // A zero anywhere makes the tensor empty, however large the other extents claim to be.
  if (std::any_of(dims_.begin(), dims_.end(), [](Dim dim) { return dim == Dim(0); })) {
    return Count(0);
  }
  Count product(1);
  for (const Dim dim : dims_) {
    product *= Count(dim.extent());
  }
  return product;
}

std::vector<int64_t> Shape::extents() const {
  std::vector<int64_t> extents;
  extents.reserve(dims_.size());
  for (const Dim dim : dims_) {
    extents.push_back(dim.extent());
  }
  return extents;
}

std::string format_shape(const Shape& shape, const std::vector<std::string>* symbols) {
  if (!shape.has_rank()) {
    return "?";
  }
  if (shape.rank() == 0) {
    return "scalar";
  }
  std::vector<std::string> parts;
  for (const Dim dim : shape.dims()) {
    if (dim.known()) {
      parts.push_back(std::to_string(dim.extent()));
    } else if (dim.is_symbol() && symbols != nullptr && dim.symbol_index() < symbols->size()) {
      parts.push_back((*symbols)[dim.symbol_index()]);
    } else {
      parts.emplace_back("?");
    }
  }
  return join(parts, "x");
}

}  // namespace dfsim::inline graphs
