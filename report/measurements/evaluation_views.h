// Views of evaluated cost models: text, JSON and CSV.
#pragma once

#include <string>
#include <string_view>

#include "study/training/evaluate.h"

namespace dfsim::inline report {

// The table of whole networks is left out when it is empty, unless `always_networks`.
std::string evaluation_text(const Evaluation& evaluation, bool always_networks);
// `model` is its name.
std::string evaluation_json(const Evaluation& evaluation, std::string_view model);
// A row per measured operator, with its predicted time.
std::string evaluated_rows_csv(const Evaluation& evaluation);

}  // namespace dfsim::inline report
