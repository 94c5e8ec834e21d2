// dfsim validate: predicted latencies of whole networks against measured ones.
#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/validator.h"
#include "report/interval_fit.h"

namespace dfsim::cli {
namespace {

struct Options {
  ValidateOptions validate;
  bool fit_intervals = false;
  bool json = false;
  std::string output = "-";
};

// Fits the model's intervals to the runs and writes them to its manifest.
StatusOr<std::vector<IntervalFit>> refit(const Options& options, const Validation& validation) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<IntervalFit> fits, fit_intervals(validation.runs));
  DFSIM_RETURN_IF_ERROR(write_interval_scales(options.validate.model, fits));
  return fits;
}

Status run(const Options& options, bool quiet) {
  if (options.fit_intervals && options.validate.model.empty()) {
    return invalid_input("--fit-intervals: needs --model DIR, the folder of the model to change");
  }
  std::string text;
  {
    Progress progress(quiet);
    DFSIM_ASSIGN_OR_RETURN(const Validation validation, validate_runs(options.validate, progress));
    std::vector<IntervalFit> fits;
    if (options.fit_intervals) {
      DFSIM_ASSIGN_OR_RETURN(fits, refit(options, validation));
    }
    text = options.json ? validation_json(validation.runs, validation.cost_model, fits)
                        : fit_lines(validation_text(validation.runs, validation.cost_model, fits));
  }
  return write_file(options.output, text);
}

void add_choices(CLI::App* command, Options& options) {
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* text,
                        const char* kind) {
    command->add_option(name, values, text)
        ->option_text(kind)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  list("--hw", options.validate.hardware,
       "Hardware file or name of a built-in one for the runs' devices, found by their devices' "
       "models; repeatable; default: the built-in ones",
       "FILE|NAME");
  list("--networks", options.validate.networks,
       "Folder with the networks' ONNX files; repeatable; default: those that ship", "DIR");
  list("--only", options.validate.only, "Only the runs of this network; repeatable", "NETWORK");
  list("--leave-out", options.validate.leave_out, "Not the runs of this network; repeatable",
       "NETWORK");
}

}  // namespace

void register_validate(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "validate", "Predicted latencies of whole networks against measured ones");
  auto options = std::make_shared<Options>();
  command
      ->add_option("--runs", options->validate.runs,
                   "Measured runs: CSV as docs/validation.md describes it, plain or gzip")
      ->required()
      ->option_text("FILE");
  command
      ->add_option("--model", options->validate.model,
                   "Operator times: a model's folder, the name of a built-in one, or sol for the "
                   "speed-of-light bound; default: what each device names")
      ->option_text("DIR|NAME");
  add_choices(command, *options);
  command
      ->add_option("--profile", options->validate.profile,
                   "Profile with the operators of these runs, to tell wrong fusion from wrong "
                   "operator times")
      ->option_text("FILE");
  command
      ->add_option("--runtime", options->validate.runtime,
                   "How the framework executes; default: what the hardware file names")
      ->option_text("FILE|NAME");
  command->add_flag(
      "--fit-intervals", options->fit_intervals,
      "Also fit the model's intervals of whole networks to these runs, and write that "
      "to its folder (--model)");
  command->add_flag("--json", options->json, "Everything as JSON");
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
