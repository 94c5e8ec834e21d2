#include "cli/training_options.h"

namespace dfsim::cli {

void add_training_options(CLI::App* command, TrainingChoice& training) {
  command
      ->add_option("--mode", training.mode,
                   "infer: a forward pass; train: a training step, with the backward pass and the "
                   "update of weights; default: infer")
      ->option_text("MODE")
      ->check(CLI::IsMember({"infer", "train"}));
  command
      ->add_option("--optimizer", training.optimizer,
                   "Of a training step: sgd, momentum or adam; default: adam")
      ->option_text("NAME");
  command
      ->add_option("--recompute", training.recompute,
                   "Activations computed again in the backward pass instead of kept: none, "
                   "selective (all but results of products and convolutions) or full (one tensor "
                   "per section stays); default: none")
      ->option_text("WHAT");
}

}  // namespace dfsim::cli
