// The command-line options of training steps.
#pragma once

#include <CLI/CLI.hpp>

#include "study/chain/training_choice.h"

namespace dfsim::cli {

// --mode, --optimizer and --recompute.
void add_training_options(CLI::App* command, TrainingChoice& training);

}  // namespace dfsim::cli
