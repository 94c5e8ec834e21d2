#include "cli/model_options.h"

namespace dfsim::cli {

void add_model_options(CLI::App* command, ModelOptions& model) {
  command
      ->add_option("MODEL", model.path,
                   "An ONNX model, or a TensorFlow graph (.pb, .pbtxt) or SavedModel folder; its "
                   "weights are never read")
      ->required()
      ->option_text("FILE|FOLDER");
  add_dimension_options(command, model);
  command->add_flag("--strict", model.strict, "Fail when an operator cannot be resolved");
}

void add_dimension_options(CLI::App* command, ModelOptions& model) {
  command->add_option("--batch", model.batch, "Size of the batch dimension")
      ->option_text("N")
      ->check(CLI::PositiveNumber);
  command->add_option("--dim", model.dims, "Value of a named dynamic dimension; repeatable")
      ->option_text("NAME=N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--input-shape", model.input_shapes,
                   "Whole shape of an input, as in x=1,3,224,224, or x= for a scalar; repeatable")
      ->option_text("NAME=N,N,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--trip-count", model.trip_counts,
                   "How often the Loop of that name runs, where the model does not say; repeatable")
      ->option_text("NAME=N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--branch", model.branch,
                   "Branch of Ifs whose condition is not known; default: the larger one")
      ->option_text("then|else")
      ->check(CLI::IsMember({"then", "else"}));
  command
      ->add_option("--signature", model.signature,
                   "Signature of a SavedModel; default: serving_default, or the only one")
      ->option_text("NAME");
}

}  // namespace dfsim::cli
