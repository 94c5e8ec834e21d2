// --precision of the commands: a name or a file of rules becomes a plan that the machine can run,
// and the plan becomes steps between the runtime's passes.
//
// A file of rules is YAML (docs/reference/precision.md):
//   base: fp16                 # of all operators that no rule names; default: as the model has it
//   rules:
//     - {class: softmax, precision: fp32}
//     - {op_type: Conv, precision: int8}
//     - {name: "/head/*", precision: fp32}
#pragma once

#include <string>

#include "base/status.h"
#include "graphs/ir/import.h"
#include "graphs/passes/precision/precision.h"
#include "hardware/platform.h"

namespace dfsim::inline study {

// The plan of a name or file; empty for "". Errors (kInvalidInput, kNotFound): neither a name nor a
// file; a file that is not as above; a precision that no compute device of the platform has units
// for, with those that it has.
StatusOr<PrecisionPlan> resolve_precision(const std::string& precision, const Platform& platform);

// The same whatever the machine.
StatusOr<PrecisionPlan> read_precision(const std::string& precision);

// Ok for a precision's name and for a file that exists. Error: which of both is missing, without a
// place.
Status check_precision_name(const std::string& precision);

// The type of a config.json's graph that a plan starts from: 16 bits (kUnknown: the file's own)
// where the plan quantises products, else fp32, as for exported models.
DType config_dtype(const PrecisionPlan& plan);

// The plan of a config.json's quantization_config: the weights that it names, in blocks as large as
// its format has them. Empty without one, and for graphs of another kind.
PrecisionPlan published_precision(const ImportReport& report);

// "the weights of experts are mxfp4 as quantization_config says, everything else is bfloat16"
std::string published_note(const ConfigTypes& config);

// The plan of the options, or what a config.json's quantization_config says, or, where they name
// none, mixed-bf16 or mixed-fp16 for fp32 models on NPUs whose matrix units take no fp32, with a
// note. In a config.json, a quantised precision keeps routers and lm_head in 16 bits. Error: as
// resolve_precision().
StatusOr<PrecisionPlan> choose_precision(const std::string& precision, bool training,
                                         const Platform& platform, const Graph& model,
                                         ImportReport* report);

// Precisions that the compute devices of the platform have units for, as all_precisions() lists.
std::vector<Precision> supported_precisions(const Platform& platform);

// The platform with products of fp32 operands off TF32 units when the precision says fp32.
void apply_precision(const std::string& precision, Platform* platform);

// Empties the plan where the model has a precision of its own already, and notes it; 16-bit models
// take plans that quantise products. Errors: a model whose weights are of several types; a
// quantised precision in training.
Status keep_own_precision(const Graph& model, bool training, PrecisionPlan* plan,
                          ImportReport* report);

// Notes rules of the plan that meet no operator.
void note_idle_rules(const Graph& executed, const PrecisionPlan& plan, ImportReport* report);

// Notes that a model in fp16 is executed in fp32.
void note_wider_precision(const Graph& model, const Graph& executed, ImportReport* report);

// Whether the devices that compute are CPUs.
bool runs_on_cpu(const Platform& platform);

}  // namespace dfsim::inline study
