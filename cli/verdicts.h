// Verdicts: a command may fail although it has a result. It prints the result, which says why in
// its first line, and the exit code is 1 unless an option accepts it.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/option_table.h"
#include "study/chain/unknown_work.h"

namespace dfsim::cli {

// --allow-incomplete.
OptionSpec allow_incomplete_option(bool* allow);

// Error (kFailed) for a model of which a part is not known, unless that is allowed.
Status check_complete(const std::string& model, const UnknownWork& unknown, bool allow);

// The same for a saved result; `reason` says in words why it is not complete.
Status incomplete_error(const std::string& place, const std::string& reason);

}  // namespace dfsim::cli
