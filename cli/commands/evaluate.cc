// dfsim evaluate: how far a cost model is from measured operator times.

#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "hardware/platform_loader.h"
#include "report/measurements/collective_evaluation_views.h"
#include "report/measurements/evaluation_views.h"
#include "study/training/evaluate.h"

namespace dfsim::cli {
namespace {

struct EvaluateCommand : EvaluateRequest {
  std::string group_by = "op";
  bool no_lookup = false;
  bool json = false;
  std::string output = "-";
  std::string rows;
  std::string collectives;
  std::string hardware;
  bool fit = false;
};

Status run_collectives(const EvaluateCommand& options) {
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(options.hardware));
  DFSIM_ASSIGN_OR_RETURN(const CollectiveEvaluation evaluation,
                         evaluate_collectives(options.collectives, platform, options.fit));
  return write_result(options.output, options.json
                                          ? collective_evaluation_json(evaluation)
                                          : fit_lines(collective_evaluation_text(evaluation)));
}

StatusOr<EvaluateResult> evaluate_with_progress(const EvaluateRequest& request, bool quiet) {
  ProgressLine line(quiet);
  return evaluate(request, line.callbacks());
}

Status run_evaluate(const EvaluateCommand& command, bool quiet) {
  if (!command.collectives.empty()) {
    return run_collectives(command);
  }
  if (command.model.empty() || command.inputs.files.empty()) {
    return invalid_input(
        "evaluate: nothing to evaluate; expected --model and --profiles, or --collectives and "
        "--hw");
  }
  EvaluateRequest request = command;
  request.use_lookup = !command.no_lookup;
  request.keep_rows = !command.rows.empty();
  DFSIM_ASSIGN_OR_RETURN(const EvaluateResult result, evaluate_with_progress(request, quiet));
  if (!command.rows.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(command.rows, evaluated_rows_csv(result.evaluation)));
  }
  return write_result(
      command.output,
      command.json ? evaluation_json(result.evaluation, result.model)
                   : fit_lines(evaluation_text(result.evaluation, command.group_by == "network")));
}

OptionTable evaluate_options(EvaluateCommand& o) {
  return joined(
      {{
           {.names = "--model",
            .target = &o.model,
            .help = "Folder that dfsim train wrote, or the name of a model that ships",
            .value = "DIR|NAME"},
       },
       profile_options(o.inputs, /*positional=*/false),
       {
           {.names = "--group-by",
            .target = &o.group_by,
            .help = "op, or network for the table of whole networks even when it is empty",
            .value = "op|network",
            .show_default = true,
            .choices = "op,network"},
           {.names = "--collectives",
            .target = &o.collectives,
            .help = "Instead: a table of measured collectives (aiconfigurator's NCCL runs, Vidur's "
                    "network profiles), or a folder of them, compared with those of --hw",
            .value = "FILE.csv|DIR",
            .needs = "--hw"},
           {.names = "--hw",
            .target = &o.hardware,
            .help = "Node whose collectives to evaluate: a hardware file or a built-in name",
            .value = "FILE|NAME",
            .needs = "--collectives",
            .suggest = hardware_names},
           {.names = "--fit",
            .target = &o.fit,
            .help = "Also fit the hardware file's `collectives:` to the measurements, and evaluate "
                    "the fit",
            .needs = "--collectives"},
           {.names = "--no-lookup",
            .target = &o.no_lookup,
            .help = "Evaluate the trees alone: predict measured shapes too"},
           {.names = "--rows",
            .target = &o.rows,
            .help = "Also write each row's measured and predicted time to this CSV file, which "
                    "datasets/collect/ort_cpu takes to sample where errors are large",
            .value = "OUT.csv"},
           json_option(&o.json),
           output_option(&o.output),
       }});
}

}  // namespace

CommandSpec evaluate_command() {
  const auto options = std::make_shared<EvaluateCommand>();
  return {.name = "evaluate",
          .summary = "Compare a cost model with measured operator times",
          .options = evaluate_options(*options),
          .examples = {{"dfsim evaluate --model a100 --profiles ops.csv.gz",
                        "how far a built-in cost model is from a profile"}},
          .run = [options](const GlobalOptions& global) {
            return run_evaluate(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
