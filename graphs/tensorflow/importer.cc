// The steps of a TensorFlow import: choose roots, declare inputs, translate what the roots need,
// mark weights and updates, infer shapes. Only nodes that a root depends on are translated.
#include "graphs/tensorflow/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "graphs/ops/import_notes.h"
#include "graphs/ops/values/bind_dims.h"
#include "graphs/tensorflow/control/roots_internal.h"
#include "graphs/tensorflow/translator_internal.h"

namespace dfsim::inline graphs {
namespace {

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
    DFSIM_ASSIGN_OR_RETURN(const std::vector<NamedRoot> roots, find_roots(source_, graph));
    fill_info();
    std::vector<Source> sources;
    for (const NamedRoot& root : roots) {
      sources.push_back(root.source);
    }
    DFSIM_ASSIGN_OR_RETURN(const std::vector<int32_t> needed,
                           graph.schedule(sources, options_.branch, nullptr));
    Emitter emitter(&builder_, shared_.infer, &shared_.unresolved);
    Translator translator(shared_, emitter, graph, {}, "", 0);
    add_inputs(graph, needed, emitter, translator);
    bool overridden = false;
    DFSIM_RETURN_IF_ERROR(bind_dims(builder_, options_, &report_, &overridden));
    note_shapeless_inputs();
    captured_to_weights();
    shared_.outermost = &emitter;
    DFSIM_RETURN_IF_ERROR(translator.run(sources));
    for (const NamedRoot& root : roots) {
      mark_output(emitter, translator.value(root.source), root.name);
    }
    mark_updates(emitter, graph, roots);
    DFSIM_RETURN_IF_ERROR(emitter.status());
    if (builder_.outputs().empty()) {
      return invalid_input("the graph computes nothing: no result of it is a tensor");
    }
    note_bounds(builder_, &report_.notes);
    DFSIM_ASSIGN_OR_RETURN(Graph built, builder_.build());
    DFSIM_RETURN_IF_ERROR(check_trip_counts(options_, built));
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

  std::string input_name(const std::string& node) const {
    for (const SignatureEntry& input : source_.signature_inputs()) {
      if (input.tensor == node || input.tensor == node + ":0") {
        return input.name;
      }
    }
    return node;
  }

  // Placeholders that the results need become inputs, named as the signature says.
  void add_inputs(const NodeGraph& graph, const std::vector<int32_t>& needed, Emitter& emitter,
                  Translator& translator) {
    CapturedVariables variables(source_, graph);
    for (const int32_t node : needed) {
      if (!is_input_op(graph.op(node))) {
        continue;
      }
      const tf::NodeDef& def = *graph.node(node).def;
      if (is_captured_resource(def)) {
        translator.preset(node, {emitter.add_plain(add_captured(def, variables.find(node)))});
        continue;
      }
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
        // Old files write an unknown shape as that of a scalar.
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
  }

  // A variable that a traced function has captured is a weight. While its shape is open it stands
  // among the inputs, so that --input-shape can say it.
  TensorId add_captured(const tf::NodeDef& def, const std::optional<CapturedVariable>& variable) {
    Tensor tensor;
    tensor.name = def.name();
    if (variable) {
      tensor.dtype = variable->dtype;
      tensor.shape = variable->shape;
    }
    const bool open =
        variable && (!variable->shape.is_static() || options_.input_shapes.contains(def.name()));
    tensor.role = open ? TensorRole::kActivation : TensorRole::kWeight;
    const TensorId id = builder_.add_tensor(std::move(tensor));
    if (open) {
      builder_.mark_input(id);
      captured_.insert(id);
    }
    return id;
  }

  void captured_to_weights() {
    std::vector<TensorId> fed;
    for (const TensorId input : builder_.inputs()) {
      if (!captured_.contains(input)) {
        fed.push_back(input);
        continue;
      }
      builder_.tensor(input).is_input = false;
      builder_.tensor(input).role = TensorRole::kWeight;
    }
    builder_.set_inputs(std::move(fed));
  }

  // The values that functions leave in variables. Graphs that update parameters are marked: their
  // weights change from run to run.
  void mark_updates(Emitter& emitter, const NodeGraph& graph, const std::vector<NamedRoot>& roots) {
    bool training = std::any_of(roots.begin(), roots.end(), [&](const NamedRoot& root) {
      return !root.source.is_argument() && changes_variable(graph.op(root.source.node));
    });
    for (const ValueId update : shared_.updates) {
      const TensorId tensor = emitter.plain(update);
      if (!tensor.valid() || !builder_.tensor(tensor).producer.valid()) {
        continue;  // set to what was known before
      }
      training = true;
      if (!builder_.tensor(tensor).is_output) {
        builder_.mark_output(tensor);
      }
    }
    if (training) {
      builder_.info().metadata.emplace_back(std::string(kTrainingKey), "1");
    }
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

  void write_notes() {
    note_assumptions(shared_.open_loops, open_ifs_, &report_);
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
  std::unordered_set<TensorId> captured_;
};

}  // namespace

StatusOr<ImportedModel> import_tensorflow_bytes(std::string_view content, TensorFlowFormat format,
                                                const ImportOptions& options,
                                                const std::string& signature) {
  TfSource source;
  DFSIM_RETURN_IF_ERROR(source.read(content, format, signature));
  return Importer(source, options).run();
}

}  // namespace dfsim::inline graphs
