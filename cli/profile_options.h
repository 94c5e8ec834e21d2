// The command-line options that name profiles of measured operators.
#pragma once

#include <CLI/CLI.hpp>

#include "study/training/profile_inputs.h"

namespace dfsim::cli {

// `positional`: PROFILES...; otherwise --profiles.
void add_profile_options(CLI::App* command, ProfileInputs& inputs, bool positional);

}  // namespace dfsim::cli
