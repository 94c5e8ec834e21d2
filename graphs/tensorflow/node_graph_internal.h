// NodeGraph: the nodes of a GraphDef or of one function with their inputs resolved, the loops of
// TensorFlow 1, and orders to visit them in. Internal to graphs/tensorflow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "graphs/tensorflow/source_internal.h"

namespace dfsim::inline graphs {

// Output `output` of a node, or argument `output` of the function.
struct Source {
  static constexpr int32_t kArgument = -1;
  static constexpr int32_t kNoOutput = -1;  // the node runs, nobody reads it
  int32_t node = kArgument;
  int32_t output = 0;

  bool is_argument() const { return node == kArgument; }
  bool operator==(const Source&) const = default;
};

struct TfNode {
  const tf::NodeDef* def = nullptr;
  std::vector<Source> inputs;     // data only
  std::vector<int32_t> controls;  // nodes that must run before
};

// A while loop written with Enter, Merge, Switch, NextIteration and Exit. Variable i starts as the
// input of enters[i], is merges[i] in each trip, becomes the input of next_iterations[i].
struct LoopFrame {
  std::string name;
  std::vector<int32_t> enters;
  std::vector<int32_t> merges;
  std::vector<int32_t> next_iterations;
  std::vector<int32_t> constant_enters;  // same value in every trip
  int32_t condition = -1;                // LoopCond
};

class NodeGraph {
 public:
  // Error (kInvalidInput): repeated names, inputs that do not exist, a loop without its parts.
  static StatusOr<NodeGraph> of_graph(const TfSource& source);
  static StatusOr<NodeGraph> of_function(const TfSource& source, const tf::FunctionDef& function);

  size_t size() const { return nodes_.size(); }
  const TfNode& node(int32_t index) const { return nodes_[static_cast<size_t>(index)]; }
  const std::string& op(int32_t index) const { return node(index).def->op(); }
  // "node", "node:1"; of the main graph. nullopt when there is no such node.
  std::optional<Source> find(const std::string& tensor) const;
  // Of a function, in the order of its signature.
  const std::vector<Source>& returns() const { return returns_; }
  // Nodes that change state and that the function's caller waits for.
  const std::vector<int32_t>& control_returns() const { return control_returns_; }
  size_t argument_count() const { return arguments_.size(); }

  const LoopFrame* frame_of_exit(int32_t node) const;
  const LoopFrame* frame_of_merge(int32_t node) const;
  // The source of a value behind nodes that only hand it on.
  Source skip_identities(Source source) const;
  // A Merge takes this input (0 when nothing is known, `*certain` tells).
  int merge_choice(int32_t merge, std::optional<bool> branch, bool* certain) const;

  // Nodes that `roots` need, producers first, in the file's order among independent ones; inside
  // `body` only up to what comes into the loop. Error: a cycle.
  StatusOr<std::vector<int32_t>> schedule(const std::vector<Source>& roots,
                                          std::optional<bool> branch, const LoopFrame* body) const;
  // What schedule() follows from a node.
  std::vector<Source> dependencies(int32_t node, std::optional<bool> branch,
                                   const LoopFrame* body) const;

 private:
  Status add_nodes(const google::protobuf::RepeatedPtrField<tf::NodeDef>& nodes);
  Status resolve_inputs(const TfSource& source, bool in_function);
  StatusOr<Source> resolve(const TfSource& source, const std::string& text, bool in_function) const;
  Status find_frames();

  std::vector<TfNode> nodes_;
  std::unordered_map<std::string_view, int32_t> by_name_;
  std::unordered_map<std::string_view, int32_t> arguments_;
  std::vector<Source> returns_;
  std::vector<int32_t> control_returns_;
  std::vector<LoopFrame> frames_;
  std::unordered_map<int32_t, size_t> frame_of_exit_;
  std::unordered_map<int32_t, size_t> frame_of_merge_;
};

// Hands its first input on unchanged and does nothing that costs.
bool is_identity_op(std::string_view op);

}  // namespace dfsim::inline graphs
