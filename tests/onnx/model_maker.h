// Small ONNX models, built with protobuf as an exporter would.
#pragma once

#include <onnx/onnx_pb.h>

#include <concepts>
#include <string>
#include <vector>

#include "graphs/onnx/importer.h"

namespace dfsim {

// Extents of a declared shape: a number, or a name.
struct DeclaredDim {
  template <std::integral T>  // a plain 0 must not be taken for a name
  DeclaredDim(T extent) : extent(static_cast<int64_t>(extent)) {}  // NOLINT
  DeclaredDim(const char* symbol) : symbol(symbol) {}              // NOLINT
  DeclaredDim(const std::string& symbol) : symbol(symbol) {}       // NOLINT
  int64_t extent = -1;
  std::string symbol;  // "" with extent -1: neither is declared
};
using DeclaredShape = std::vector<DeclaredDim>;

inline void declare(onnx::ValueInfoProto* info, const std::string& name, const DeclaredShape& shape,
                    int dtype = onnx::TensorProto::FLOAT) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(dtype);
  tensor->mutable_shape();
  for (const DeclaredDim& dim : shape) {
    auto* added = tensor->mutable_shape()->add_dim();
    if (!dim.symbol.empty()) {
      added->set_dim_param(dim.symbol);
    } else if (dim.extent >= 0) {
      added->set_dim_value(dim.extent);
    }
  }
}

// Adds to any GraphProto; ModelMaker wraps the main one.
class GraphMaker {
 public:
  explicit GraphMaker(onnx::GraphProto* graph) : graph_(graph) {}

  onnx::GraphProto& proto() { return *graph_; }
  void input(const std::string& name, const DeclaredShape& shape,
             int dtype = onnx::TensorProto::FLOAT) {
    declare(graph_->add_input(), name, shape, dtype);
  }
  void output(const std::string& name) { graph_->add_output()->set_name(name); }
  onnx::TensorProto* weight(const std::string& name, const std::vector<int64_t>& dims) {
    onnx::TensorProto* tensor = graph_->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t extent : dims) {
      tensor->add_dims(extent);
    }
    return tensor;
  }
  onnx::TensorProto* ints(const std::string& name, const std::vector<int64_t>& values) {
    onnx::TensorProto* tensor = weight(name, {static_cast<int64_t>(values.size())});
    tensor->set_data_type(onnx::TensorProto::INT64);
    for (const int64_t value : values) {
      tensor->add_int64_data(value);
    }
    return tensor;
  }
  onnx::NodeProto* node(const std::string& type, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = "") {
    onnx::NodeProto* node = graph_->add_node();
    node->set_op_type(type);
    node->set_name(name);
    for (const std::string& input : inputs) {
      node->add_input(input);
    }
    for (const std::string& output : outputs) {
      node->add_output(output);
    }
    return node;
  }

 private:
  onnx::GraphProto* graph_;
};

inline onnx::AttributeProto* set_int(onnx::NodeProto* node, const std::string& name,
                                     int64_t value) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
  return attribute;
}

inline onnx::GraphProto* set_graph(onnx::NodeProto* node, const std::string& name) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  return attribute->mutable_g();
}

struct OwnsModel {
  onnx::ModelProto proto;
};

class ModelMaker : private OwnsModel, public GraphMaker {
 public:
  explicit ModelMaker(int opset = 17) : GraphMaker(OwnsModel::proto.mutable_graph()) {
    model().set_ir_version(8);
    model().add_opset_import()->set_version(opset);
  }

  onnx::ModelProto& model() { return OwnsModel::proto; }
  onnx::GraphProto& graph() { return GraphMaker::proto(); }
  std::string bytes() { return model().SerializeAsString(); }
  StatusOr<ImportedModel> import(const ImportOptions& options = {}) {
    return import_onnx_bytes(bytes(), options);
  }
};

inline TensorId find_tensor(const Graph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.tensor_count(); ++i) {
    if (graph.tensor(TensorId(i)).name == name) {
      return TensorId(i);
    }
  }
  return TensorId();
}

inline std::string shape_of(const Graph& graph, const std::string& name) {
  const TensorId id = find_tensor(graph, name);
  return id.valid() ? format_shape(graph.tensor(id).shape) : "no such tensor";
}

}  // namespace dfsim
