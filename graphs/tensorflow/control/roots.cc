// Finds the results of a graph. A signature names them; in a frozen graph they are the nodes
// without a reader, less those that only check, save, or initialise. Variables that traced
// functions capture are followed through calls to where their values are used.
#include "graphs/tensorflow/control/roots_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMaxCallDepth = 16;

// Nodes without readers that are not results either.
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

// For each node whether something that is fed from outside gets there.
std::vector<bool> fed_nodes(const NodeGraph& graph) {
  std::vector<std::vector<int32_t>> readers(graph.size());
  std::vector<bool> fed(graph.size(), false);
  std::vector<int32_t> work;
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    for (const Source source : graph.node(index).inputs) {
      if (!source.is_argument()) {
        readers[static_cast<size_t>(source.node)].push_back(index);
      }
    }
    if (is_input_op(graph.op(index)) && !is_captured_resource(*graph.node(index).def)) {
      fed[i] = true;
      work.push_back(index);
    }
  }
  while (!work.empty()) {
    const int32_t node = work.back();
    work.pop_back();
    for (const int32_t reader : readers[static_cast<size_t>(node)]) {
      if (!fed[static_cast<size_t>(reader)]) {
        fed[static_cast<size_t>(reader)] = true;
        work.push_back(reader);
      }
    }
  }
  return fed;
}

StatusOr<std::vector<NamedRoot>> roots_of_signature(const TfSource& source,
                                                    const NodeGraph& graph) {
  std::vector<NamedRoot> roots;
  for (const SignatureEntry& output : source.signature_outputs()) {
    const auto found = graph.find(output.tensor);
    if (!found) {
      return invalid_input(fmt::format(
          "output '{}' of signature '{}' is '{}', which no node produces", printable(output.name),
          printable(source.signature_name()), printable(output.tensor)));
    }
    roots.push_back({output.name, *found});
  }
  return roots;
}

// Which nodes anybody reads who does more than check or save. Nodes that hand a value on and that
// others only wait for are anchors: TensorFlow 2 puts one (loop_body_control) into each frozen
// loop.
std::vector<bool> read_nodes(const NodeGraph& graph) {
  std::vector<bool> read(graph.size(), false);
  for (size_t i = 0; i < graph.size(); ++i) {
    const TfNode& node = graph.node(static_cast<int32_t>(i));
    const std::string& type = node.def->op();
    if (type == "Assert" || type == "SaveV2" || type.find("Summary") != std::string::npos) {
      continue;
    }
    for (const Source source : node.inputs) {
      if (!source.is_argument()) {
        read[static_cast<size_t>(source.node)] = true;
      }
    }
    for (const int32_t control : node.controls) {
      if (is_identity_op(graph.op(control))) {
        read[static_cast<size_t>(control)] = true;
      }
    }
  }
  return read;
}

// How many loops of TensorFlow 1 each node is inside of. Without the edges that lead back a graph
// has no cycle; nodes of one that has count as outside.
std::vector<int> loop_depths(const NodeGraph& graph) {
  std::vector<std::vector<int32_t>> readers(graph.size());
  std::vector<int> pending(graph.size(), 0);
  std::vector<int32_t> ready;
  const auto follows = [&](int32_t reader, int32_t node) {
    if (!graph.op(node).ends_with("NextIteration")) {
      readers[static_cast<size_t>(node)].push_back(reader);
      ++pending[static_cast<size_t>(reader)];
    }
  };
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    for (const Source source : graph.node(index).inputs) {
      if (!source.is_argument()) {
        follows(index, source.node);
      }
    }
    // Constants of a trip only wait for it.
    for (const int32_t control : graph.node(index).controls) {
      follows(index, control);
    }
    if (pending[i] == 0) {
      ready.push_back(index);
    }
  }
  std::vector<int> depths(graph.size(), 0);  // of what a node reads, until it is its turn
  while (!ready.empty()) {
    const int32_t node = ready.back();
    ready.pop_back();
    const std::string& type = graph.op(node);
    int& depth = depths[static_cast<size_t>(node)];
    depth += type == "Enter" || type == "RefEnter" ? 1 : 0;
    depth -= type == "Exit" || type == "RefExit" ? 1 : 0;
    for (const int32_t reader : readers[static_cast<size_t>(node)]) {
      int& of_reader = depths[static_cast<size_t>(reader)];
      of_reader = std::max(of_reader, depth);
      if (--pending[static_cast<size_t>(reader)] == 0) {
        ready.push_back(reader);
      }
    }
  }
  return depths;
}

}  // namespace

bool is_input_op(const std::string& type) {
  return type == "Placeholder" || type == "PlaceholderV2" || type == "IteratorGetNext" ||
         type == "_Arg" || type == "DecodeJpeg" || type == "DecodePng" || type == "DecodeImage" ||
         type == "DecodeBmp" || type == "DecodeGif" || type == "DecodeAndCropJpeg";
}

bool is_update_op(const std::string& type) {
  return type.starts_with("ResourceApply") || type.starts_with("ResourceSparseApply") ||
         type.starts_with("Apply") || type.starts_with("SparseApply") ||
         type == "AssignAddVariableOp" || type == "AssignSubVariableOp" || type == "AssignAdd" ||
         type == "AssignSub" || type == "ResourceScatterAdd" || type == "ResourceScatterUpdate" ||
         type == "ScatterAdd" || type == "ScatterUpdate";
}

bool changes_variable(const std::string& type) {
  return is_update_op(type) || type == "AssignVariableOp" || type == "Assign";
}

bool is_captured_resource(const tf::NodeDef& node) {
  const tf::AttrValue* dtype = find_attribute(node, "dtype");
  return node.op() == "Placeholder" && dtype != nullptr && dtype->type() == tf::DT_RESOURCE;
}

StatusOr<std::vector<NamedRoot>> find_roots(const TfSource& source, const NodeGraph& graph) {
  if (source.has_signature()) {
    return roots_of_signature(source, graph);
  }
  const std::vector<bool> read = read_nodes(graph);
  const std::vector<bool> fed = fed_nodes(graph);
  const std::vector<int> depths = loop_depths(graph);
  std::vector<NamedRoot> roots;
  for (size_t i = 0; i < graph.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    const std::string& type = graph.op(index);
    // Nodes that only initialise a variable depend on no input.
    const bool update = is_update_op(type) || (changes_variable(type) && fed[i]);
    if (!update && (read[i] || is_no_result(type))) {
      continue;
    }
    if (depths[i] > 0) {  // what one trip computes and leaves, such as a counter's last value
      continue;
    }
    // A parameter that is only passed on is not a result.
    const Source origin = graph.skip_identities({index, 0});
    if (!update && !origin.is_argument() && is_no_result(graph.op(origin.node)) &&
        origin.node != index) {
      continue;
    }
    roots.push_back({graph.node(index).def->name(), {index, 0}});
  }
  if (roots.empty()) {
    return invalid_input(
        "the graph has no result: every node is read by another, or computes nothing");
  }
  return roots;
}

CapturedVariables::CapturedVariables(const TfSource& source, const NodeGraph& graph)
    : source_(source) {
  for (size_t i = 0; i < graph.size(); ++i) {
    const TfNode& node = graph.node(static_cast<int32_t>(i));
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const Source input = node.inputs[k];
      if (!input.is_argument() && is_captured_resource(*graph.node(input.node).def)) {
        readers_[input.node].push_back({node.def, static_cast<int>(k)});
      }
    }
  }
}

std::optional<CapturedVariable> CapturedVariables::find(int32_t node) {
  CapturedVariable found;
  if (const auto it = readers_.find(node); it != readers_.end()) {
    for (const Use& use : it->second) {
      look(use, 0, &found);
    }
  }
  return found.dtype != DType::kUnknown ? std::optional(found) : std::nullopt;
}

void CapturedVariables::look(const Use& use, int depth, CapturedVariable* found) {
  if (++looks_ > kMostLooks || depth > kMaxCallDepth ||
      (found->dtype != DType::kUnknown && found->shape.has_rank())) {
    return;
  }
  const tf::NodeDef& node = *use.node;
  const std::string& type = node.op();
  if (type == "ReadVariableOp" || type == "ResourceGather" || changes_variable(type)) {
    for (const char* name : {"dtype", "T"}) {
      const tf::AttrValue* dtype = find_attribute(node, name);
      if (dtype != nullptr && found->dtype == DType::kUnknown) {
        found->dtype = dtype_from_tf(dtype->type());
      }
    }
    const tf::AttrValue* shapes = find_attribute(node, "_output_shapes");
    if (type == "ReadVariableOp" && shapes != nullptr && shapes->list().shape_size() == 1) {
      found->shape = shape_from_tf(shapes->list().shape(0)).value_or(Shape());
    }
    return;
  }
  if (source_.function(type) != nullptr) {
    look_inside(type, use.position, depth, found);
    return;
  }
  // Branches get what follows the condition.
  const bool branch = type.ends_with("If") || type.ends_with("Case");
  for (const char* name : {"f", "body", "cond", "then_branch", "else_branch"}) {
    if (const tf::AttrValue* function = find_attribute(node, name)) {
      look_inside(function->func().name(), use.position - (branch ? 1 : 0), depth, found);
    }
  }
}

void CapturedVariables::look_inside(const std::string& function, int argument, int depth,
                                    CapturedVariable* found) {
  const tf::FunctionDef* definition = source_.function(function);
  if (definition == nullptr || argument < 0 ||
      argument >= definition->signature().input_arg_size()) {
    return;
  }
  const auto [it, inserted] = functions_.try_emplace(function);
  if (inserted) {
    for (const tf::NodeDef& node : definition->node_def()) {
      for (int k = 0; k < node.input_size(); ++k) {
        it->second[node.input(k)].push_back({&node, k});
      }
    }
  }
  const auto uses = it->second.find(definition->signature().input_arg(argument).name());
  if (uses != it->second.end()) {
    for (const Use& use : uses->second) {
      look(use, depth + 1, found);
    }
  }
}

}  // namespace dfsim::inline graphs
