// Views of partitionings: text and JSON.
#pragma once

#include <string>

#include "study/partitioning/partitioning.h"

namespace dfsim::inline report {

std::string partitioning_text(const Partitioning& partitioning);
// `drawing`, of the best plan, goes in as text, for reports; "" = none.
std::string partitioning_json(const Partitioning& partitioning, const std::string& drawing = "");

}  // namespace dfsim::inline report
