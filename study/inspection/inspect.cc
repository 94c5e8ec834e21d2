#include "study/inspection/inspect.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/io/file.h"
#include "base/io/mapped_file.h"
#include "base/text.h"
#include "graphs/algorithms/dag.h"
#include "graphs/onnx/shareable.h"
#include "graphs/tensorflow/importer.h"
#include "hardware/platform_loader.h"
#include "study/chain/precision_choice.h"

namespace dfsim::inline study {
namespace {

std::string qualified_type(const Op& op) {
  return op.domain.empty() ? op.op_type : op.domain + "." + op.op_type;
}

// The import with the weights of a quantised config.json as they are published.
StatusOr<ImportedModel> published(StatusOr<ImportedModel> imported, int64_t* parameters = nullptr) {
  if (!imported.ok()) {
    return imported;
  }
  const PrecisionPlan plan = published_precision(imported->report);
  if (!plan.empty()) {
    if (parameters != nullptr) {
      DFSIM_ASSIGN_OR_RETURN(const GraphTotals totals, graph_totals(imported->graph));
      *parameters = totals.parameters;
    }
    DFSIM_ASSIGN_OR_RETURN(imported->graph, refine_precision(imported->graph, plan, {}));
    imported->report.notes.push_back(published_note(*imported->report.config));
  }
  return imported;
}

// The symbols that `model` has, and what depends on them; writes it where options.save says.
StatusOr<std::vector<StudiedSymbol>> study_and_save(const InspectOptions& options,
                                                    const ImportedModel& model) {
  DFSIM_ASSIGN_OR_RETURN(const ImportOptions import_options, options.model.import_options());
  std::vector<StudiedSymbol> symbols =
      study_symbols(model, import_options, [&](const ImportOptions& varied) {
        return published(import_model_with(options.model, varied));
      });
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

}  // namespace

StatusOr<GraphStructure> graph_structure(const Graph& graph, const GraphTotals& totals) {
  const Digraph digraph = digraph_of(graph);
  DFSIM_ASSIGN_OR_RETURN(const std::vector<uint32_t> level, levels(digraph));
  std::vector<size_t> width;
  for (const uint32_t l : level) {
    width.resize(std::max<size_t>(width.size(), l + 1));
    ++width[l];
  }
  std::vector<int64_t> flops;
  flops.reserve(totals.work.size());
  for (const OpWork& work : totals.work) {
    flops.push_back(work.flops);
  }
  DFSIM_ASSIGN_OR_RETURN(const CriticalPath path, critical_path(digraph, flops));
  const auto widest = std::max_element(width.begin(), width.end());
  return GraphStructure{width.size(), widest == width.end() ? 0 : *widest, path.length};
}

std::vector<TypeSummary> summarise_types(const Graph& graph, const GraphTotals& totals) {
  std::map<std::string, TypeSummary> types;
  for (size_t i = 0; i < graph.op_count(); ++i) {
    const Op& op = graph.op(OpId(i));
    TypeSummary& summary = types[qualified_type(op)];
    summary.op_type = qualified_type(op);
    summary.op_class = op_class_name(op.op_class);
    ++summary.ops;
    summary.macs += totals.work[i].macs;
    summary.flops += totals.work[i].flops;
  }
  std::vector<TypeSummary> list;
  for (auto& [name, summary] : types) {
    list.push_back(std::move(summary));
  }
  std::stable_sort(list.begin(), list.end(), [](const TypeSummary& a, const TypeSummary& b) {
    return a.flops != b.flops ? a.flops > b.flops : a.ops > b.ops;
  });
  return list;
}

StatusOr<Inspection> inspect(const InspectOptions& options, const Progress& progress) {
  Inspection inspection;
  DFSIM_RETURN_IF_ERROR(progress.stage("importing " + options.model.path));
  inspection.name = model_name(options.model.path);
  int64_t parameters = 0;  // of a quantised config.json, whose weights are packed
  DFSIM_ASSIGN_OR_RETURN(inspection.model, published(import_model(options.model), &parameters));
  ImportedModel& model = inspection.model;
  progress.decide("import", {{"model", inspection.name},
                             {"nodes", std::to_string(model.report.file_nodes)},
                             {"operators", std::to_string(model.graph.op_count())},
                             {"unresolved", std::to_string(model.report.unresolved.size())}});
  DFSIM_RETURN_IF_ERROR(progress.stage("varying its dimensions"));
  DFSIM_ASSIGN_OR_RETURN(inspection.symbols, study_and_save(options, model));
  if (!options.runtime.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const RuntimeSpec runtime, load_runtime(options.runtime));
    auto executed = execute_as(
        model.graph, runtime,
        {.open_axes = options.model.static_dims ? std::vector<OpenAxis>() : model.report.open_axes,
         .declared_axes = model.report.declared_axes});
    if (!executed.ok()) {
      return executed.status().with_place(options.model.path);
    }
    model.graph = std::move(executed->graph);
    inspection.passes = std::move(executed->passes);
    inspection.runtime = runtime.name;
    progress.decide(
        "runtime", {{"name", runtime.name},
                    {"passes", inspection.passes.empty() ? "none" : join(inspection.passes, ",")}});
    inspection.symbols.clear();  // they are about the file's operators
  }
  auto totals = graph_totals(model.graph);
  if (!totals.ok()) {
    return totals.status().with_place(options.model.path);
  }
  inspection.totals = std::move(*totals);
  if (parameters > 0) {
    inspection.totals.parameters = parameters;
  }
  DFSIM_ASSIGN_OR_RETURN(inspection.structure, graph_structure(model.graph, inspection.totals));
  inspection.types = summarise_types(model.graph, inspection.totals);
  return inspection;
}

}  // namespace dfsim::inline study
