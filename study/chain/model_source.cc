// From the options of a command to a loaded model: parses extents, imports, prunes, makes the
// training step, and executes as the runtime does. Commands call load_model(); those that
// predict one model many times import once and call load_imported().
#include "study/chain/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "base/counted.h"
#include "base/io/data_dir.h"
#include "base/text.h"
#include "graphs/llm/llm_import.h"
#include "graphs/onnx/importer.h"
#include "graphs/passes/cleanup/expand.h"
#include "graphs/passes/layout/split_weights.h"
#include "graphs/tensorflow/importer.h"
#include "graphs/training/step_kernels.h"
#include "study/chain/machine_source.h"
#include "study/chain/precision_choice.h"

namespace dfsim::inline study {
namespace {

constexpr int64_t kInt8Accuracy = 4;  // of MatMulNBits' accuracy_level

StatusOr<int64_t> parse_extent(std::string_view text, std::string_view option) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool padded = text.size() > 1 && text.front() == '0';  // some would read 010 as eight
  if (error != std::errc() || end != text.data() + text.size() || padded) {
    return invalid_input(fmt::format("{}: '{}' is not a whole number", option, printable(text)));
  }
  return value;
}

// Splits at the last '=', since names of tensors may hold one.
StatusOr<std::pair<std::string, std::string>> split_assignment(const std::string& text,
                                                               std::string_view option,
                                                               std::string_view example) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid_input(
        fmt::format("{}: found '{}', expected {}", option, printable(text), example));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

// Adds what an option says of `name`; an option that was given twice must say the same.
template <typename Value>
Status add_given(std::string_view option, const std::string& name, Value value,
                 std::map<std::string, Value>* given) {
  const auto [it, inserted] = given->try_emplace(name, value);
  if (!inserted && it->second != value) {
    return invalid_input(fmt::format("{}: '{}' is given twice, with different values; give it once",
                                     option, printable(name)));
  }
  return ok_status();
}

Status strict_error(const LoadedModel& model, const std::string& path) {
  const UnresolvedOpInfo& first = model.report.unresolved.front();
  return invalid_input(
      fmt::format("{}: {} ops stay unresolved under --strict; the first is {} '{}': {}", path,
                  model.report.unresolved.size(), printable(first.op_type, 40),
                  printable(first.name), first.reason));
}

std::string padding_note(size_t vocabularies, int64_t multiple) {
  return vocabularies > 0
             ? fmt::format("{} padded to a multiple of {}",
                           counted(vocabularies, "vocabulary is", "vocabularies are"), multiple)
             : fmt::format(
                   "no vocabulary is padded: the model looks up no table of {} rows or "
                   "more whose rows are not a multiple of {}",
                   kLeastVocabulary, multiple);
}

// Loops that stay one operator are costed by a bound, which the reader should know.
void note_control_flow(LoadedModel* model) {
  for (const Op& op : model->executed.ops()) {
    if (op.op_class == OpClass::kControlFlow) {
      model->report.notes.push_back(
          fmt::format("{} '{}' is not written out (all loops may become {} operators; Scan of "
                      "opset 8 never is): "
                      "its time is the bound on the work of its trips",
                      op.op_type, printable(op.name), kMostExpandedOps));
    }
  }
}

// Without accuracy_level, ONNX Runtime's CPU kernels compute products of packed weights in fp32.
void note_unpacked_products(const Platform& platform, LoadedModel* model) {
  const auto unpacks = [](const Op& op) {
    return op.op_type == "MatMulNBits" && op.attributes.int_or("accuracy_level", 0) < kInt8Accuracy;
  };
  if (platform.runtime.framework == Framework::kOnnxRuntime && runs_on_cpu(platform) &&
      std::ranges::any_of(model->executed.ops(), unpacks)) {
    model->report.notes.push_back(
        "products of packed weights unpack them to fp32, as ONNX Runtime does on CPUs where "
        "accuracy_level is not set; a model quantised with accuracy_level=4 multiplies in 8 bits "
        "and is faster");
  }
}

}  // namespace

StatusOr<ImportOptions> ModelOptions::import_options() const {
  ImportOptions options;
  if (batch > 0) {
    options.batch = batch;
  }
  for (const std::string& text : dims) {
    DFSIM_ASSIGN_OR_RETURN(const auto assignment, split_assignment(text, "--dim", "NAME=N"));
    DFSIM_ASSIGN_OR_RETURN(const int64_t extent, parse_extent(assignment.second, "--dim"));
    DFSIM_RETURN_IF_ERROR(add_given("--dim", assignment.first, extent, &options.dims));
  }
  for (const std::string& text : input_shapes) {
    DFSIM_ASSIGN_OR_RETURN(const auto assignment,
                           split_assignment(text, "--input-shape", "NAME=1,3,224,224"));
    std::vector<int64_t> extents;
    const bool scalar = assignment.second.empty();
    for (const std::string& part :
         scalar ? std::vector<std::string>() : split(assignment.second, ',')) {
      DFSIM_ASSIGN_OR_RETURN(const int64_t extent, parse_extent(part, "--input-shape"));
      extents.push_back(extent);
    }
    DFSIM_RETURN_IF_ERROR(
        add_given("--input-shape", assignment.first, extents, &options.input_shapes));
  }
  for (const std::string& text : trip_counts) {
    DFSIM_ASSIGN_OR_RETURN(const auto assignment, split_assignment(text, "--trip-count", "NAME=N"));
    DFSIM_ASSIGN_OR_RETURN(const int64_t trips, parse_extent(assignment.second, "--trip-count"));
    if (trips < 0) {
      return invalid_input(fmt::format("--trip-count: {} is given for '{}'; expected 0 or more",
                                       trips, printable(assignment.first)));
    }
    DFSIM_RETURN_IF_ERROR(add_given("--trip-count", assignment.first, trips, &options.trip_counts));
  }
  if (!branch.empty()) {
    options.branch = branch == "then";
  }
  return options;
}

std::string model_name(const std::string& path) {
  const std::filesystem::path file(path);
  // A SavedModel is a folder, perhaps written with a slash behind.
  return printable((file.has_stem() ? file : file.parent_path()).stem().string());
}

namespace {

// Whether a model failed only because of sizes that the user gave: constants of the file, such as
// the shape of a Reshape, may be made for one batch size. Messages about options say so themselves.
bool has_own_sizes(const ModelOptions& options, const Status& failure) {
  if ((options.batch == 0 && options.dims.empty()) || failure.code() != StatusCode::kInvalidInput ||
      failure.message().find("--") != std::string::npos) {
    return false;
  }
  ModelOptions as_in_file = options;
  as_in_file.batch = 0;
  as_in_file.dims.clear();
  const auto import_options = as_in_file.import_options();
  return import_options.ok() && import_model_with(as_in_file, *import_options).ok();
}

}  // namespace

StatusOr<ImportedModel> import_model(const ModelOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const ImportOptions import_options, options.import_options());
  auto imported = import_model_with(options, import_options);
  if (imported.ok() || !has_own_sizes(options, imported.status())) {
    return imported;
  }
  return Status(imported.status().code(),
                imported.status().message() +
                    "; the model works with the sizes in its file: leave --batch and --dim out");
}

StatusOr<ImportedModel> import_model_with(const ModelOptions& options,
                                          const ImportOptions& import_options) {
  if (is_llm_config(options.path)) {
    DFSIM_ASSIGN_OR_RETURN(const PrecisionPlan plan, read_precision(options.precision));
    return import_llm_config(options.path, import_options, config_dtype(plan));
  }
  if (recognise_tensorflow(options.path)) {
    return import_tensorflow(options.path, import_options, options.signature);
  }
  if (!options.signature.empty()) {
    return invalid_input(options.path + ": --signature: only SavedModels have signatures");
  }
  return import_onnx(options.path, import_options);
}

namespace {

// Adds up what is not known and makes the tasks.
Status lower(LoadedModel* model) {
  model->unknown = unknown_work(model->executed, model->report);
  auto workload = make_workload(model->executed);
  if (!workload.ok()) {
    return workload.status().with_place(model->path);
  }
  model->workload = std::move(*workload);
  return ok_status();
}

// The import as the precision and the runtime execute its forward pass, not lowered yet.
StatusOr<LoadedModel> rewrite(const ImportedModel& imported, const ModelOptions& options,
                              const TrainingChoice& choice, const Platform& platform) {
  LoadedModel model;
  model.path = options.path;
  model.name = model_name(options.path);
  model.imported_ops = imported.graph.op_count();
  model.report = imported.report;
  if (options.strict && !model.report.unresolved.empty()) {
    return strict_error(model, options.path);
  }
  DFSIM_ASSIGN_OR_RETURN(PrecisionPlan plan,
                         choose_precision(options.precision, choice.is_training(), platform,
                                          imported.graph, &model.report));
  const auto with_path = [&](const Status& status) { return status.with_place(options.path); };
  auto totals = graph_totals(imported.graph);
  if (!totals.ok()) {
    return with_path(totals.status());
  }
  model.totals = std::move(*totals);
  const Status keeps =
      keep_own_precision(imported.graph, choice.is_training(), &plan, &model.report);
  if (!keeps.ok()) {
    return with_path(keeps);
  }
  model.precision = plan.name;
  model.autocast = plan.base == Precision::kMixedFp16 || plan.base == Precision::kMixedBf16;
  if (!choice.is_training()) {  // its graph isn't made from a file with open dimensions
    model.open_dims = open_dims_for(imported, options, platform.runtime);
  }
  auto executed = execute_as(
      imported.graph, runtime_for(choice, platform.runtime),
      {.precision = plan,
       .cpu = runs_on_cpu(platform),
       .trains = choice.is_training(),
       .training_mode = choice.training_mode,
       .pad_vocabulary = options.pad_vocabulary,
       .open_axes = model.open_dims.empty() ? std::vector<OpenAxis>() : imported.report.open_axes,
       .declared_axes = imported.report.declared_axes});
  if (!executed.ok()) {
    return with_path(executed.status());
  }
  if (options.pad_vocabulary > 0) {
    model.report.notes.push_back(
        padding_note(executed->padded_vocabularies, options.pad_vocabulary));
  }
  model.executed = std::move(executed->graph);
  model.source_ops = executed->source_ops;
  model.pruned_ops = executed->pruned_ops;
  model.unsized = std::move(executed->unsized);
  note_control_flow(&model);
  note_unpacked_products(platform, &model);
  note_idle_rules(model.executed, plan, &model.report);
  note_wider_precision(imported.graph, model.executed, &model.report);
  model.passes = std::move(executed->passes);
  return model;
}

}  // namespace

StatusOr<LoadedModel> load_model(const ModelOptions& options, const TrainingChoice& choice,
                                 const Platform& platform) {
  DFSIM_RETURN_IF_ERROR(choice.options().status());
  DFSIM_RETURN_IF_ERROR(check_trains(choice, platform));
  DFSIM_RETURN_IF_ERROR(resolve_precision(options.precision, platform).status());
  DFSIM_ASSIGN_OR_RETURN(const ImportedModel imported, import_model(options));
  return load_imported(imported, options, choice, platform);
}

StatusOr<LoadedModel> load_forward(const ModelOptions& options, const TrainingChoice& choice,
                                   const Platform& platform) {
  DFSIM_RETURN_IF_ERROR(resolve_precision(options.precision, platform).status());
  DFSIM_ASSIGN_OR_RETURN(const ImportedModel imported, import_model(options));
  DFSIM_ASSIGN_OR_RETURN(LoadedModel model, rewrite(imported, options, choice, platform));
  DFSIM_RETURN_IF_ERROR(lower(&model));
  return model;
}

StatusOr<LoadedModel> load_imported(const ImportedModel& imported, const ModelOptions& options,
                                    const TrainingChoice& choice, const Platform& platform) {
  DFSIM_ASSIGN_OR_RETURN(const std::optional<TrainingOptions> training, choice.options());
  DFSIM_RETURN_IF_ERROR(check_trains(choice, platform));
  DFSIM_ASSIGN_OR_RETURN(LoadedModel model, rewrite(imported, options, choice, platform));
  if (training) {
    if (std::string note = folded_norms_note(imported.graph); !note.empty()) {
      model.report.notes.push_back(std::move(note));
    }
    auto step = make_training_graph(model.executed, *training);
    if (!step.ok()) {
      return step.status().with_place(options.path);
    }
    model.executed = std::move(step->graph);
    if (compiles_steps(platform.runtime)) {
      DFSIM_ASSIGN_OR_RETURN(model.executed, fuse_step_kernels(model.executed));
    }
    model.unsized.clear();
    model.report.batch *= training->accumulate;  // samples of a step
    model.is_training = true;
  }
  DFSIM_RETURN_IF_ERROR(lower(&model));
  return model;
}

std::vector<std::string> open_dims_for(const ImportedModel& imported, const ModelOptions& options,
                                       const RuntimeSpec& runtime) {
  std::vector<std::string> names;
  if (options.static_dims || !sees_open_axes(runtime)) {
    return names;
  }
  for (const OpenAxis& axis : imported.report.open_axes) {
    if (std::find(names.begin(), names.end(), axis.name) == names.end()) {
      names.push_back(axis.name);
    }
  }
  return names;
}

StatusOr<std::string> find_network(const std::string& name, std::vector<std::string> folders) {
  if (folders.empty()) {
    for (const std::string& data : data_dirs()) {
      folders.push_back(data + "/graphs/zoo");
      folders.push_back(data + "/datasets/measured/networks");
    }
  }
  std::error_code error;
  for (const std::string& folder : folders) {
    for (const std::string_view suffix : {".onnx", ".onnx.gz"}) {
      const std::filesystem::path path =
          std::filesystem::path(folder) / fmt::format("{}{}", name, suffix);
      if (std::filesystem::is_regular_file(path, error)) {
        return path.string();
      }
    }
  }
  return not_found(fmt::format("no file {}.onnx in {}; give its folder with --networks DIR",
                               printable(name), join(folders, ", ")));
}

}  // namespace dfsim::inline study
