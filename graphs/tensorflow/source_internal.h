// TfSource: a parsed model file: main graph, functions, signature. Internal to graphs/tensorflow.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <graphdef.pb.h>
#include "base/status.h"
#include "graphs/tensorflow/format.h"

namespace dfsim::inline graphs {

// A named input or output of a signature, and the tensor of the main graph ("node:0") that it is.
struct SignatureEntry {
  std::string name;
  std::string tensor;
};

// Not to be moved once the maps are filled: they point into `saved` and `graph`.
class TfSource {
 public:
  TfSource() = default;
  TfSource(const TfSource&) = delete;
  TfSource& operator=(const TfSource&) = delete;

  // Fills the object. Error (kInvalidInput): not parseable, no graph, no such signature.
  Status read(std::string_view content, TensorFlowFormat format, const std::string& signature);

  const tf::GraphDef& graph() const { return *graph_; }
  const tf::FunctionDef* function(const std::string& name) const;
  // TensorFlow's version as far as the file tells it.
  const std::string& producer() const { return producer_; }
  // Of a SavedModel; inputs and outputs sorted by name.
  bool has_signature() const { return has_signature_; }
  const std::vector<SignatureEntry>& signature_inputs() const { return inputs_; }
  const std::vector<SignatureEntry>& signature_outputs() const { return outputs_; }
  const std::string& signature_name() const { return signature_name_; }

  // Functions name outputs "node:argument:index"; this is the position among all outputs.
  int flat_output(const tf::NodeDef& node, const std::string& argument, int index) const;

 private:
  Status choose_signature(const tf::MetaGraphDef& meta, const std::string& wanted);
  void index();

  tf::SavedModel saved_;
  tf::GraphDef own_graph_;
  const tf::GraphDef* graph_ = nullptr;
  std::unordered_map<std::string, const tf::FunctionDef*> functions_;
  std::unordered_map<std::string, const tf::OpDef*> op_defs_;
  std::string producer_;
  bool has_signature_ = false;
  std::string signature_name_;
  std::vector<SignatureEntry> inputs_;
  std::vector<SignatureEntry> outputs_;
};

// An attribute of a node, or nullptr.
const tf::AttrValue* find_attribute(const tf::NodeDef& node, const std::string& name);

}  // namespace dfsim::inline graphs
