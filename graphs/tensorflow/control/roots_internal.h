// Where an import begins: the results of a model, its inputs, and variables that a traced function
// has captured. Internal to graphs/tensorflow.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/tensorflow/node_graph_internal.h"

namespace dfsim::inline graphs {

// A result of the model and its name.
struct NamedRoot {
  std::string name;
  Source source;
};

// The signature's outputs; without one what nobody reads, updates of parameters, and assignments of
// what was computed from inputs. Error (kInvalidInput): there is none, or the signature names a
// tensor that does not exist. O(nodes + edges).
StatusOr<std::vector<NamedRoot>> find_roots(const TfSource& source, const NodeGraph& graph);

// Gives what is fed from outside.
bool is_input_op(const std::string& type);

// Changes parameters: has an effect although nobody reads what it returns.
bool is_update_op(const std::string& type);
// The same or sets a variable, which initialisation does, too.
bool changes_variable(const std::string& type);

// A placeholder of a resource, as the graph of a traced function (FuncGraph) has one for each
// variable that it captures.
bool is_captured_resource(const tf::NodeDef& node);

// What those that read a captured variable say about it. The shape stays unknown when no reader
// declares one (`_output_shapes`).
struct CapturedVariable {
  DType dtype = DType::kUnknown;
  Shape shape = {};
};

class CapturedVariables {
 public:
  // Both must outlive the object.
  CapturedVariables(const TfSource& source, const NodeGraph& graph);
  // Of a placeholder of the main graph, following calls of functions. nullopt: nobody reads it as a
  // variable (tables and iterators are resources, too). O(readers), at most kMostLooks over all.
  std::optional<CapturedVariable> find(int32_t node);

 private:
  static constexpr size_t kMostLooks = 1'000'000;
  // An operand of a node.
  struct Use {
    const tf::NodeDef* node = nullptr;
    int position = 0;
  };
  using Uses = std::unordered_map<std::string_view, std::vector<Use>>;

  void look(const Use& use, int depth, CapturedVariable* found);
  void look_inside(const std::string& function, int argument, int depth, CapturedVariable* found);

  const TfSource& source_;
  std::unordered_map<int32_t, std::vector<Use>> readers_;
  std::unordered_map<std::string, Uses> functions_;
  size_t looks_ = 0;
};

}  // namespace dfsim::inline graphs
