// Commands for programs that call them as functions, such as the Python package: the options,
// checks and files of the command line, and the result as the study returns it instead of its
// rendering.
#pragma once

#include <functional>
#include <string>

#include "cli/option_table.h"
#include "opmodel/cost_model.h"
#include "schedulers/registry.h"
#include "study/prediction/prediction.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_report.h"

namespace dfsim::cli {

// Pointers outlive the command.
struct PredictHooks {
  const CostModel* costs = nullptr;          // instead of the model that the options name
  const PolicyRegistry* policies = nullptr;  // to choose from; nullptr = the built-in ones
  // Takes the prediction before the verdict on it (cli/verdicts.h); empty: it is printed.
  std::function<void(Prediction)> take;
};
CommandSpec predict_command_with(PredictHooks hooks);

struct SweepHooks {
  std::string journal;  // of finished points, removed at the end; "" = as -o says
  // Takes the table, also one of failed points alone, before the verdict on it; empty: it is
  // printed.
  std::function<void(SweepResult, SweepReport)> take;
};
CommandSpec sweep_command_with(SweepHooks hooks);

// `policies` are those to choose from, before any plugins.
CommandSpec compare_command_with(PolicyRegistry policies);

}  // namespace dfsim::cli
