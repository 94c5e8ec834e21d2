#include "graphs/taskgraph/triplet_number.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/text.h"
#include "graphs/taskgraph/assembler.h"

namespace dfsim::inline graphs::taskgraph {

StatusOr<double> triplet_number(const JsonEvent& event) {
  const bool is_text = event.kind == JsonEvent::Kind::kString;
  double value = event.kind == JsonEvent::Kind::kNumber ? event.number : std::nan("");
  if (is_text) {
    value = parse_number(event.text).value_or(std::nan(""));
  }
  if (std::isfinite(value)) {
    return value;
  }
  const std::string found = is_text ? "'" + std::string(printable(event.text)) + "'"
                                    : std::string(json_kind_name(event.kind));
  return invalid_input(fmt::format("'{}' is {}, expected a number", printable(event.path), found));
}

StatusOr<int64_t> triplet_id(const JsonEvent& event) {
  constexpr double kMostIds = 1e9;
  DFSIM_ASSIGN_OR_RETURN(const double value, triplet_number(event));
  if (value != std::floor(value) || value < 0 || value > kMostIds) {
    return invalid_input(fmt::format("'{}' is {}, expected a whole number from 0 to 1e9",
                                     printable(event.path), value));
  }
  return static_cast<int64_t>(value);
}

}  // namespace dfsim::inline graphs::taskgraph
