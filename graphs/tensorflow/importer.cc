#include "graphs/tensorflow/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "base/mapped_file.h"
#include "base/text.h"
#include "graphs/ops/bind_dims.h"
#include "graphs/tensorflow/translator_internal.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

bool is_input_op(const std::string& type) {
  return type == "Placeholder" || type == "PlaceholderV2" || type == "IteratorGetNext" ||
         type == "_Arg" || type == "DecodeJpeg" || type == "DecodePng";
}

// Nodes that nobody reads and that are no results either.
bool is_no_result(const std::string& type) {
  static const std::unordered_set<std::string_view> kTypes = {"Const",
                                                              "NoOp",
                                                              "Assert",
                                                              "VarHandleOp",
                                                              "VariableV2",
                                                              "Variable",
                                                              "Assign",
                                                              "AssignVariableOp",
                                                              "SaveV2",
                                                              "SaveSlices",
                                                              "RestoreV2",
                                                              "Restore",
                                                              "MergeV2Checkpoints",
                                                              "ShardedFilename",
                                                              "IsVariableInitialized",
                                                              "VarIsInitializedOp",
                                                              "WriteFile",
                                                              "PrintV2",
                                                              "ControlTrigger",
                                                              "DestroyResourceOp",
                                                              "HashTableV2",
                                                              "InitializeTableFromTextFileV2",
                                                              "LookupTableImportV2",
                                                              "NextIteration",
                                                              "MutableHashTableV2",
                                                              "DeleteIterator"};
  return kTypes.contains(type) || type.find("Summary") != std::string::npos || is_input_op(type);
}

// "Loop 'a', 'b', 'c' and 4 more"
std::string some_names(std::string_view what, const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    shown.push_back(fmt::format("'{}'", printable(names[i], 60)));
  }
  const std::string more =
      names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "";
  return fmt::format("{} {}{}", what, join(shown, ", "), more);
}

// A result of the model and its name.
struct NamedRoot {
  std::string name;
  Source source;
};

class Importer {
 public:
  Importer(const TfSource& source, const ImportOptions& options)
      : source_(source), options_(options), shared_{source, options} {
    shared_.infer.trip_counts = options.trip_counts;
    shared_.infer.branch = options.branch;
    shared_.infer.open_loops = &shared_.open_loops;
    shared_.infer.open_ifs = &open_ifs_;
    shared_.infer.on_unresolved_in_body = [this](const Op& outer, const Op& op,
                                                 const std::string& reason) {
      shared_.unresolved.push_back(
          {fmt::format("{}/{}", printable(outer.name), op.name), op.op_type, reason});
    };
  }

  StatusOr<ImportedModel> run() {
    DFSIM_ASSIGN_OR_RETURN(const NodeGraph graph, NodeGraph::of_graph(source_));
    DFSIM_ASSIGN_OR_RETURN(const std::vector<NamedRoot> roots, find_roots(graph));
    fill_info();
    std::vector<Source> sources;
    for (const NamedRoot& root : roots) {
      sources.push_back(root.source);
    }
    DFSIM_ASSIGN_OR_RETURN(const std::vector<int32_t> needed,
                           graph.schedule(sources, options_.branch, nullptr));
    Emitter emitter(&builder_, shared_.infer, &shared_.unresolved);
    Translator translator(shared_, emitter, graph, {}, "", 0);
    DFSIM_RETURN_IF_ERROR(add_inputs(graph, needed, emitter, translator));
    bool overridden = false;
    DFSIM_RETURN_IF_ERROR(bind_dims(builder_, options_, &report_, &overridden));
    note_shapeless_inputs();
    DFSIM_RETURN_IF_ERROR(translator.run(sources));
    for (const NamedRoot& root : roots) {
      mark_output(emitter, translator.value(root.source), root.name);
    }
    DFSIM_RETURN_IF_ERROR(emitter.status());
    if (builder_.outputs().empty()) {
      return invalid_input("the graph computes nothing: no result of it is a tensor");
    }
    DFSIM_ASSIGN_OR_RETURN(Graph built, builder_.build());
    DFSIM_RETURN_IF_ERROR(check_trip_counts(built));
    write_notes();
    report_.unresolved = std::move(shared_.unresolved);
    return ImportedModel{std::move(built), std::move(report_)};
  }

 private:
  void fill_info() {
    GraphInfo& info = builder_.info();
    info.producer = source_.producer();
    info.name = source_.signature_name();
    info.opsets.emplace_back("", kEmittedOpset);
    report_.file_nodes = source_.graph().node_size();
    for (const tf::FunctionDef& function : source_.graph().library().function()) {
      report_.file_nodes += function.node_def_size();
    }
  }

  // The signature's outputs, or what nobody reads, and updates of parameters.
  StatusOr<std::vector<NamedRoot>> find_roots(const NodeGraph& graph) const {
    std::vector<NamedRoot> roots;
    if (source_.has_signature()) {
      for (const SignatureEntry& output : source_.signature_outputs()) {
        const auto found = graph.find(output.tensor);
        if (!found) {
          return invalid_input(
              fmt::format("output '{}' of signature '{}' is '{}', which no node "
                          "produces",
                          printable(output.name), printable(source_.signature_name()),
                          printable(output.tensor)));
        }
        roots.push_back({output.name, *found});
      }
      return roots;
    }
    std::vector<bool> read(graph.size(), false);
    for (size_t i = 0; i < graph.size(); ++i) {
      const TfNode& node = graph.node(static_cast<int32_t>(i));
      const bool ignored = node.def->op() == "Assert" || node.def->op() == "SaveV2" ||
                           node.def->op().find("Summary") != std::string::npos;
      for (const Source source : node.inputs) {
        if (!ignored && !source.is_argument()) {
          read[static_cast<size_t>(source.node)] = true;
        }
      }
    }
    for (size_t i = 0; i < graph.size(); ++i) {
      const auto index = static_cast<int32_t>(i);
      const std::string& type = graph.op(index);
      const bool update = is_update_op(type);
      if ((read[i] && !update) || is_no_result(type)) {
        continue;
      }
      // A parameter that is only handed on is no result.
      const Source origin = graph.skip_identities({index, 0});
      if (!update && !origin.is_argument() && is_no_result(graph.op(origin.node)) &&
          origin.node != index) {
        continue;
      }
      roots.push_back({graph.node(index).def->name(), {index, 0}});
    }
    if (roots.empty()) {
      return invalid_input(
          "the graph has no result: every node is read by another, or computes "
          "nothing");
    }
    return roots;
  }

  std::string input_name(const std::string& node) const {
    for (const SignatureEntry& input : source_.signature_inputs()) {
      if (input.tensor == node || input.tensor == node + ":0") {
        return input.name;
      }
    }
    return node;
  }

  // Placeholders that the results need become inputs, named as the signature says.
  Status add_inputs(const NodeGraph& graph, const std::vector<int32_t>& needed, Emitter& emitter,
                    Translator& translator) {
    for (const int32_t node : needed) {
      if (!is_input_op(graph.op(node))) {
        continue;
      }
      const tf::NodeDef& def = *graph.node(node).def;
      NodeContext context(emitter, def, def.name(), {});
      const tf::AttrValue* types = find_attribute(def, "output_types");
      const tf::AttrValue* shapes = find_attribute(def, "output_shapes");
      const int count = types != nullptr ? types->list().type_size() : 1;
      std::vector<ValueId> outputs;
      for (int i = 0; i < count; ++i) {
        Tensor tensor;
        tensor.name = i == 0 ? input_name(def.name()) : fmt::format("{}:{}", def.name(), i);
        tensor.dtype =
            types != nullptr ? dtype_from_tf(types->list().type(i)) : context.attr_dtype("dtype");
        auto shape = shapes != nullptr && i < shapes->list().shape_size()
                         ? shape_from_tf(shapes->list().shape(i))
                         : context.attr_shape("shape");
        // Old files write a shape that nobody knows as that of a scalar.
        constexpr int kFirstWithUnknownRank = 24;
        const bool old = source_.graph().versions().producer() < kFirstWithUnknownRank;
        if (shape && shape->has_rank() && shape->rank() == 0 && old) {
          shape = Shape();
        }
        tensor.shape = shape.value_or(Shape());
        const TensorId id = builder_.add_tensor(std::move(tensor));
        builder_.mark_input(id);
        outputs.push_back(emitter.add_plain(id));
      }
      translator.preset(node, std::move(outputs));
    }
    return ok_status();
  }

  void note_shapeless_inputs() {
    for (const TensorId input : builder_.inputs()) {
      if (!builder_.tensor(input).shape.has_rank()) {
        report_.notes.push_back(fmt::format(
            "the file does not say the shape of input '{}': give it with --input-shape "
            "{}=N,N,...",
            printable(builder_.tensor(input).name), printable(builder_.tensor(input).name)));
      }
    }
  }

  void mark_output(Emitter& emitter, ValueId value, const std::string& name) {
    const TensorId tensor = emitter.plain(value);
    if (!tensor.valid() || builder_.tensor(tensor).name == name) {
      if (tensor.valid()) {
        builder_.mark_output(tensor);
      }
      return;
    }
    // Under the name that the file gives it.
    const TensorId named = emitter.emit_one({"Identity", "", name, {tensor}});
    if (named.valid()) {
      builder_.mark_output(named);
    }
  }

  // Every name that a trip count is given for is that of a loop.
  Status check_trip_counts(const Graph& graph) const {
    std::vector<std::string> loops;
    for (const Op& op : graph.ops()) {
      if (op.op_type == "Loop") {
        loops.push_back(op.name);
      }
    }
    for (const auto& [name, count] : options_.trip_counts) {
      if (std::find(loops.begin(), loops.end(), name) == loops.end()) {
        return invalid_input("--trip-count: " + unknown_name_message("loop", name, loops));
      }
    }
    return ok_status();
  }

  void write_notes() {
    if (!shared_.open_loops.empty()) {
      report_.notes.push_back(
          fmt::format("how often {} runs is not known before the run, 1 is assumed; use "
                      "--trip-count NAME=N",
                      some_names("Loop", shared_.open_loops)));
    }
    if (!open_ifs_.empty()) {
      report_.notes.push_back(
          fmt::format("which branch of {} is taken is not known before the run, the larger one is "
                      "costed; --branch then|else chooses",
                      some_names("If", open_ifs_)));
    }
    if (!shared_.open_branches.empty()) {
      report_.notes.push_back(
          fmt::format("which side of {} is taken is not known before the run, that with more nodes "
                      "is costed; --branch then|else chooses",
                      some_names("branch", shared_.open_branches)));
    }
  }

  const TfSource& source_;
  const ImportOptions& options_;
  GraphBuilder builder_;
  ImportReport report_;
  Translation shared_;
  std::vector<std::string> open_ifs_;
};

StatusOr<TensorFlowFormat> folder_format(const std::string& folder, std::string* file) {
  for (const auto& [name, format] :
       {std::pair("saved_model.pb", TensorFlowFormat::kSavedModel),
        std::pair("saved_model.pbtxt", TensorFlowFormat::kSavedModelText)}) {
    std::error_code ignored;
    if (fs::is_regular_file(fs::path(folder) / name, ignored)) {
      *file = (fs::path(folder) / name).string();
      return format;
    }
  }
  return invalid_input(folder +
                       ": a folder without saved_model.pb or saved_model.pbtxt; expected a model "
                       "file or a SavedModel");
}

// The first byte inside a field whose length is written at `pos`; 0 when there is none.
char first_byte_inside(std::string_view content, size_t pos) {
  while (pos < content.size() && (static_cast<unsigned char>(content[pos]) & 0x80U) != 0) {
    ++pos;
  }
  return pos + 1 < content.size() ? content[pos + 1] : '\0';
}

// SavedModels start with their schema version and a graph whose first field is its description;
// ONNX models that look alike have a producer's name there.
bool looks_saved(std::string_view content) {
  constexpr std::string_view kHead("\x08\x01\x12", 3);
  const char inside = content.starts_with(kHead) ? first_byte_inside(content, kHead.size()) : '\0';
  return inside == '\x0a' || inside == '\x12';
}

// A node with its name or type first, or the version. No ONNX model starts so.
bool looks_like_graph(std::string_view content) {
  if (content.empty()) {
    return false;
  }
  const char inside = first_byte_inside(content, 1);
  return (content[0] == '\x0a' && (inside == '\x0a' || inside == '\x12')) ||
         (content[0] == '\x22' && inside == '\x08');
}

// Text of a graph starts with one of its fields.
bool looks_like_text(std::string_view content) {
  size_t pos = 0;
  while (pos < content.size() && (content[pos] == ' ' || content[pos] == '\n' ||
                                  content[pos] == '\r' || content[pos] == '\t')) {
    ++pos;
  }
  const std::string_view rest = content.substr(pos);
  for (const std::string_view field :
       {"node", "versions", "library", "saved_model_schema_version", "meta_graphs", "#"}) {
    if (rest.starts_with(field)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<TensorFlowFormat> recognise_tensorflow(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return TensorFlowFormat::kSavedModel;
  }
  const std::string extension = to_lower(fs::path(path).extension().string());
  const auto file = MappedFile::open(path);
  if (!file.ok() || extension == ".onnx") {
    return std::nullopt;
  }
  const std::string_view content = file->content();
  if (looks_like_text(content)) {
    return content.find("meta_graphs") != std::string_view::npos &&
                   content.find("saved_model_schema_version") != std::string_view::npos
               ? TensorFlowFormat::kSavedModelText
               : TensorFlowFormat::kGraphDefText;
  }
  if (looks_saved(content)) {
    return TensorFlowFormat::kSavedModel;
  }
  if (extension == ".pbtxt") {
    return TensorFlowFormat::kGraphDefText;
  }
  return looks_like_graph(content) ? std::optional(TensorFlowFormat::kGraphDef) : std::nullopt;
}

StatusOr<ImportedModel> import_tensorflow_bytes(std::string_view content, TensorFlowFormat format,
                                                const ImportOptions& options,
                                                const std::string& signature) {
  TfSource source;
  DFSIM_RETURN_IF_ERROR(source.read(content, format, signature));
  return Importer(source, options).run();
}

StatusOr<ImportedModel> import_tensorflow(const std::string& path, const ImportOptions& options,
                                          const std::string& signature) {
  std::string file = path;
  std::optional<TensorFlowFormat> format;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    DFSIM_ASSIGN_OR_RETURN(format, folder_format(path, &file));
  } else {
    format = recognise_tensorflow(path);
  }
  DFSIM_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(file));
  if (!format) {
    return invalid_input(path +
                         ": no TensorFlow graph; expected a GraphDef, a SavedModel or either "
                         "in text format");
  }
  auto model = import_tensorflow_bytes(mapped.content(), *format, options, signature);
  if (!model.ok()) {
    return model.status().with_place(path);
  }
  return model;
}

}  // namespace dfsim
