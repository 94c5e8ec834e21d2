// Text and JSON of `dfsim ops`.
#pragma once

#include <string>
#include <vector>

#include "base/json/json_tree.h"
#include "study/inspection/known_ops.h"

namespace dfsim::inline report {

// A table for each domain; the lines follow the terminal's width.
std::string known_ops_text(const std::vector<KnownOp>& ops);
JsonTree known_ops_json(const std::vector<KnownOp>& ops);  // schema dfsim.ops/1

}  // namespace dfsim::inline report
