// Gives symbolic dimensions of a model's inputs their numbers.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/ir/import.h"

namespace dfsim::inline graphs {

// Order of precedence: --input-shape, --dim, --batch, the model's own default (metadata
// "dfsim.dim.NAME"), arithmetic on other symbols ("past + seq"), then an assumption by name, rank
// and element type (default_extents.h), which is reported as assumed. Afterwards every input has a
// static shape unless its rank is unknown. `*overridden` tells that a fixed extent was changed.
// `is_inner` (may be empty) tells of a name given by --dim that no input uses whether another
// tensor does; such names join the report, and the caller applies them. Errors (kInvalidInput): an
// unknown symbol or input name, an extent below 1 (0 for dims other than batch is allowed) or above
// 2^40, a rank mismatch.
Status bind_dims(GraphBuilder& builder, const ImportOptions& options, ImportReport* report,
                 bool* overridden,
                 const std::function<bool(const std::string& name)>& is_inner = {});

}  // namespace dfsim::inline graphs
