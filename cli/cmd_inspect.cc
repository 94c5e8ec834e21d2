#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "report/predictions/inspection_views.h"

namespace dfsim::cli {
namespace {

struct InspectCommand : InspectOptions {
  InspectionView view;
  bool json = false;
  std::string output = "-";
};

Status run(const InspectCommand& command) {
  DFSIM_ASSIGN_OR_RETURN(const Inspection inspection, inspect(command));
  DFSIM_RETURN_IF_ERROR(write_file(
      command.output, command.json ? inspection_json(inspection)
                                   : fit_lines(inspection_text(inspection, command.view))));
  const size_t unresolved = inspection.model.report.unresolved.size();
  if (command.model.strict && unresolved > 0) {
    return invalid_input(command.model.path + ": " + std::to_string(unresolved) +
                         " operators stay unresolved under --strict");
  }
  return ok_status();
}

}  // namespace

void register_inspect(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "inspect", "Facts about a model that need no hardware: inputs, operators, MACs, parameters");
  auto options = std::make_shared<InspectCommand>();
  add_model_options(command, options->model);
  command
      ->add_option(
          "--runtime", options->runtime,
          "The graph as a runtime executes it: a runtime file or the name of a built-in one")
      ->option_text("FILE|NAME");
  command->add_flag("--ops", options->view.ops, "One line per operator");
  command->add_flag("--unresolved", options->view.unresolved,
                    "Only the operators that could not be resolved, with the reason");
  command->add_flag("--json", options->json, "Everything as JSON");
  command
      ->add_option("--save", options->save,
                   "Also write the graph as ONNX, without weights and with the shapes found")
      ->option_text("FILE.onnx");
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command, [options] { return run(*options); });
}

}  // namespace dfsim::cli
