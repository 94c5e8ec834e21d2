// Files of a sweep: its settings, and the prices of machines. YAML; docs/commands/sweep.md has
// both.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "study/sweep/sweep_options.h"

namespace dfsim::inline study {

// Adds what the file says to `options`: lists in front of those that are there, single settings
// where the options have their default. Errors: kNotFound; kInvalidInput, `file:line:column: ...`.
Status read_sweep_file(const std::string& path, SweepOptions* options);

// Price of each machine per hour, by the name or file that the sweep uses. Any one currency.
using HourlyPrices = std::map<std::string, double>;
StatusOr<HourlyPrices> read_prices(const std::string& path);

}  // namespace dfsim::inline study
