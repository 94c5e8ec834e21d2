#include <memory>

#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "hardware/platform_loader.h"
#include "report/predictions/inspection_views.h"

namespace dfsim::cli {
namespace {

struct InspectCommand : InspectOptions {
  InspectionView view;
  bool json = false;
  std::string output = "-";
};

StatusOr<Inspection> inspect_with_progress(const InspectCommand& command, bool quiet) {
  ProgressLine line(quiet);
  return inspect(command, line.callbacks());
}

Status run_inspect(const InspectCommand& command, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const Inspection inspection, inspect_with_progress(command, quiet));
  DFSIM_RETURN_IF_ERROR(write_result(
      command.output, command.json ? inspection_json(inspection)
                                   : fit_lines(inspection_text(inspection, command.view))));
  const size_t unresolved = inspection.model.report.unresolved.size();
  if (command.model.strict && unresolved > 0) {
    return invalid_input(command.model.path + ": " + std::to_string(unresolved) +
                         " operators stay unresolved under --strict");
  }
  return ok_status();
}

OptionTable inspect_options(InspectCommand& o) {
  return joined(
      {model_options(o.model),
       {
           {.names = "--runtime",
            .target = &o.runtime,
            .help =
                "The graph as a runtime executes it: a runtime file or the name of a built-in one",
            .value = "FILE|NAME"},
           {.names = "--ops", .target = &o.view.ops, .help = "One line per operator"},
           {.names = "--unresolved",
            .target = &o.view.unresolved,
            .help = "Only the operators that could not be resolved, with the reason"},
           json_option(&o.json),
           {.names = "--save",
            .target = &o.save,
            .help = "Also write the graph as ONNX, without weights and with the shapes found",
            .value = "OUT.onnx"},
           output_option(&o.output),
       }});
}

}  // namespace

CommandSpec inspect_command() {
  const auto options = std::make_shared<InspectCommand>();
  return {.name = "inspect",
          .summary = "Show a model's inputs, operators, MACs and parameters; needs no hardware",
          .options = inspect_options(*options),
          .examples = {{"dfsim inspect model.onnx --batch 8",
                        "inputs, operators and work at batch size 8"}},
          .run = [options](const GlobalOptions& global) {
            return run_inspect(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
