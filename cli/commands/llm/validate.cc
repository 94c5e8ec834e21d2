// dfsim llm validate: simulated servers against measured deployments.
#include <fmt/format.h>

#include <memory>

#include "base/text_table.h"
#include "cli/commands/llm/llm_commands.h"
#include "cli/progress.h"
#include "cli/terminal_text.h"
#include "report/serving/serving_views.h"

namespace dfsim::cli {
namespace {

struct LlmValidateOptions : ServingValidationOptions {
  std::string part = "all";
  bool fit = false;
  ServingFitOptions fitting;
  std::string output = "-";
  bool json = false;
};

Status run_llm_fit(const LlmValidateOptions& o, bool quiet) {
  const auto fit = [&]() -> StatusOr<ServingFitReport> {
    ProgressLine line(quiet);
    ServingFitOptions fitting = o.fitting;
    fitting.start = o.parameters;
    return fit_serving(o, fitting, [&line](int64_t done, int64_t /*total*/) {
      return line.stage(fmt::format("{} sets of parameters tried", done)).ok();
    });
  };
  DFSIM_ASSIGN_OR_RETURN(const ServingFitReport report, fit());
  return write_result(o.output,
                      o.json ? serving_fit_json(report) : fit_lines(serving_fit_text(report)));
}

Status run_llm_validate(LlmValidateOptions o, bool quiet) {
  if (o.fit) {
    return run_llm_fit(o, quiet);
  }
  o.half = o.part == "fit" ? RunHalf::kFit : o.part == "held-out" ? RunHalf::kCheck : RunHalf::kAll;
  const auto validated = [&]() -> StatusOr<ServingValidation> {
    ProgressLine line(quiet);
    DFSIM_RETURN_IF_ERROR(line.stage("simulating measured deployments"));
    return validate_serving(o, [&line](int64_t done, int64_t total) {
      line.advance(static_cast<double>(done), static_cast<double>(total), "deployments");
      return true;
    });
  };
  DFSIM_ASSIGN_OR_RETURN(const ServingValidation found, validated());
  return write_result(o.output, o.json ? serving_validation_json(found)
                                       : fit_lines(serving_validation_text(found)));
}

}  // namespace

CommandSpec llm_validate_command() {
  const auto options = std::make_shared<LlmValidateOptions>();
  LlmValidateOptions& o = *options;
  return {
      .name = "validate",
      .summary = "Errors of simulated servers on measured deployments",
      .options = {{.names = "RUNS",
                   .target = &o.runs_path,
                   .help = "Measured deployments, CSV with the columns of aiconfigurator's "
                           "silicon tables",
                   .required = true},
                  {.names = "--models",
                   .target = &o.models_path,
                   .help = "Folder of the models' config.json files (ORG--NAME_config.json)",
                   .value = "FOLDER",
                   .required = true},
                  {.names = "--half",
                   .target = &o.part,
                   .help = "Rows that the parameters were fitted on, or the others",
                   .show_default = true,
                   .choices = "all,fit,held-out"},
                  {.names = "--framework",
                   .target = &o.framework,
                   .help = "Only rows of this framework"},
                  {.names = "--fit",
                   .target = &o.fit,
                   .help = "Fit each framework's parameters on the fit half and print them"},
                  {.names = "--leave-out",
                   .target = &o.fitting.leave_out,
                   .help = "With --fit: leave models, FRAMEWORK-VERSIONs or systems with this "
                           "in their name out, and report the errors of their rows",
                   .value = "TEXT",
                   .needs = "--fit"},
                  {.names = "--set",
                   .target = &o.parameters,
                   .help = "Parameters in place of the fitted ones; with --fit, where it starts",
                   .value = "NAME=VALUE,..."},
                  {.names = "--json", .target = &o.json, .help = "JSON, with every row"},
                  {.names = "-o,--output",
                   .target = &o.output,
                   .help = "Write to this file; - is stdout",
                   .show_default = true}},
      .examples = {{"dfsim llm validate runs.csv --models models --half held-out",
                    "errors on deployments that no parameter was fitted to"}},
      .run = [options](const GlobalOptions& global) {
        return run_llm_validate(*options, global.quiet);
      }};
}

}  // namespace dfsim::cli
