// Options that several commands have, each worded once.
//
// The targets belong to the caller and outlive the command; see option_table.h.
#pragma once

#include <string>
#include <vector>

#include "cli/option_table.h"
#include "study/chain/model_source.h"
#include "study/chain/training_choice.h"
#include "study/training/profile_inputs.h"

namespace dfsim::cli {

OptionSpec json_option(bool* json);
OptionSpec html_option(std::string* file);
OptionSpec output_option(std::string* file);  // "-" is stdout
OptionSpec runtime_option(std::string* runtime);
OptionSpec cost_model_option(std::string* cost_model);
OptionSpec precision_option(std::string* precision);
OptionSpec pad_vocabulary_option(int64_t* multiple);

// MODEL, --strict and the dimension options.
// `also`: what the argument may be besides a model, as sentences of its --help.
OptionTable model_options(ModelOptions& options, const std::string& also = "");
// --batch, --dim, --input-shape, --trip-count, --branch and --signature, for commands that take
// other graphs too.
OptionTable dimension_options(ModelOptions& options);
// --mode, --optimizer and --recompute.
OptionTable training_options(TrainingChoice& choice);
// --training-mode, --update-kernels, --loss and --accumulate: of a training step on one machine.
OptionTable training_detail_options(TrainingChoice& choice);
// Profiles of measured operators and which of their rows to use. `positional`: PROFILES..., which
// must be given; else --profiles, which need not.
OptionTable profile_options(ProfileInputs& inputs, bool positional);

// Names that values may have, for OptionSpec::suggest.
std::vector<std::string> hardware_names();
std::vector<std::string> runtime_names();
std::vector<std::string> cost_model_names();
std::vector<std::string> policy_names();
std::vector<std::string> precision_option_names();

}  // namespace dfsim::cli
