// The tables of options that several commands have, and the names that their values may have.
#include "cli/shared_options.h"

#include <fmt/format.h>

#include "base/text.h"
#include "datasets/importers/importer.h"
#include "graphs/passes/precision/precision.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "schedulers/registry.h"

namespace dfsim::cli {
namespace {

std::string profile_format_names() {
  std::vector<std::string> names;
  for (const auto& importer : importers()) {
    names.emplace_back(importer->name());
  }
  return join(names, ", ");
}

}  // namespace

OptionSpec json_option(bool* json) {
  return {.names = "--json", .target = json, .help = "Everything as JSON"};
}

OptionSpec html_option(std::string* file) {
  return {.names = "--html",
          .target = file,
          .help = "Also write an HTML report, one offline file",
          .value = "OUT.html"};
}

OptionSpec output_option(std::string* file) {
  return {.names = "-o,--output",
          .target = file,
          .help = "Where the result goes; - is stdout",
          .value = "FILE"};
}

OptionSpec runtime_option(std::string* runtime) {
  return {.names = "--runtime",
          .target = runtime,
          .help =
              "How the framework executes: a runtime file or the name of a built-in one; "
              "default: what the hardware file names",
          .value = "FILE|NAME",
          .suggest = runtime_names};
}

OptionSpec cost_model_option(std::string* cost_model) {
  return {.names = "--cost-model",
          .target = cost_model,
          .help =
              "Operator times: a model's folder, the name of a built-in one, or sol for the "
              "speed-of-light bound; default: what each device names",
          .value = "DIR|NAME",
          .suggest = cost_model_names};
}

OptionSpec precision_option(std::string* precision) {
  return {.names = "--precision",
          .target = precision,
          .help = fmt::format("Rewrite the model to another precision: {}, or a file of rules per "
                              "operator; default: as the file has it",
                              precision_names()),
          .value = "NAME|FILE",
          .suggest = precision_option_names};
}

OptionSpec pad_vocabulary_option(int64_t* multiple) {
  return {.names = "--pad-vocab",
          .target = multiple,
          .help =
              "Pad vocabularies to a multiple of N: 8 aligns products of 16 bits; Megatron-LM "
              "takes 128 times the devices of tensor parallelism, so that they divide",
          .value = "N",
          .positive = true};
}

OptionTable model_options(ModelOptions& options, const std::string& also) {
  return joined({{{.names = "MODEL",
                   .target = &options.path,
                   .help = "An ONNX model, or a TensorFlow graph (.pb, .pbtxt) or SavedModel "
                           "folder; its weights are never read" +
                           also,
                   .value = "FILE|FOLDER",
                   .required = true}},
                 dimension_options(options),
                 {{.names = "--strict",
                   .target = &options.strict,
                   .help = "Fail when an operator cannot be resolved"}}});
}

OptionTable dimension_options(ModelOptions& options) {
  return {
      {.names = "--static",
       .target = &options.static_dims,
       .help = "The model is frozen: ONNX Runtime knows all dimensions when it optimises the "
               "graph, also those that are open in the file"},
      {.names = "--batch",
       .target = &options.batch,
       .help = "Size of the batch dimension",
       .value = "N",
       .positive = true},
      {.names = "--dim",
       .target = &options.dims,
       .help = "Value of a named dynamic dimension; repeatable",
       .value = "NAME=N",
       .one_at_a_time = true},
      {.names = "--input-shape",
       .target = &options.input_shapes,
       .help = "Whole shape of an input, as in x=1,3,224,224, or x= for a scalar; repeatable",
       .value = "NAME=N,N,...",
       .one_at_a_time = true},
      {.names = "--trip-count",
       .target = &options.trip_counts,
       .help = "How often the Loop of that name runs, where the model does not say; repeatable",
       .value = "NAME=N",
       .one_at_a_time = true},
      {.names = "--branch",
       .target = &options.branch,
       .help = "Branch of Ifs whose condition is not known; default: the larger one",
       .value = "then|else",
       .choices = "then,else"},
      {.names = "--signature",
       .target = &options.signature,
       .help = "Signature of a SavedModel; default: serving_default, or the only one",
       .value = "NAME"},
  };
}

OptionTable training_options(TrainingChoice& choice) {
  return {
      {.names = "--mode",
       .target = &choice.mode,
       .help = "infer: a forward pass; train: a training step, with the backward pass and the "
               "update of weights; default: infer",
       .value = "MODE",
       .choices = "infer,train"},
      {.names = "--optimizer",
       .target = &choice.optimizer,
       .help = "Optimizer of the training step: sgd, momentum, adam or none (gradients only); "
               "default: adam",
       .value = "NAME"},
      {.names = "--recompute",
       .target = &choice.recompute,
       .help = "Activations computed again in the backward pass instead of kept: none, "
               "selective (all but results of products and convolutions) or full (one tensor "
               "per section stays); default: none",
       .value = "WHAT"},
  };
}

OptionTable training_detail_options(TrainingChoice& choice) {
  return {
      {.names = "--training-mode",
       .target = &choice.training_mode,
       .help = "Dropout drops values, and is added where the architecture has it and the export "
               "left it out"},
      {.names = "--update-kernels",
       .target = &choice.kernels,
       .help = "Kernels of the optimizer: per-weight, foreach (PyTorch's default on GPUs) or "
               "fused; default: per-weight",
       .value = "KIND"},
      {.names = "--loss",
       .target = &choice.loss,
       .help = "Loss of the training step: elementwise (its derivative alone), cross-entropy over "
               "the last axis, or mse; default: elementwise",
       .value = "NAME"},
      {.names = "--accumulate",
       .target = &choice.accumulate,
       .help = "Forward and backward passes before an update; default: 1",
       .value = "N",
       .range = {1, 256}},
  };
}

OptionTable profile_options(ProfileInputs& inputs, bool positional) {
  return {
      {.names = positional ? "profiles" : "--profiles",
       .target = &inputs.files,
       .help = "Profiles of measured operators: files or folders, as --format says; "
               "FORMAT:FILE says it for one",
       .value = "FILE...",
       .required = positional},
      {.names = "--format",
       .target = &inputs.format,
       .help = fmt::format("Format of the profiles: auto (mindspore for folders and framework_raw "
                           "files, else dfsim), {}",
                           profile_format_names()),
       .value = "NAME",
       .show_default = true},
      {.names = "--only-device",
       .target = &inputs.only_devices,
       .help = "Use only the rows of this device, as the profile names it; may be repeated",
       .value = "NAME"},
      {.names = "--only-op",
       .target = &inputs.only_ops,
       .help = "Use only the rows of this op type, as the profile names it; may be repeated",
       .value = "TYPE"},
      {.names = "--device",
       .target = &inputs.device,
       .help = "The hardware file that all rows were measured on; default: the one whose "
               "device model is the name in each row",
       .value = "FILE|NAME",
       .suggest = hardware_names},
  };
}

std::vector<std::string> hardware_names() { return builtin_platforms(); }

std::vector<std::string> runtime_names() { return builtin_runtimes(); }

std::vector<std::string> cost_model_names() {
  std::vector<std::string> names = pretrained_models();
  names.emplace_back("sol");
  return names;
}

std::vector<std::string> precision_option_names() {
  std::vector<std::string> names;
  for (const PrecisionInfo& info : all_precisions()) {
    names.emplace_back(info.name);
  }
  return names;
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const PolicyInfo& policy : builtin_policies()) {
    names.push_back(policy.name);
  }
  return names;
}

}  // namespace dfsim::cli
