// Small graphs written by hand, and what passes make of them.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/infer.h"
#include "graphs/ops/totals.h"
#include "graphs/passes/open/open_dims.h"
#include "graphs/passes/pipeline.h"

namespace dfsim {

class PassCase {
 public:
  using Attributes = std::vector<std::pair<std::string, AttrValue>>;

  explicit PassCase(int opset = 17) : opset_(opset) {}

  void input(const std::string& name, const std::vector<int64_t>& extents,
             DType dtype = DType::kFloat32) {
    declare(name, extents).dtype = dtype;
    builder_.mark_input(builder_.tensor_by_name(name));
  }
  void weight(const std::string& name, const std::vector<int64_t>& extents,
              DType dtype = DType::kFloat32) {
    Tensor& tensor = declare(name, extents);
    tensor.role = TensorRole::kWeight;
    tensor.dtype = dtype;
  }
  // A whole number of that type, as zero points are.
  void integer(const std::string& name, DType dtype, int64_t value) {
    Tensor& tensor = declare(name, {});
    tensor.role = TensorRole::kConstant;
    tensor.dtype = dtype;
    builder_.set_constant(builder_.tensor_by_name(name), ConstValue{dtype, {}, {value}, {}});
  }
  void number(const std::string& name, double value, DType dtype = DType::kFloat32) {
    Tensor& tensor = declare(name, {});
    tensor.role = TensorRole::kConstant;
    tensor.dtype = dtype;
    builder_.set_constant(builder_.tensor_by_name(name), ConstValue{dtype, {}, {}, {value}});
  }
  void ints(const std::string& name, const std::vector<int64_t>& values) {
    const auto count = static_cast<int64_t>(values.size());
    Tensor& tensor = declare(name, {count});
    tensor.role = TensorRole::kConstant;
    tensor.dtype = DType::kInt64;
    builder_.set_constant(builder_.tensor_by_name(name),
                          ConstValue{DType::kInt64, {count}, values, {}});
  }
  // An index without axes, as Gather takes to drop one.
  void index(const std::string& name, int64_t value) {
    Tensor& tensor = declare(name, {});
    tensor.role = TensorRole::kConstant;
    tensor.dtype = DType::kInt64;
    builder_.set_constant(builder_.tensor_by_name(name),
                          ConstValue{DType::kInt64, {}, {value}, {}});
  }
  // "Relu", or with a domain "com.microsoft.Gelu".
  void op(const std::string& type, const std::vector<std::string>& inputs,
          const std::string& output, const Attributes& attributes = {}) {
    op_of_several(type, inputs, {output}, attributes);
  }
  void op_of_several(const std::string& type, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const Attributes& attributes = {}) {
    Op op;
    const size_t dot = type.rfind('.');
    op.op_type = dot == std::string::npos ? type : type.substr(dot + 1);
    op.domain = dot == std::string::npos ? "" : type.substr(0, dot);
    op.name = outputs[0];
    op.version = op.domain.empty() ? opset_ : 1;
    for (const std::string& name : inputs) {
      op.inputs.push_back(name.empty() ? TensorId() : builder_.tensor_by_name(name));
    }
    for (const std::string& name : outputs) {
      op.outputs.push_back(builder_.tensor_by_name(name));
    }
    for (const auto& [name, value] : attributes) {
      op.attributes.set(name, value);
    }
    REQUIRE(builder_.add_op(std::move(op)).ok());
  }
  // In equal parts along the axis.
  void split(const std::string& input, const std::vector<std::string>& outputs, int64_t axis) {
    Op op;
    op.op_type = "Split";
    op.name = outputs[0];
    op.version = 13;
    op.inputs = {builder_.tensor_by_name(input)};
    op.attributes.set("axis", axis);
    for (const std::string& name : outputs) {
      op.outputs.push_back(builder_.tensor_by_name(name));
    }
    REQUIRE(builder_.add_op(std::move(op)).ok());
  }
  void output(const std::string& name) { builder_.mark_output(builder_.tensor_by_name(name)); }

  // The graph as written.
  Graph built() {
    REQUIRE(infer_shapes(builder_, {}).ok());
    auto graph = builder_.build();
    INFO(graph.status().message());
    REQUIRE(graph.ok());
    return std::move(*graph);
  }

  // The graph after the passes; their shapes and work must be consistent. `open`: axes that the
  // runtime does not know.
  const Graph& after(const std::vector<std::string>& passes,
                     const std::vector<OpenAxis>& open = {}) {
    REQUIRE(infer_shapes(builder_, {}).ok());
    const auto graph = builder_.build();
    INFO(graph.status().message());
    REQUIRE(graph.ok());
    auto rewritten = run_passes(*graph, {passes}, OpenDims(*graph, open));
    INFO(rewritten.status().message());
    REQUIRE(rewritten.ok());
    result_ = std::move(rewritten->graph);
    REQUIRE(graph_totals(result_).ok());
    check_shapes();
    return result_;
  }

  std::vector<std::string> types_after(const std::vector<std::string>& passes,
                                       const std::vector<OpenAxis>& open = {}) {
    std::vector<std::string> types;
    for (const Op& op : after(passes, open).ops()) {
      types.push_back(op.domain.empty() ? op.op_type : op.domain + "." + op.op_type);
    }
    return types;
  }

 private:
  Tensor& declare(const std::string& name, const std::vector<int64_t>& extents) {
    Tensor& tensor = builder_.tensor(builder_.tensor_by_name(name));
    tensor.shape = Shape::of(extents);
    tensor.dtype = DType::kFloat32;
    return tensor;
  }

  // Shapes that passes gave to tensors are those that the operators' own rules find.
  void check_shapes() {
    GraphBuilder again(result_);
    for (const Op& op : result_.ops()) {
      for (const TensorId output : op.outputs) {
        if (output.valid() && op.domain != "compiled") {
          again.tensor(output).shape = Shape();
        }
      }
    }
    REQUIRE(infer_shapes(again, {}).ok());
    for (size_t t = 0; t < result_.tensor_count(); ++t) {
      INFO(result_.tensor(TensorId(t)).name);
      CHECK(format_shape(again.tensor(TensorId(t)).shape) ==
            format_shape(result_.tensor(TensorId(t)).shape));
    }
  }

  int opset_;
  GraphBuilder builder_;
  Graph result_;
};

using Types = std::vector<std::string>;

}  // namespace dfsim
