// Views of two recorded runs next to each other: text and JSON.
#pragma once

#include <string>
#include <string_view>

#include "study/analysis/trace_diff.h"

namespace dfsim::inline report {

inline constexpr std::string_view kDiffSchema = "dfsim.diff/1";

std::string diff_text(const TraceDiff& diff, size_t top);
std::string diff_json(const TraceDiff& diff);

}  // namespace dfsim::inline report
