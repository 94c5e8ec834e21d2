// Numbers of TripletRun's files, which are written as texts ("1000") or as numbers.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "base/json/json_event.h"
#include "base/status.h"
#include "base/text.h"
#include "graphs/taskgraph/assembler.h"

namespace dfsim::inline graphs::taskgraph {

inline constexpr double kBytesPerKb = 1024;

// Error (kInvalidInput, without place): no finite number.
inline StatusOr<double> triplet_number(const JsonEvent& event) {
  double value = event.number;
  if (event.kind == JsonEvent::Kind::kString) {
    value = parse_number(event.text).value_or(std::nan(""));
  } else if (event.kind != JsonEvent::Kind::kNumber) {
    value = std::nan("");
  }
  return std::isfinite(value)
             ? StatusOr<double>(value)
             : invalid_input(fmt::format("'{}' is {}, expected a number", printable(event.path),
                                         event.kind == JsonEvent::Kind::kString
                                             ? fmt::format("'{}'", printable(event.text))
                                             : std::string(json_kind_name(event.kind))));
}

// Error: no whole number from 0 to 10^9.
inline StatusOr<int64_t> triplet_id(const JsonEvent& event) {
  constexpr double kMostIds = 1e9;
  DFSIM_ASSIGN_OR_RETURN(const double value, triplet_number(event));
  if (value != std::floor(value) || value < 0 || value > kMostIds) {
    return invalid_input(fmt::format("'{}' is {}, expected a whole number from 0 to 1e9",
                                     printable(event.path), value));
  }
  return static_cast<int64_t>(value);
}

}  // namespace dfsim::inline graphs::taskgraph
