// Emitter: puts operators into a GraphBuilder, infers each at once, and knows in which layouts a
// value exists. Internal to graphs/tensorflow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/ir/import.h"
#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/ops/infer.h"

namespace dfsim::inline graphs {

// The opset whose rules the emitted operators of ai.onnx follow.
inline constexpr int kEmittedOpset = 18;

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;
using AttrList = std::vector<std::pair<std::string, AttrValue>>;

// What one output of a TensorFlow node is.
struct Value {
  // TensorFlow's order of axes, and the same with the last axis moved behind the first. Either is
  // made from the other when somebody asks for it.
  TensorId plain = {};
  TensorId channels_first = {};
  // A list of tensors (TensorList, TensorArray): `plain` holds [length, element...] once all of it
  // is known.
  bool is_list = false;
  int64_t length = -1;
  Shape element = {};
  DType element_dtype = DType::kUnknown;
  // A Pad that the convolution reading it takes over: begins and ends per spatial axis.
  std::vector<int64_t> deferred_pads = {};

  bool has_tensor() const { return plain.valid() || channels_first.valid(); }
};

// An operator to emit.
struct Emission {
  std::string_view type;
  std::string_view domain = "";
  std::string name;
  std::vector<TensorId> inputs;
  AttrList attributes = {};
  size_t outputs = 1;
  uint32_t captures = 0;  // of the last inputs, see Op::capture_count
};

class Emitter {
 public:
  // All must outlive the emitter. `unresolved` receives ops whose shapes stay unknown.
  Emitter(GraphBuilder* builder, const InferOptions& options,
          std::vector<UnresolvedOpInfo>* unresolved)
      : builder_(*builder), options_(options), unresolved_(unresolved) {}

  GraphBuilder& builder() { return builder_; }
  const InferOptions& options() const { return options_; }

  ValueId add(Value value);
  ValueId add_plain(TensorId tensor) { return add(Value{tensor, {}}); }
  const Value& value(ValueId id) const { return values_[id]; }
  // In TensorFlow's order of axes; unknown rank when there is no tensor.
  Shape shape(ValueId id) const;
  DType dtype(ValueId id) const;
  // The known value of a small constant, or nullptr.
  const ConstValue* constant(ValueId id) const;
  // Not computed by an operator of this graph: a weight or a constant.
  bool is_parameter(TensorId id) const {
    return builder_.tensor(id).role != TensorRole::kActivation;
  }

  // A parameter, or computed from parameters alone: the same in every run.
  bool is_fixed(TensorId id) const { return is_parameter(id) || fixed_.contains(id); }

  // Adds and infers an operator. The first error stays in status(); after it, ids are invalid.
  std::vector<TensorId> emit(Emission emission);
  TensorId emit_one(Emission emission);
  const Status& status() const { return status_; }
  void fail(Status status);
  // An operator that could not be translated; its outputs have these types and shapes.
  std::vector<TensorId> emit_opaque(std::string_view type, const std::string& name,
                                    std::vector<TensorId> inputs,
                                    const std::vector<std::pair<DType, Shape>>& outputs,
                                    const std::string& reason);

  // The value in one layout. Moving a parameter takes no operator.
  TensorId plain(ValueId id);
  TensorId channels_first(ValueId id);
  // `tensor` with its axes permuted; a view when only extents of 1 move.
  TensorId transposed(TensorId tensor, const std::vector<int64_t>& perm);
  TensorId reshaped(TensorId tensor, const std::vector<int64_t>& extents);
  // A weight's tensor with its axes in another order and grouping; the bytes are the same.
  TensorId relaid(TensorId parameter, const std::vector<int64_t>& perm,
                  const std::vector<int64_t>& extents);

  // Numbers repeated names itself: the builder would try them one after the other.
  TensorId add_tensor(Tensor tensor);
  TensorId add_ints(const std::vector<int64_t>& values);
  TensorId add_int(int64_t value);
  TensorId add_float(double value, DType dtype);
  TensorId add_constant(ConstValue value, const std::string& name);

 private:
  std::string place_name(TensorId tensor, std::string_view what) const;

  GraphBuilder& builder_;
  const InferOptions& options_;
  std::vector<UnresolvedOpInfo>* unresolved_;
  std::vector<Value> values_;
  std::unordered_map<std::string, TensorId> relaid_;
  std::unordered_set<TensorId> fixed_;
  std::unordered_map<std::string, size_t> names_;  // how often each was asked for
  Status status_;
};

// Axes of [N, space..., C] in the order [N, C, space...], and back.
std::vector<int64_t> to_channels_first(int rank);
std::vector<int64_t> to_channels_last(int rank);

}  // namespace dfsim::inline graphs
