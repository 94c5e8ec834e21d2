// Translator: walks a NodeGraph and puts its nodes into an Emitter: functions inlined, loops and
// branches as subgraphs. Internal to graphs/tensorflow.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "graphs/ir/import.h"
#include "graphs/tensorflow/emitter_internal.h"
#include "graphs/tensorflow/node_context_internal.h"
#include "graphs/tensorflow/node_graph_internal.h"

namespace dfsim::inline graphs {

// State that all translators of one import share.
struct Translation {
  const TfSource& source;
  const ImportOptions& options;
  InferOptions infer = {};
  std::vector<UnresolvedOpInfo> unresolved = {};
  std::vector<OpenLoop> open_loops = {};
  std::vector<std::string> open_branches = {};
  // Where the model's own operators go; bodies of loops and branches have emitters of their own.
  const Emitter* outermost = nullptr;
  // The values that functions called from there leave in variables: results that no node reads.
  std::vector<ValueId> updates = {};
  size_t visited_nodes = 0;  // over all calls of functions
  std::map<std::string, std::unique_ptr<NodeGraph>> functions = {};
};

// How often a source is read among the scheduled nodes, and by whom last.
struct SourceUse {
  int32_t count = 0;
  int32_t reader = -1;
};

// Adds the nodes of a function that change state: they run although no node reads them.
void add_effects(const NodeGraph& function, std::vector<Source>* roots);

class Translator {
 public:
  // All references must outlive the translator. `body`: the nodes are those of one trip of a loop.
  Translator(Translation& shared, Emitter& emitter, const NodeGraph& graph,
             std::vector<ValueId> arguments, std::string prefix, int depth,
             const LoopFrame* body = nullptr)
      : shared_(shared),
        emitter_(emitter),
        graph_(graph),
        arguments_(std::move(arguments)),
        prefix_(std::move(prefix)),
        depth_(depth),
        body_(body) {}

  // The outputs of a node that is not translated but given from outside.
  void preset(int32_t node, std::vector<ValueId> outputs);
  // Translates what the roots need. Errors name the node.
  Status run(const std::vector<Source>& roots);
  // After run(): kNoValue when the node has no such output.
  ValueId value(Source source) const;

 private:
  Status translate(int32_t node);
  Status translate_by_rule(int32_t node, const TfRule& rule);
  void emit_unknown(int32_t node, const std::string& reason);
  void add_constant(int32_t node);
  void add_variable(int32_t node);
  Status call_function(int32_t node, const std::string& name);
  StatusOr<const NodeGraph*> function_graph(const std::string& name);
  Status merge(int32_t node);
  void note_update(int32_t node);
  // control.cc
  Status translate_if(int32_t node);
  Status translate_while(int32_t node);
  Status leave_frame(int32_t node);

  std::string name_of(int32_t node) const { return prefix_ + graph_.node(node).def->name(); }
  std::vector<ValueId> inputs_of(int32_t node) const;
  bool defer_pad(int32_t node);
  // fold.cc
  bool fold_into_product(int32_t node);
  bool read_once(Source source) const;
  bool is_per_channel(ValueId operand, int64_t channels) const;
  SourceUse use(Source source) const;
  size_t output_count(int32_t node) const;

  Translation& shared_;
  Emitter& emitter_;
  const NodeGraph& graph_;
  std::vector<ValueId> arguments_;
  std::string prefix_;
  int depth_;
  const LoopFrame* body_;
  std::unordered_map<int32_t, std::vector<ValueId>> values_;
  std::unordered_map<int64_t, SourceUse> uses_;
  std::unordered_map<int32_t, Source> folded_;          // nodes that became part of what they read
  std::map<std::string, std::vector<ValueId>> frames_;  // loops that are done: their results
};

}  // namespace dfsim::inline graphs
