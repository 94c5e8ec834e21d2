#include "base/io/file.h"
#include "base/io/mapped_file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "graphs/onnx/shareable.h"
#include "graphs/tensorflow/importer.h"
#include "hardware/platform_loader.h"
#include "report/inspection.h"

namespace dfsim::cli {
namespace {

struct Options {
  ModelOptions model;
  InspectOptions inspect;
  std::string runtime;
  bool json = false;
  std::string save;
  std::string output = "-";
};

// The symbols that `model` has, and what hangs on them; writes it where --save says.
StatusOr<std::vector<StudiedSymbol>> study(const Options& options, const ImportedModel& model) {
  DFSIM_ASSIGN_OR_RETURN(const ImportOptions import_options, options.model.import_options());
  std::vector<StudiedSymbol> symbols = study_symbols(
      model, import_options,
      [&](const ImportOptions& varied) { return import_model_with(options.model, varied); });
  if (!options.save.empty()) {
    if (recognise_tensorflow(options.model.path)) {
      return invalid_input(options.model.path + ": --save writes ONNX models only");
    }
    DFSIM_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(options.model.path));
    DFSIM_ASSIGN_OR_RETURN(const std::string shareable,
                           shareable_model(file.content(), model, symbols));
    DFSIM_RETURN_IF_ERROR(write_file(options.save, shareable));
  }
  return symbols;
}

Status run(const Options& options) {
  DFSIM_ASSIGN_OR_RETURN(ImportedModel model, import_model(options.model));
  DFSIM_ASSIGN_OR_RETURN(std::vector<StudiedSymbol> symbols, study(options, model));
  std::string runtime_name;
  std::vector<std::string> passes;
  if (!options.runtime.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const RuntimeSpec runtime, load_runtime(options.runtime));
    auto executed = execute_as(model.graph, runtime);
    if (!executed.ok()) {
      return executed.status().with_place(options.model.path);
    }
    model.graph = std::move(executed->graph);
    passes = std::move(executed->passes);
    runtime_name = runtime.name;
    symbols.clear();  // they are about the file's operators
  }
  auto totals = graph_totals(model.graph);
  if (!totals.ok()) {
    return totals.status().with_place(options.model.path);
  }
  DFSIM_ASSIGN_OR_RETURN(const GraphStructure structure, graph_structure(model.graph, *totals));
  const Inspection inspection{
      model_name(options.model.path), model, *totals, structure, symbols, runtime_name, passes};
  DFSIM_RETURN_IF_ERROR(write_file(
      options.output, options.json ? inspection_json(inspection)
                                   : fit_lines(inspection_text(inspection, options.inspect))));
  if (options.model.strict && !model.report.unresolved.empty()) {
    return invalid_input(options.model.path + ": " +
                         std::to_string(model.report.unresolved.size()) +
                         " operators stay unresolved under --strict");
  }
  return ok_status();
}

}  // namespace

void register_inspect(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "inspect", "Facts about a model that need no hardware: inputs, operators, MACs, parameters");
  auto options = std::make_shared<Options>();
  options->model.add_to(command);
  command
      ->add_option(
          "--runtime", options->runtime,
          "The graph as a runtime executes it: a runtime file or the name of a built-in one")
      ->option_text("FILE|NAME");
  command->add_flag("--ops", options->inspect.ops, "One line per operator");
  command->add_flag("--unresolved", options->inspect.unresolved,
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
