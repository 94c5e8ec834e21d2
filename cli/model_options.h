// The command-line options that name a model and resolve its dynamic dimensions.
#pragma once

#include <CLI/CLI.hpp>

#include "study/chain/model_source.h"

namespace dfsim::cli {

// Adds the positional MODEL, --strict and what add_dimension_options() adds.
void add_model_options(CLI::App* command, ModelOptions& model);
// --batch, --dim, --input-shape, --trip-count, --branch and --signature, for commands that take
// other graphs too.
void add_dimension_options(CLI::App* command, ModelOptions& model);

}  // namespace dfsim::cli
