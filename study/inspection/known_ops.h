// The use case of `dfsim ops`: which operators dfsim knows, and how it counts their work.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace dfsim::inline study {

struct KnownOp {
  std::string domain;  // "ai.onnx" for ONNX's own
  std::string op_type;
  std::string op_class;
  std::string work;            // a formula in words: FLOPs, unless it says MACs
  std::vector<int> opsets;     // versions of the domain's operator set; empty = not versioned
  std::string opsets_as_text;  // "1,6,13"
};

// Operators of these names in any domain, case ignored; all without names. By domain and name.
// Errors: kNotFound for an unknown name, with the nearest ones. O(operators).
StatusOr<std::vector<KnownOp>> known_ops(const std::vector<std::string>& names);

}  // namespace dfsim::inline study
