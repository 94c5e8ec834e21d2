// The tables of the operator families. A family file includes this header and defines its function;
// op_families.inc has one line per family.
#pragma once

#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {

struct OpFamily {
  std::span<const OpDef> ops;
  std::span<const WorkNote> notes = {};  // on the family's own rules
};

#define DFSIM_OP_FAMILY(family) OpFamily family##_op_defs();
#include "graphs/ops/op_families.inc"
#undef DFSIM_OP_FAMILY

}  // namespace dfsim::inline graphs
