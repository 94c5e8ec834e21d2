#include "graphs/onnx/importer.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

#include "base/mapped_file.h"
#include "base/text.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/onnx/classify_inputs.h"
#include "graphs/onnx/fallback_internal.h"
#include "graphs/onnx/slim.h"
#include "graphs/onnx/tensor_reader_internal.h"
#include "graphs/ops/bind_dims.h"
#include "graphs/ops/infer.h"
#include "graphs/ops/onnx_dtype.h"

namespace dfsim {
namespace {

constexpr int64_t kNewestKnownOpset = 25;
constexpr int64_t kLargestPlausibleOpset = 1000;

// What a file is when it is plainly something else.
std::string_view other_format(std::string_view content) {
  if (content.starts_with("PK\x03\x04")) {
    return "a zip archive (a PyTorch .pt file?); export the model to ONNX first";
  }
  if (content.starts_with("\x89HDF")) {
    return "an HDF5 file (a Keras model?); export the model to ONNX first";
  }
  if (content.starts_with("version https://git-lfs")) {
    return "a Git LFS pointer, not the model itself; run 'git lfs pull'";
  }
  if (content.starts_with("{") || content.starts_with("<")) {
    return "a text file; expected a binary ONNX model";
  }
  return "";
}

class Importer {
 public:
  explicit Importer(const ImportOptions& options) : options_(options) {}

  StatusOr<ImportedModel> run(std::string_view content) {
    DFSIM_RETURN_IF_ERROR(parse(content));
    DFSIM_RETURN_IF_ERROR(read_opsets());
    DFSIM_RETURN_IF_ERROR(add_initializers());
    DFSIM_RETURN_IF_ERROR(add_inputs());
    DFSIM_RETURN_IF_ERROR(add_nodes());
    DFSIM_RETURN_IF_ERROR(add_outputs());
    DFSIM_RETURN_IF_ERROR(check_producers());
    classify_inputs(builder_, model_.graph().initializer_size() > 0);
    bool overridden = false;
    DFSIM_RETURN_IF_ERROR(bind_dims(builder_, options_, &report_, &overridden));
    DFSIM_RETURN_IF_ERROR(infer(/*trust_declared=*/options_.use_declared_shapes && !overridden));
    DFSIM_ASSIGN_OR_RETURN(Graph graph, builder_.build());
    return ImportedModel{std::move(graph), std::move(report_)};
  }

  // What was found out so far, also after an error.
  const ImportReport& report() const { return report_; }

 private:
  Status parse(std::string_view content) {
    if (content.empty()) {
      return invalid_input("the file is empty; expected an ONNX model");
    }
    if (const auto other = other_format(content); !other.empty()) {
      return invalid_input(fmt::format("is {}", other));
    }
    DFSIM_ASSIGN_OR_RETURN(const std::string slim, slim_model(content));
    google::protobuf::LogSilencer quiet;  // protobuf's own complaints would go to stderr
    google::protobuf::io::ArrayInputStream bytes(slim.data(), static_cast<int>(slim.size()));
    google::protobuf::io::CodedInputStream stream(&bytes);
    stream.SetRecursionLimit(400);  // slim_model has bounded the nesting already
    if (!model_.ParseFromCodedStream(&stream)) {
      return invalid_input("not a valid ONNX model: its fields have the wrong types");
    }
    if (!model_.has_graph() ||
        (model_.graph().node_size() == 0 && model_.graph().output_size() == 0)) {
      return invalid_input("holds no graph; expected an ONNX model with nodes");
    }
    builder_.info().name = model_.graph().name();
    builder_.info().producer = model_.producer_name();
    if (!model_.producer_version().empty()) {
      builder_.info().producer += " " + model_.producer_version();
    }
    builder_.info().ir_version = model_.ir_version();
    for (const auto& entry : model_.metadata_props()) {
      builder_.info().metadata.emplace_back(entry.key(), entry.value());
    }
    report_.file_nodes = model_.graph().node_size();
    return ok_status();
  }

  Status read_opsets() {
    for (const auto& opset : model_.opset_import()) {
      const std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
      if (opset.version() <= 0 || opset.version() > kLargestPlausibleOpset) {
        return invalid_input(fmt::format("opset {} of domain '{}'; expected 1 to {}",
                                         opset.version(), printable(domain), kNewestKnownOpset));
      }
      if (domain.empty() && opset.version() > kNewestKnownOpset) {
        report_.notes.push_back(fmt::format("opset {} is newer than {}, whose rules are used",
                                            opset.version(), kNewestKnownOpset));
      }
      opsets_[domain] = static_cast<int>(opset.version());
      builder_.info().opsets.emplace_back(domain, static_cast<int>(opset.version()));
    }
    if (!opsets_.contains("")) {
      // Before opsets existed there was one version; a file that only forgets it means a recent
      // one.
      const int version = model_.ir_version() < 3 ? 1 : 17;
      if (model_.opset_import_size() == 0) {
        report_.notes.push_back(
            fmt::format("the file names no opset; version {} is assumed", version));
      }
      opsets_[""] = version;
    }
    return ok_status();
  }

  Status add_constant_tensor(const onnx::TensorProto& proto, const std::string& name) {
    DFSIM_ASSIGN_OR_RETURN(Shape shape, read_dims(proto));
    const DType dtype = dtype_from_onnx(proto.data_type());
    if (shape.elements().overflowed() || dtype_bytes(dtype, shape.elements()).overflowed()) {
      return invalid_input(fmt::format("tensor '{}' of shape {} does not fit in 63 bits",
                                       printable(name), format_shape(shape)));
    }
    auto value = read_value(proto);
    const TensorId id = builder_.tensor_by_name(name);
    Tensor& tensor = builder_.tensor(id);
    if (tensor.producer.valid() || tensor.role != TensorRole::kActivation) {
      return invalid_input(fmt::format("tensor '{}' is defined twice", printable(name)));
    }
    tensor.dtype = dtype;
    tensor.role = role_of_initializer(dtype, shape, value.has_value());
    tensor.shape = std::move(shape);
    if (value) {
      builder_.set_constant(id, std::move(*value));
    }
    return ok_status();
  }

  Status add_initializers() {
    for (const auto& initializer : model_.graph().initializer()) {
      DFSIM_RETURN_IF_ERROR(add_constant_tensor(initializer, initializer.name()));
    }
    for (const auto& sparse : model_.graph().sparse_initializer()) {
      onnx::TensorProto dense;
      dense.set_data_type(sparse.values().data_type());
      *dense.mutable_dims() = sparse.dims();
      DFSIM_RETURN_IF_ERROR(add_constant_tensor(dense, sparse.values().name()));
    }
    return ok_status();
  }

  Status add_inputs() {
    std::unordered_set<std::string> seen;
    for (const auto& input : model_.graph().input()) {
      if (!seen.insert(input.name()).second) {
        return invalid_input(
            fmt::format("graph input '{}' is declared twice", printable(input.name())));
      }
      const TensorId id = builder_.tensor_by_name(input.name());
      if (builder_.tensor(id).role != TensorRole::kActivation) {
        continue;  // an initializer that is listed as an input, too
      }
      auto type = read_type(input.type(), &builder_);
      if (!type.ok()) {
        return type.status().with_place(fmt::format("graph input '{}'", printable(input.name())));
      }
      builder_.tensor(id).dtype = type->dtype;
      builder_.tensor(id).shape = type->shape;
      builder_.mark_input(id);
    }
    return ok_status();
  }

  // Constant nodes become constant tensors: they cost nothing at run time.
  Status add_constant_node(const onnx::NodeProto& node) {
    if (node.output_size() != 1 || node.attribute_size() == 0) {
      return invalid_input(
          fmt::format("Constant '{}': expected one output and one value", printable(node.name())));
    }
    const auto& attribute = node.attribute(0);
    if (attribute.has_t()) {
      return add_constant_tensor(attribute.t(), node.output(0));
    }
    if (attribute.has_sparse_tensor()) {
      onnx::TensorProto dense;
      dense.set_data_type(attribute.sparse_tensor().values().data_type());
      *dense.mutable_dims() = attribute.sparse_tensor().dims();
      return add_constant_tensor(dense, node.output(0));
    }
    onnx::TensorProto proto;
    if (attribute.name() == "value_int" || attribute.name() == "value_ints") {
      proto.set_data_type(onnx::TensorProto::INT64);
      if (attribute.name() == "value_int") {
        proto.add_int64_data(attribute.i());
      } else {
        *proto.mutable_int64_data() = attribute.ints();
        proto.add_dims(attribute.ints_size());
      }
    } else if (attribute.name() == "value_float" || attribute.name() == "value_floats") {
      proto.set_data_type(onnx::TensorProto::FLOAT);
      if (attribute.name() == "value_float") {
        proto.add_float_data(attribute.f());
      } else {
        *proto.mutable_float_data() = attribute.floats();
        proto.add_dims(attribute.floats_size());
      }
    } else {
      proto.set_data_type(onnx::TensorProto::STRING);
      if (attribute.strings_size() > 0) {
        proto.add_dims(attribute.strings_size());
      }
    }
    return add_constant_tensor(proto, node.output(0));
  }

  // Names that a subgraph reads and does not define itself.
  static void collect_captures(const onnx::GraphProto& graph, std::vector<std::string>* captured) {
    std::unordered_set<std::string> defined;
    for (const auto& input : graph.input()) {
      defined.insert(input.name());
    }
    for (const auto& initializer : graph.initializer()) {
      defined.insert(initializer.name());
    }
    for (const auto& node : graph.node()) {
      defined.insert(node.output().begin(), node.output().end());
    }
    std::vector<std::string> used;
    for (const auto& node : graph.node()) {
      used.insert(used.end(), node.input().begin(), node.input().end());
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) {
          collect_captures(attribute.g(), &used);
        }
      }
    }
    for (const auto& output : graph.output()) {
      used.push_back(output.name());
    }
    for (std::string& name : used) {
      if (!name.empty() && !defined.contains(name)) {
        captured->push_back(std::move(name));
      }
    }
  }

  void add_captures(const onnx::NodeProto& node, Op* op) {
    std::vector<std::string> names;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        collect_captures(attribute.g(), &names);
      }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string& name : names) {
      op->inputs.push_back(builder_.tensor_by_name(name));
    }
    op->capture_count = static_cast<uint32_t>(names.size());
  }

  Status add_node(const onnx::NodeProto& node) {
    Op op;
    op.name = node.name();
    op.op_type = node.op_type();
    op.domain = node.domain() == "ai.onnx" ? "" : node.domain();
    const auto opset = opsets_.find(op.domain);
    op.version = opset != opsets_.end() ? opset->second : 1;
    if (op.domain.empty() && op.op_type == "Constant") {
      return add_constant_node(node);
    }
    for (const auto& input : node.input()) {
      op.inputs.push_back(input.empty() ? TensorId() : builder_.tensor_by_name(input));
    }
    for (const auto& output : node.output()) {
      op.outputs.push_back(output.empty() ? TensorId() : builder_.tensor_by_name(output));
    }
    op.attributes = read_attributes(node);
    add_captures(node, &op);
    return builder_.add_op(std::move(op)).status();
  }

  Status add_nodes() {
    for (const auto& node : model_.graph().node()) {
      DFSIM_RETURN_IF_ERROR(add_node(node));
    }
    return ok_status();
  }

  Status add_outputs() {
    for (const auto& output : model_.graph().output()) {
      const TensorId id = builder_.find_tensor(output.name());
      if (!id.valid()) {
        return invalid_input(
            fmt::format("graph output '{}' is produced by no node", printable(output.name())));
      }
      builder_.mark_output(id);
    }
    return ok_status();
  }

  // Every tensor that is read or returned must come from somewhere.
  Status check_producers() const {
    const auto missing = [&](TensorId id) {
      const Tensor& tensor = builder_.tensor(id);
      return !tensor.producer.valid() && !tensor.is_input && tensor.role == TensorRole::kActivation;
    };
    for (size_t i = 0; i < builder_.op_count(); ++i) {
      const Op& op = builder_.op(OpId(i));
      for (const TensorId input : op.inputs) {
        if (input.valid() && missing(input)) {
          return invalid_input(fmt::format("{} '{}' reads tensor '{}', which nothing produces",
                                           printable(op.op_type, 40), printable(op.name),
                                           printable(builder_.tensor(input).name)));
        }
      }
    }
    for (const TensorId output : builder_.outputs()) {
      if (missing(output)) {
        return invalid_input(fmt::format("graph output '{}' is produced by no node",
                                         printable(builder_.tensor(output).name)));
      }
    }
    return ok_status();
  }

  // Shapes that the file declares for inner tensors, by name.
  const onnx::ValueInfoProto* declared(const std::string& name) {
    if (declared_.empty()) {
      for (const auto* list : {&model_.graph().value_info(), &model_.graph().output()}) {
        for (const auto& info : *list) {
          declared_.emplace(info.name(), &info);
        }
      }
    }
    const auto it = declared_.find(name);
    return it == declared_.end() ? nullptr : it->second;
  }

  Shape with_bound_symbols(const Shape& shape) const {
    Dims dims = shape.dims();
    for (Dim& dim : dims) {
      for (const BoundDim& bound : report_.dims) {
        if (dim.is_symbol() && builder_.symbols()[dim.symbol_index()] == bound.name) {
          dim = Dim(bound.extent);
        }
      }
    }
    return shape.has_rank() ? Shape(std::move(dims)) : Shape();
  }

  bool use_declared(OpId id) {
    bool all_static = true;
    for (const TensorId output : builder_.op(id).outputs) {
      if (!output.valid() || builder_.tensor(output).shape.is_static()) {
        continue;
      }
      const onnx::ValueInfoProto* info = declared(builder_.tensor(output).name);
      const auto type = info != nullptr ? read_type(info->type(), &builder_) : DeclaredType();
      const Shape shape = type.ok() ? with_bound_symbols(type->shape) : Shape();
      if (shape.is_static()) {
        builder_.tensor(output).dtype = type->dtype;
        builder_.tensor(output).shape = shape;
      }
      all_static = all_static && shape.is_static();
    }
    return all_static;
  }

  Status infer(bool trust_declared) {
    const OnnxFallback libonnx(model_);
    InferOptions options;
    options.fallback = [&](GraphBuilder& builder, OpId id) {
      const std::string reason = libonnx.infer(builder, id);
      return trust_declared && use_declared(id) ? std::string() : reason;
    };
    DFSIM_ASSIGN_OR_RETURN(const auto unresolved, infer_shapes(builder_, options));
    for (const UnresolvedOp& op : unresolved) {
      report_.unresolved.push_back(
          {builder_.op(op.op).name, builder_.op(op.op).op_type, op.reason});
    }
    return ok_status();
  }

  const ImportOptions& options_;
  onnx::ModelProto model_;
  GraphBuilder builder_;
  ImportReport report_;
  std::map<std::string, int> opsets_;
  std::unordered_map<std::string, const onnx::ValueInfoProto*> declared_;
};

}  // namespace

StatusOr<ImportedModel> import_onnx_bytes(std::string_view content, const ImportOptions& options) {
  Importer first(options);
  auto model = first.run(content);
  std::vector<std::string> assumed;
  for (const BoundDim& dim : first.report().dims) {
    if (dim.origin == "assumed") {
      assumed.push_back(fmt::format("{}={}", printable(dim.name, 40), dim.extent));
    }
  }
  if (model.ok() || assumed.empty()) {
    return model;
  }
  // Perhaps only the assumptions contradict the model (a mask of 8 positions, a window of 3).
  constexpr std::array<int64_t, 2> kOtherAssumptions = {1, 32};
  for (const int64_t extent : kOtherAssumptions) {
    ImportOptions other = options;
    other.assumed_extent = extent;
    auto retried = Importer(other).run(content);
    if (retried.ok()) {
      retried->report.notes.push_back(fmt::format(
          "the usual assumptions ({}) contradict the model, {} is assumed instead; use --dim",
          join(assumed, ", "), extent));
      return retried;
    }
  }
  return Status(model.status().code(),
                fmt::format("{}; the dimensions {} are assumed: give the right ones with --dim",
                            model.status().message(), join(assumed, ", ")));
}

StatusOr<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  auto model = import_onnx_bytes(file.content(), options);
  if (!model.ok()) {
    return model.status().with_place(path);
  }
  return model;
}

}  // namespace dfsim
