// Writes a model back without its weights. Stripper empties everything trained, in initializers,
// Constant nodes, attributes and functions; Typer writes the shapes that dfsim found. Extents
// that follow a dynamic dimension are written as formulas of it, which imports with other
// extents reveal.
#include "graphs/onnx/shareable.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text.h"
#include "graphs/onnx/model_scope_internal.h"
#include "graphs/onnx/node_order_internal.h"
#include "graphs/onnx/tensor_reader_internal.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/values/stored_constant.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kFirstIrWithSparse = 6;
constexpr int64_t kFirstOpsetWithSparse = 11;

bool is_small_floating(const onnx::TensorProto& tensor, const Shape& shape) {
  return is_floating(dtype_from_onnx(tensor.data_type())) &&
         shape.elements().value() <= kMaxKeptFloats;
}

// Whether the numbers belong to the program (shapes, indices, scalars) and are there.
bool keeps_values(const onnx::TensorProto& tensor) {
  const auto shape = read_dims(tensor);
  if (!shape.ok()) {
    return true;  // no importer takes it anyway
  }
  const bool has_value = read_value(tensor).has_value();
  const DType dtype = dtype_from_onnx(tensor.data_type());
  return shape->elements() == Count(0) ||
         role_of_stored(dtype, *shape, has_value) == TensorRole::kConstant ||
         (has_value && is_small_floating(tensor, *shape));
}

// Name, type and dims; no entry is given, so that all are 0.
onnx::SparseTensorProto without_values(const onnx::TensorProto& tensor, const std::string& name) {
  onnx::SparseTensorProto sparse;
  *sparse.mutable_dims() = tensor.dims();
  sparse.mutable_values()->set_name(name);
  sparse.mutable_values()->set_data_type(tensor.data_type());
  sparse.mutable_values()->add_dims(0);
  sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(0);
  return sparse;
}

bool is_constant(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && canonical_domain(node.domain()).empty();
}

// The tensor that a Constant node holds and that must not be given away, or nullptr.
const onnx::TensorProto* trained_constant(const onnx::NodeProto& node) {
  const bool whole = is_constant(node) && node.output_size() == 1 && node.attribute_size() == 1 &&
                     node.attribute(0).has_t() && !keeps_values(node.attribute(0).t());
  return whole ? &node.attribute(0).t() : nullptr;
}

// Weights that classical models keep in attributes, and constants inside functions: zeros.
void clear_attribute(onnx::NodeProto* node, onnx::AttributeProto* attribute) {
  if (attribute->floats_size() > kMaxKeptFloats) {
    std::fill(attribute->mutable_floats()->begin(), attribute->mutable_floats()->end(), 0.0F);
  }
  if (!attribute->has_t() || keeps_values(attribute->t())) {
    return;
  }
  const onnx::SparseTensorProto sparse = without_values(attribute->t(), attribute->t().name());
  attribute->clear_t();
  *attribute->mutable_sparse_tensor() = sparse;
  attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
  if (is_constant(*node)) {
    attribute->set_name("sparse_value");
  }
}

// The place of a weight: a Constant without entries, or before opset 11, which has no sparse ones,
// a sparse initializer.
class Stripper {
 public:
  explicit Stripper(int64_t opset) : sparse_constants_(opset >= kFirstOpsetWithSparse) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as graphs are nested, which slim_model bounds
  void strip(onnx::GraphProto* graph) const {
    const std::vector<onnx::SparseTensorProto> weights = take_weights(graph);
    strip_nodes(graph->mutable_node());
    graph->clear_sparse_initializer();
    put_back(weights, graph);
  }

  // All there is to do in a function, which has no initializers; its Constants stay nodes.
  // NOLINTNEXTLINE(misc-no-recursion)
  void strip_nodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes) const {
    for (auto& node : *nodes) {
      for (auto& attribute : *node.mutable_attribute()) {
        clear_attribute(&node, &attribute);
        if (attribute.has_g()) {
          strip(attribute.mutable_g());
        }
      }
    }
  }

 private:
  // Removes weights from initializers, from inputs that are listed for them, and from Constants.
  static std::vector<onnx::SparseTensorProto> take_weights(onnx::GraphProto* graph) {
    std::vector<onnx::SparseTensorProto> weights;
    for (const auto& tensor : graph->initializer()) {
      if (!keeps_values(tensor)) {
        weights.push_back(without_values(tensor, tensor.name()));
      }
    }
    for (const auto& sparse : graph->sparse_initializer()) {
      weights.push_back(without_values(dense_header(sparse), sparse.values().name()));
    }
    std::unordered_set<std::string> names;
    for (const auto& weight : weights) {
      names.insert(weight.values().name());
    }
    for (const auto& node : graph->node()) {
      if (const onnx::TensorProto* tensor = trained_constant(node)) {
        weights.push_back(without_values(*tensor, node.output(0)));
      }
    }
    erase_if(graph->mutable_initializer(),
             [](const onnx::TensorProto& tensor) { return !keeps_values(tensor); });
    erase_if(graph->mutable_input(),
             [&](const onnx::ValueInfoProto& input) { return names.count(input.name()) == 1; });
    erase_if(graph->mutable_node(),
             [](const onnx::NodeProto& node) { return trained_constant(node) != nullptr; });
    return weights;
  }

  template <typename Repeated, typename Predicate>
  static void erase_if(Repeated* items, Predicate predicate) {
    items->erase(std::remove_if(items->begin(), items->end(), predicate), items->end());
  }

  void put_back(const std::vector<onnx::SparseTensorProto>& weights,
                onnx::GraphProto* graph) const {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    for (const auto& weight : weights) {
      if (!sparse_constants_) {
        *graph->add_sparse_initializer() = weight;
        continue;
      }
      onnx::NodeProto* node = nodes.Add();
      node->set_op_type("Constant");
      node->add_output(weight.values().name());
      onnx::AttributeProto* value = node->add_attribute();
      value->set_name("sparse_value");
      value->set_type(onnx::AttributeProto::SPARSE_TENSOR);
      *value->mutable_sparse_tensor() = weight;
    }
    nodes.MergeFrom(graph->node());
    graph->mutable_node()->Swap(&nodes);
  }

  bool sparse_constants_;
};

class Typer {
 public:
  Typer(const ImportedModel& model, std::span<const StudiedSymbol> symbols)
      : graph_(model.graph), dims_(model.report.dims), symbols_(symbols) {
    for (size_t i = 0; i < graph_.tensor_count(); ++i) {
      by_name_.emplace(graph_.tensor(TensorId(i)).name, i);
    }
  }

  // Types of the outputs of all nodes of the main graph, of its inputs and outputs.
  void write(onnx::GraphProto* proto) const {
    proto->clear_value_info();
    std::unordered_map<std::string_view, bool> returned;
    for (auto& input : *proto->mutable_input()) {
      describe(&input);
    }
    for (auto& output : *proto->mutable_output()) {
      returned.emplace(output.name(), true);
      describe(&output);
    }
    for (const auto& node : proto->node()) {
      for (const std::string& name : node.output()) {
        onnx::ValueInfoProto info;
        info.set_name(name);
        if (!name.empty() && returned.count(name) == 0 && describe(&info)) {
          *proto->add_value_info() = std::move(info);
        }
      }
    }
  }

 private:
  // Replaces the type of `info` by what is known of the tensor of that name; false when too little.
  bool describe(onnx::ValueInfoProto* info) const {
    const auto it = by_name_.find(info->name());
    if (it == by_name_.end()) {
      return false;
    }
    const Tensor& tensor = graph_.tensor(TensorId(it->second));
    const int code = dtype_to_onnx(tensor.dtype);
    if (tensor.is_sequence || !tensor.shape.has_rank() || code == 0) {
      return false;
    }
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(code);
    type->clear_shape();
    type->mutable_shape();
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      write_dim(it->second, axis, type->mutable_shape()->add_dim());
    }
    return true;
  }

  void write_dim(size_t tensor, int axis, onnx::TensorShapeProto::Dimension* dim) const {
    const Tensor& known = graph_.tensor(TensorId(tensor));
    const Dim extent = known.shape[axis];
    if (!extent.known() || known.data_dependent) {
      return;
    }
    std::vector<Cause> causes;
    for (const StudiedSymbol& symbol : symbols_) {
      const auto it = symbol.shapes.find(tensor);
      if (is_given(symbol.name) || it == symbol.shapes.end()) {
        continue;
      }
      if (it->second.rank() != known.shape.rank()) {
        return;
      }
      const Dim varied = it->second[axis];
      const int64_t step = symbol.varied - symbol.extent;
      if (varied == extent) {
        continue;
      }
      if (!varied.known() || (varied.extent() - extent.extent()) % step != 0) {
        return;  // a fraction of it: left open
      }
      causes.push_back({&symbol, (varied.extent() - extent.extent()) / step});
    }
    if (causes.empty()) {
      dim->set_dim_value(extent.extent());
    } else if (std::string text = expression(causes, extent.extent()); !text.empty()) {
      dim->set_dim_param(std::move(text));
    }
  }

  // A dimension that the extent depends on, and by how much per step of it.
  struct Cause {
    const StudiedSymbol* symbol;
    int64_t slope;
  };

  // "batch", "12*batch*sequence" or "past + 1"; "" for anything else, which one step in each
  // direction cannot tell from sums, squares or mixtures.
  static std::string expression(const std::vector<Cause>& causes, int64_t extent) {
    const bool product = std::all_of(causes.begin(), causes.end(), [&](const Cause& cause) {
      return cause.symbol->extent > 0 && cause.slope * cause.symbol->extent == extent;
    });
    if (!product) {
      const int64_t rest = extent - causes[0].symbol->extent;
      return causes.size() == 1 && causes[0].slope == 1
                 ? fmt::format("{} {} {}", causes[0].symbol->name, rest > 0 ? '+' : '-',
                               std::abs(rest))
                 : "";
    }
    std::string text;
    int64_t factor = extent;
    for (const Cause& cause : causes) {
      text += (text.empty() ? "" : "*") + cause.symbol->name;
      factor /= cause.symbol->extent;
    }
    return factor == 1 ? text : fmt::format("{}*{}", factor, text);
  }

  bool is_given(const std::string& name) const {
    return std::any_of(dims_.begin(), dims_.end(), [&](const BoundDim& dim) {
      return dim.name == name && dim.origin == "given";
    });
  }

  const Graph& graph_;
  const std::vector<BoundDim>& dims_;
  std::span<const StudiedSymbol> symbols_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

// A dimension that was not studied would become a number without anybody asking for it.
Status check_studied(const ImportReport& report, std::span<const StudiedSymbol> symbols) {
  for (const BoundDim& dim : report.dims) {
    const bool studied =
        std::any_of(symbols.begin(), symbols.end(),
                    [&](const StudiedSymbol& symbol) { return symbol.name == dim.name; });
    if (!studied && dim.origin != "given" && dim.origin != "derived") {
      return invalid_input(
          fmt::format("dimension '{}' is one of more than {} dynamic ones, which are too many to "
                      "keep open in a saved model; give some with --dim",
                      printable(dim.name), kMaxStudiedSymbols));
    }
  }
  return ok_status();
}

}  // namespace

StatusOr<std::string> shareable_model(std::string_view content, const ImportedModel& model,
                                      std::span<const StudiedSymbol> symbols) {
  DFSIM_ASSIGN_OR_RETURN(onnx::ModelProto proto, parse_model(content));
  DFSIM_RETURN_IF_ERROR(check_studied(model.report, symbols));
  int64_t opset = 1;
  for (const auto& entry : proto.opset_import()) {
    opset = canonical_domain(entry.domain()).empty() ? entry.version() : opset;
  }
  const Stripper stripper(opset);
  stripper.strip(proto.mutable_graph());
  for (auto& function : *proto.mutable_functions()) {
    stripper.strip_nodes(function.mutable_node());
  }
  sort_nodes(proto.mutable_graph());
  proto.clear_training_info();
  proto.set_ir_version(std::max<int64_t>(proto.ir_version(), kFirstIrWithSparse));
  Typer(model, symbols).write(proto.mutable_graph());
  return proto.SerializeAsString();
}

}  // namespace dfsim::inline graphs
