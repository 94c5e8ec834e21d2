// Views of inspections: text and JSON.
#pragma once

#include <string>

#include "study/inspection/inspect.h"

namespace dfsim::inline report {

struct InspectionView {
  bool ops = false;         // a line per operator
  bool unresolved = false;  // only operators that could not be resolved, all of them
};

std::string inspection_text(const Inspection& inspection, const InspectionView& view,
                            size_t width = 100);
// Schema: docs/commands/inspect.md. Holds everything.
std::string inspection_json(const Inspection& inspection);

}  // namespace dfsim::inline report
