// Views of advice: text and JSON.
#pragma once

#include <string>

#include "base/json/json_tree.h"
#include "study/analysis/advice_list.h"

namespace dfsim::inline report {

// Lines "  insight       ...", values in column `indent`; "" when it was not asked for.
std::string advice_text(const AdviceList& advice, size_t indent);
// Null when it was not asked for.
JsonTree advice_json(const AdviceList& advice);

}  // namespace dfsim::inline report
