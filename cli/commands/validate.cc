// dfsim validate: predicted latencies of whole networks against measured ones.
#include <memory>

#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "cli/verdicts.h"
#include "report/measurements/validation_views.h"
#include "study/validation/interval_fit.h"
#include "study/validation/validate.h"

namespace dfsim::cli {
namespace {

struct ValidateCommand {
  ValidateOptions validate;
  bool fit_intervals = false;
  bool allow_incomplete = false;
  bool json = false;
  std::string output = "-";
};

// Fits the model's intervals to the runs and writes them to its manifest.
StatusOr<std::vector<IntervalFit>> refit(const ValidateCommand& options,
                                         const Validation& validation) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<IntervalFit> fits, fit_intervals(validation.runs));
  DFSIM_RETURN_IF_ERROR(write_interval_scales(options.validate.model, fits));
  return fits;
}

Status run_validate(const ValidateCommand& options, bool quiet) {
  if (options.fit_intervals && options.validate.model.empty()) {
    return invalid_input("--fit-intervals: needs --model DIR, the folder of the model to change");
  }
  std::string text;
  Validation validation;
  {
    ProgressLine line(quiet);
    DFSIM_ASSIGN_OR_RETURN(validation, validate_runs(options.validate, line.callbacks()));
    std::vector<IntervalFit> fits;
    if (options.fit_intervals) {
      DFSIM_ASSIGN_OR_RETURN(fits, refit(options, validation));
    }
    text = options.json ? validation_json(validation.runs, validation.cost_model, fits)
                        : fit_lines(validation_text(validation.runs, validation.cost_model, fits));
  }
  DFSIM_RETURN_IF_ERROR(write_result(options.output, text));
  for (const ValidatedRun& run : validation.runs) {
    DFSIM_RETURN_IF_ERROR(check_complete(run.network, run.unknown, options.allow_incomplete));
  }
  return ok_status();
}

// Which runs, networks and machines are compared.
OptionTable validate_choices(ValidateOptions& o) {
  return {
      {.names = "--hw",
       .target = &o.hardware,
       .help =
           "Hardware file or name of a built-in one for the runs' devices, found by their devices' "
           "models; repeatable; default: the built-in ones",
       .value = "FILE|NAME",
       .one_at_a_time = true,
       .suggest = hardware_names},
      {.names = "--networks",
       .target = &o.networks,
       .help = "Folder with the networks' ONNX files; repeatable; default: those that ship",
       .value = "DIR",
       .one_at_a_time = true},
      {.names = "--only",
       .target = &o.only,
       .help = "Only the runs of this network; repeatable",
       .value = "NETWORK",
       .one_at_a_time = true},
      {.names = "--leave-out",
       .target = &o.leave_out,
       .help = "Leave out the runs of this network; repeatable",
       .value = "NETWORK",
       .one_at_a_time = true}};
}

OptionTable validate_options(ValidateCommand& o) {
  return joined(
      {{
           {.names = "--runs",
            .target = &o.validate.runs,
            .help = "Measured runs: CSV as docs/reference/validation.md describes it, plain, gzip "
                    "or xz",
            .value = "FILE",
            .required = true},
           {.names = "--model",
            .target = &o.validate.model,
            .help = "Operator times: a model's folder, the name of a built-in one, or sol for the "
                    "speed-of-light bound; default: what each device names",
            .value = "DIR|NAME"},
       },
       validate_choices(o.validate),
       {
           {.names = "--profile",
            .target = &o.validate.profile,
            .help = "Profile with the operators of these runs, to tell wrong fusion from wrong "
                    "operator times",
            .value = "FILE"},
           {.names = "--runtime",
            .target = &o.validate.runtime,
            .help = "How the framework executes; default: what the hardware file names",
            .value = "FILE|NAME"},
           precision_option(&o.validate.precision),
           {.names = "--fit-intervals",
            .target = &o.fit_intervals,
            .help =
                "Also fit the model's intervals of whole networks to these runs, and write that "
                "to its folder (--model)"},
           allow_incomplete_option(&o.allow_incomplete),
           json_option(&o.json),
           output_option(&o.output),
       }});
}

}  // namespace

CommandSpec validate_command() {
  const auto options = std::make_shared<ValidateCommand>();
  return {.name = "validate",
          .summary = "Compare predicted latencies of whole networks with measured ones",
          .options = validate_options(*options),
          .examples = {{"dfsim validate --runs runs.csv --hw my-cpu/host.yaml",
                        "predicted latencies compared with measured ones"}},
          .run = [options](const GlobalOptions& global) {
            return run_validate(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
