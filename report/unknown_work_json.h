// The part of every --json that says whether the work of the whole model is known.
#pragma once

#include "base/json/json_tree.h"
#include "study/chain/unknown_work.h"

namespace dfsim::inline report {

// Null for complete models; else {"ops": 271, "of": 612, "first": {"name", "op_type", "reason"}},
// where no operator but the number of a loop's trips is unknown with "ops": 0.
inline JsonTree unknown_work_json(const UnknownWork& unknown) {
  if (unknown.complete()) {
    return nullptr;
  }
  return {{"ops", unknown.ops},
          {"of", unknown.of},
          {"first",
           {{"name", unknown.first.name},
            {"op_type", unknown.first.op_type},
            {"reason", unknown.first.reason}}}};
}

}  // namespace dfsim::inline report
