// NodeContext: one TensorFlow node as a translation rule sees it. Internal to graphs/tensorflow.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/tensorflow/emitter_internal.h"
#include "graphs/tensorflow/source_internal.h"

namespace dfsim::inline graphs {

// An output whose shape a rule has worked out.
struct KnownOutput {
  std::vector<int64_t> shape;
  DType dtype = DType::kUnknown;  // unknown: that of input 0
  bool at_most = false;           // the data may leave rows out
};

class NodeContext {
 public:
  NodeContext(Emitter& emitter, const tf::NodeDef& def, std::string name,
              std::vector<ValueId> inputs)
      : emitter_(emitter), def_(def), name_(std::move(name)), inputs_(std::move(inputs)) {}

  const tf::NodeDef& def() const { return def_; }
  const std::string& type() const { return def_.op(); }
  const std::string& name() const { return name_; }
  Emitter& emitter() { return emitter_; }

  size_t input_count() const { return inputs_.size(); }
  bool has_input(size_t i) const { return i < inputs_.size() && inputs_[i] != kNoValue; }
  ValueId input(size_t i) const { return i < inputs_.size() ? inputs_[i] : kNoValue; }
  // In TensorFlow's order of axes.
  Shape shape(size_t i) const { return emitter_.shape(input(i)); }
  int rank(size_t i) const { return shape(i).rank(); }
  DType dtype(size_t i) const { return emitter_.dtype(input(i)); }
  const ConstValue* value(size_t i) const { return emitter_.constant(input(i)); }
  std::optional<std::vector<int64_t>> ints(size_t i) const;
  std::optional<int64_t> integer(size_t i) const;
  TensorId plain(size_t i) { return emitter_.plain(input(i)); }
  std::vector<TensorId> all_plain();
  // Exists channels-first only (or, for `prefers`, at least so).
  bool prefers_channels_first(size_t i) const;

  // Attributes; what is absent or of another type gives the fallback.
  int64_t attr_int(const std::string& name, int64_t fallback) const;
  double attr_float(const std::string& name, double fallback) const;
  bool attr_bool(const std::string& name, bool fallback) const;
  std::string attr_string(const std::string& name, std::string_view fallback) const;
  std::vector<int64_t> attr_ints(const std::string& name) const;
  DType attr_dtype(const std::string& name) const;
  std::optional<Shape> attr_shape(const std::string& name) const;
  bool is_nchw() const;  // data_format of the node

  // An image operand with channels behind the batch, whatever the node's data_format; and a result.
  TensorId image(size_t i) {
    return is_nchw() ? emitter_.plain(input(i)) : emitter_.channels_first(input(i));
  }
  void set_image(size_t output, TensorId tensor);
  // Entries of a list by axis of the node's data_format, for the spatial axes.
  std::vector<int64_t> spatial(const std::vector<int64_t>& list, int rank, int64_t fallback) const;

  // Emits the operator that the node is, or one that helps it (named after both).
  TensorId emit(std::string_view type, std::vector<TensorId> inputs, AttrList attributes = {},
                std::string_view domain = "");
  std::vector<TensorId> emit_many(std::string_view type, std::vector<TensorId> inputs,
                                  AttrList attributes, size_t outputs,
                                  std::string_view domain = "");
  TensorId help(std::string_view type, std::vector<TensorId> inputs, AttrList attributes = {});
  // Emits an operator of TensorFlow's own and sets the node's outputs.
  void set_known(std::string_view type, std::vector<TensorId> inputs,
                 const std::vector<KnownOutput>& outputs, AttrList attributes = {});

  void set(size_t output, TensorId tensor) { set_value(output, emitter_.add_plain(tensor)); }
  void set_channels_first(size_t output, TensorId tensor) {
    set_value(output, emitter_.add(Value{{}, tensor}));
  }
  void set_value(size_t output, ValueId value);
  const std::vector<ValueId>& outputs() const { return outputs_; }

  // Gives up: the node becomes an opaque operator, listed with this reason.
  void unresolved(std::string reason) { unresolved_ = std::move(reason); }
  const std::string& unresolved_reason() const { return unresolved_; }
  // The file contradicts itself.
  void error(const std::string& message);
  // An axis of rank `rank`, counted from the front; an error otherwise.
  int axis(int64_t given, int rank);

 private:
  Emitter& emitter_;
  const tf::NodeDef& def_;
  std::string name_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::string unresolved_;
};

// How one operator type of TensorFlow becomes operators of ours. `target` is the rule's to use: the
// ONNX operator that it is, for rules that serve many.
struct TfRule {
  std::string_view type;
  void (*translate)(NodeContext& node, std::string_view target);
  std::string_view target = "";
  // The first so many inputs must be there.
  size_t required_inputs = 1;
  // Also called when shapes of inputs are unknown.
  bool tolerant = false;
};

// nullptr: no rule.
const TfRule* find_tf_rule(const std::string& type);

// The families, joined in rules.cc.
#define DFSIM_TF_RULES(name) std::span<const TfRule> name##_tf_rules();
#include "graphs/tensorflow/rules/rule_tables.inc"
#undef DFSIM_TF_RULES

// Element types, and values of small constants (nullopt: too large or not stored).
DType dtype_from_tf(int code);
std::optional<Shape> shape_from_tf(const tf::TensorShapeProto& proto);
std::optional<ConstValue> value_from_tf(const tf::TensorProto& tensor);

}  // namespace dfsim::inline graphs
