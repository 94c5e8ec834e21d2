// What `dfsim inspect` says about a model: facts of the graph that need no hardware.
#pragma once

#include <string>

#include "graphs/ir/import.h"
#include "graphs/ops/totals.h"

namespace dfsim {

struct InspectOptions {
  bool ops = false;         // a line per op
  bool unresolved = false;  // only ops that could not be resolved, all of them
};

std::string inspection_text(const std::string& name, const ImportedModel& model,
                            const GraphTotals& totals, const InspectOptions& options,
                            size_t width = 100);
// Schema: docs/commands/inspect.md. Holds everything whatever the options.
std::string inspection_json(const std::string& name, const ImportedModel& model,
                            const GraphTotals& totals);

}  // namespace dfsim
