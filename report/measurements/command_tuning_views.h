// The result of dfsim tune -- COMMAND as text and JSON.
#pragma once

#include <string>

#include "study/tuning/command_tune.h"

namespace dfsim::inline report {

std::string command_tuning_text(const CommandTuneResult& result);
std::string command_tuning_json(const CommandTuneResult& result);

}  // namespace dfsim::inline report
