// Views of partitionings: text and JSON.
#pragma once

#include <string>

#include "study/partitioning/partitioning.h"

namespace dfsim::inline report {

// "no plan fits: 'dp 2' needs 58.5 GB per device, which has 42.9 GB"; "" when one does, or when no
// plan worked.
std::string missing_memory(const Partitioning& partitioning);

std::string partitioning_text(const Partitioning& partitioning);
// `drawing`, of the best plan, goes in as text, for reports; "" = none.
std::string partitioning_json(const Partitioning& partitioning, const std::string& drawing = "");

}  // namespace dfsim::inline report
