// Graph: an immutable dataflow graph of tensor operators.
//
// Built by GraphBuilder, validated once, then only read. Ops and tensors have dense ids. Invariants
// of every Graph: ids are in range; each tensor has at most one producer; names of tensors and of
// ops are unique and not empty; there is no cycle; op ids are a topological order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "graphs/ir/attributes.h"
#include "graphs/ir/op_class.h"
#include "graphs/ir/shape.h"

namespace dfsim::inline graphs {

enum class TensorRole : uint8_t {
  kActivation,  // produced by an op, or fed as an input: exists per run
  kWeight,      // a trained parameter: resident on the device before the run
  kConstant,    // same value in every run, known at import (shapes, indices, scalars)
};

// `channels`, filled up to a multiple of `block`.
constexpr int64_t in_whole_blocks(int64_t channels, int64_t block) {
  return (channels + block - 1) / block * block;
}

struct Tensor {
  std::string name;
  DType dtype = DType::kUnknown;
  TensorRole role = TensorRole::kActivation;
  bool is_input = false;   // fed by the caller
  bool is_output = false;  // returned to the caller
  // A weight that the caller may replace in each run, so that a runtime may not rearrange it: the
  // file lists it as an input, too.
  bool is_replaceable = false;
  // The extents are an upper bound: the real ones depend on data (NonZero, NMS...).
  bool data_dependent = false;
  // A list of tensors: `shape` is that of each element, `sequence_length` how many (-1 = unknown).
  bool is_sequence = false;
  int64_t sequence_length = -1;
  Shape shape;
  // Axis 1, the channels, is stored in whole blocks of so many. 0: as `shape` says.
  int channel_block = 0;
  OpId producer;  // none for inputs, weights and initial constants
  // Weights with the same key are the same bytes seen through another layout (a tied embedding and
  // its transpose). 0 = bytes of its own.
  uint32_t storage_key = 0;

  // `shape` with the channels that fill the last block.
  Shape stored_shape() const;

  // Bytes of the elements as they are stored; only when the shape is static.
  Count bytes() const;
};

struct Op {
  std::string name;
  std::string op_type;
  std::string domain;  // "" is ai.onnx
  int version = 0;     // the opset version of `domain` that the model imports
  OpClass op_class = OpClass::kOpaque;
  std::vector<TensorId> inputs;   // none = an optional input that is left out
  std::vector<TensorId> outputs;  // none = an output not asked for
  // The last so many inputs are not operands but tensors of this graph that a subgraph reads.
  uint32_t capture_count = 0;
  Attributes attributes;
};

// Facts about a model as a whole.
struct GraphInfo {
  std::string name;
  std::string producer;  // "pytorch 1.13.1"
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int>> opsets;  // domain, version
  std::vector<std::pair<std::string, std::string>> metadata;
  // In a subgraph: the tensors of the graph around it that its last inputs stand for.
  std::vector<std::string> captures;
};

class Graph {
 public:
  size_t op_count() const { return ops_.size(); }
  size_t tensor_count() const { return tensors_.size(); }

  const Op& op(OpId id) const { return ops_[id.index()]; }
  const Tensor& tensor(TensorId id) const { return tensors_[id.index()]; }
  std::span<const Op> ops() const { return ops_; }
  std::span<const Tensor> tensors() const { return tensors_; }
  // Ops that read the tensor, each once, ascending.
  std::span<const OpId> consumers(TensorId id) const;
  std::span<const TensorId> inputs() const { return inputs_; }
  std::span<const TensorId> outputs() const { return outputs_; }
  // Names of symbolic dimensions; Dim::symbol_index() points in here.
  const std::vector<std::string>& symbols() const { return symbols_; }
  const GraphInfo& info() const { return info_; }
  // The value of a constant tensor, or nullptr when it is not known or too large to keep.
  const ConstValue* constant(TensorId id) const;

 private:
  friend class GraphBuilder;

  std::vector<Op> ops_;
  std::vector<Tensor> tensors_;
  std::vector<uint32_t> consumer_offsets_;  // CSR over tensors
  std::vector<OpId> consumers_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> outputs_;
  std::vector<std::string> symbols_;
  std::vector<int32_t> constant_index_;  // per tensor: index into constants_, or -1
  std::vector<ConstValue> constants_;
  GraphInfo info_;
};

}  // namespace dfsim::inline graphs
