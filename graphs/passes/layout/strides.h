// Strides of PyTorch's tensors, which its views change without moving a byte. Internal to
// graphs/passes/layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// Extents and strides, in elements, of a tensor.
struct Layout {
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
};

Layout contiguous(std::vector<int64_t> extents);

// The same bytes with other extents, as PyTorch's view() finds them; none where it would copy.
std::optional<Layout> reshaped(const Layout& from, std::vector<int64_t> extents);

// With the axes in the order of the Transpose; none where its `perm` does not fit.
std::optional<Layout> transposed(const Layout& from, const Op& transpose);

// Attribute of a Transpose: it is a copy by definition, and never a view.
inline constexpr std::string_view kCopies = "copies";

// A product with more than one batch axis of several elements, which PyTorch reshapes to one.
bool merges_batches(const EditableGraph& graph, const Op& op);

}  // namespace dfsim::inline graphs
