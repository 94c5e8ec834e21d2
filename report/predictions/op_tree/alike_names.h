// Names that differ in one number: "layer.0", "layer.1", …, as "layer.{0..11}".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dfsim::inline report {

struct NamedKind {
  std::string_view name;
  size_t kind = 0;  // only names of one kind may be one
};

// Positions of names of one kind that differ in no more than one number, which is at the same place
// in all of them. Groups are in the order of their first members, members in the order given.
// O(text log names).
std::vector<std::vector<size_t>> alike_names(const std::vector<NamedKind>& names);

// One name for a group of alike_names(): "h.{0..3,5}/Add"; the name itself for a group of one.
std::string alike_label(const std::vector<std::string_view>& group);

}  // namespace dfsim::inline report
