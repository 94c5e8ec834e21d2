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

// --allow-oversubscription.
OptionSpec allow_oversubscription_option(bool* allow);

// Error (kFailed) for a model that does not fit, unless that is allowed. `missing` says how much
// memory it lacks ("" when it fits), `remedy` what to do.
Status check_fits(const std::string& model, const std::string& missing, const std::string& remedy,
                  bool allow);

// As check_complete() for a saved result; `reason` says in words why it is not complete.
Status incomplete_error(const std::string& place, const std::string& reason);

}  // namespace dfsim::cli
