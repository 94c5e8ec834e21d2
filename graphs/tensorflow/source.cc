// Reads the three containers (binary GraphDef, SavedModel, text format) into one view of graph,
// functions and signatures. Functions refer to outputs by argument name, so the output arguments
// of operators are looked up in the file's own definitions, or in a small table for files
// without.
#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "graphs/tensorflow/slim.h"
#include "graphs/tensorflow/source_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMaxTextDepth = 64;
constexpr size_t kMaxTextBytes = size_t{1} << 30;

// The first error of the text parser; warnings (unknown fields) are not errors.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) {
      text_ = fmt::format("line {}, column {}: {}", line + 1, column + 1, printable(message, 120));
    }
  }
  void AddWarning(int /*line*/, int /*column*/, const std::string& /*message*/) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Status parse_text(std::string_view content, google::protobuf::Message* message) {
  if (content.size() > kMaxTextBytes) {
    return invalid_input(fmt::format(
        "{} bytes of text; expected at most 1 GiB: save it in binary form", content.size()));
  }
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.AllowUnknownField(true);
  parser.AllowUnknownExtension(true);
  parser.SetRecursionLimit(kMaxTextDepth);
  google::protobuf::io::ArrayInputStream stream(content.data(), static_cast<int>(content.size()));
  if (!parser.Parse(&stream, message)) {
    return invalid_input(fmt::format("not a valid graph in text format: {}", errors.text()));
  }
  return ok_status();
}

Status parse_binary(std::string_view content, TensorFlowFile kind,
                    google::protobuf::Message* message) {
  DFSIM_ASSIGN_OR_RETURN(const std::string slim, slim_graph(content, kind));
  if (!message->ParseFromString(slim)) {
    return invalid_input(
        fmt::format("not a valid {}: its fields do not fit; is it another kind of file?",
                    kind == TensorFlowFile::kSavedModel ? "SavedModel" : "GraphDef"));
  }
  return ok_status();
}

// Output arguments of operators that have several, where the file does not define its operators.
const std::map<std::string_view, std::vector<std::string_view>>& output_arguments() {
  static const std::map<std::string_view, std::vector<std::string_view>> kArguments = {
      {"BlockLSTM", {"i", "cs", "f", "o", "ci", "co", "h"}},
      {"BlockLSTMV2", {"i", "cs", "f", "o", "ci", "co", "h"}},
      {"BroadcastGradientArgs", {"r0", "r1"}},
      {"CTCGreedyDecoder",
       {"decoded_indices", "decoded_values", "decoded_shape", "log_probability"}},
      {"CTCLoss", {"loss", "gradient"}},
      {"CombinedNonMaxSuppression",
       {"nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"}},
      {"CudnnRNNV3", {"output", "output_h", "output_c", "reserve_space", "host_reserved"}},
      {"FusedBatchNorm",
       {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
      {"FusedBatchNormV2",
       {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
      {"FusedBatchNormV3",
       {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2",
        "reserve_space_3"}},
      {"FusedBatchNormGrad",
       {"x_backprop", "scale_backprop", "offset_backprop", "reserve_space_3", "reserve_space_4"}},
      {"FusedBatchNormGradV2",
       {"x_backprop", "scale_backprop", "offset_backprop", "reserve_space_3", "reserve_space_4"}},
      {"FusedBatchNormGradV3",
       {"x_backprop", "scale_backprop", "offset_backprop", "reserve_space_4", "reserve_space_5"}},
      {"GRUBlockCell", {"r", "u", "c", "h"}},
      {"LSTMBlockCell", {"i", "cs", "f", "o", "ci", "co", "h"}},
      {"MaxPoolWithArgmax", {"output", "argmax"}},
      {"Merge", {"output", "value_index"}},
      {"NonMaxSuppressionV4", {"selected_indices", "valid_outputs"}},
      {"NonMaxSuppressionV5", {"selected_indices", "selected_scores", "valid_outputs"}},
      {"QuantizeV2", {"output", "output_min", "output_max"}},
      {"QuantizedBiasAdd", {"output", "min_out", "max_out"}},
      {"QuantizedConv2D", {"output", "min_output", "max_output"}},
      {"QuantizedMatMul", {"out", "min_out", "max_out"}},
      {"RaggedTensorToSparse", {"sparse_indices", "sparse_values", "sparse_dense_shape"}},
      {"RequantizationRange", {"output_min", "output_max"}},
      {"Requantize", {"output", "output_min", "output_max"}},
      {"SoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
      {"SparseSoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
      {"StatelessRandomGetKeyCounter", {"key", "counter"}},
      {"Switch", {"output_false", "output_true"}},
      {"TensorArrayV3", {"handle", "flow"}},
      {"TensorListPopBack", {"output_handle", "tensor"}},
      {"TopK", {"values", "indices"}},
      {"TopKV2", {"values", "indices"}},
      {"Unique", {"y", "idx"}},
      {"UniqueV2", {"y", "idx"}},
      {"UniqueWithCounts", {"y", "idx", "count"}},
  };
  return kArguments;
}

// How many tensors an output argument stands for.
int argument_length(const tf::NodeDef& node, const tf::OpDef::ArgDef& argument) {
  if (!argument.number_attr().empty()) {
    const auto* count = find_attribute(node, argument.number_attr());
    return count != nullptr ? static_cast<int>(std::clamp<int64_t>(count->i(), 0, 1 << 20)) : 1;
  }
  if (!argument.type_list_attr().empty()) {
    const auto* types = find_attribute(node, argument.type_list_attr());
    return types != nullptr ? types->list().type_size() : 1;
  }
  return 1;
}

std::vector<SignatureEntry> sorted_entries(
    const google::protobuf::Map<std::string, tf::TensorInfo>& map) {
  std::vector<SignatureEntry> entries;
  for (const auto& [name, info] : map) {
    entries.push_back({name, info.name()});
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

}  // namespace

const tf::AttrValue* find_attribute(const tf::NodeDef& node, const std::string& name) {
  const auto it = node.attr().find(name);
  return it != node.attr().end() ? &it->second : nullptr;
}

Status TfSource::read(std::string_view content, TensorFlowFormat format,
                      const std::string& signature) {
  switch (format) {
    case TensorFlowFormat::kGraphDef:
      DFSIM_RETURN_IF_ERROR(parse_binary(content, TensorFlowFile::kGraphDef, &own_graph_));
      break;
    case TensorFlowFormat::kGraphDefText:
      DFSIM_RETURN_IF_ERROR(parse_text(content, &own_graph_));
      break;
    case TensorFlowFormat::kSavedModel:
      DFSIM_RETURN_IF_ERROR(parse_binary(content, TensorFlowFile::kSavedModel, &saved_));
      break;
    case TensorFlowFormat::kSavedModelText:
      DFSIM_RETURN_IF_ERROR(parse_text(content, &saved_));
      break;
  }
  graph_ = &own_graph_;
  if (format == TensorFlowFormat::kSavedModel || format == TensorFlowFormat::kSavedModelText) {
    if (saved_.meta_graphs_size() == 0) {
      return invalid_input("the SavedModel has no graph; expected one of tag 'serve'");
    }
    const tf::MetaGraphDef* meta = &saved_.meta_graphs(0);
    for (const tf::MetaGraphDef& candidate : saved_.meta_graphs()) {
      const auto& tags = candidate.meta_info_def().tags();
      if (std::find(tags.begin(), tags.end(), "serve") != tags.end()) {
        meta = &candidate;
        break;
      }
    }
    graph_ = &meta->graph_def();
    for (const tf::OpDef& op : meta->meta_info_def().stripped_op_list().op()) {
      op_defs_.emplace(op.name(), &op);
    }
    if (!meta->meta_info_def().tensorflow_version().empty()) {
      producer_ = "tensorflow " + printable(meta->meta_info_def().tensorflow_version(), 40);
    }
    DFSIM_RETURN_IF_ERROR(choose_signature(*meta, signature));
  } else if (!signature.empty()) {
    return invalid_input("--signature: only SavedModels have signatures, this is a plain graph");
  }
  if (producer_.empty() && graph_->has_versions()) {
    producer_ = fmt::format("tensorflow, graph version {}", graph_->versions().producer());
  }
  if (graph_->node_size() == 0) {
    return invalid_input("the graph has no nodes; expected a TensorFlow graph");
  }
  index();
  return ok_status();
}

Status TfSource::choose_signature(const tf::MetaGraphDef& meta, const std::string& wanted) {
  constexpr std::string_view kInit = "__saved_model_init_op";
  std::vector<std::string> names;
  for (const auto& [name, definition] : meta.signature_def()) {
    if (name != kInit) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  if (wanted.empty() && names.empty()) {
    return ok_status();  // the graph alone
  }
  signature_name_ = wanted;
  if (wanted.empty()) {
    const bool usual = std::find(names.begin(), names.end(), "serving_default") != names.end();
    if (!usual && names.size() > 1) {
      return invalid_input(
          fmt::format("the SavedModel has several signatures and none is "
                      "'serving_default'; choose with --signature: {}",
                      printable(join(names, ", "), 400)));
    }
    signature_name_ = usual ? "serving_default" : names.front();
  }
  const auto it = meta.signature_def().find(signature_name_);
  if (it == meta.signature_def().end()) {
    return invalid_input("--signature: " +
                         unknown_name_message("signature", signature_name_, names));
  }
  has_signature_ = true;
  inputs_ = sorted_entries(it->second.inputs());
  outputs_ = sorted_entries(it->second.outputs());
  return ok_status();
}

void TfSource::index() {
  for (const tf::FunctionDef& function : graph_->library().function()) {
    functions_.emplace(function.signature().name(), &function);
    op_defs_.emplace(function.signature().name(), &function.signature());
  }
}

const tf::FunctionDef* TfSource::function(const std::string& name) const {
  const auto it = functions_.find(name);
  return it != functions_.end() ? it->second : nullptr;
}

int TfSource::flat_output(const tf::NodeDef& node, const std::string& argument, int index) const {
  if (const auto it = op_defs_.find(node.op()); it != op_defs_.end()) {
    int position = 0;
    for (const tf::OpDef::ArgDef& candidate : it->second->output_arg()) {
      if (candidate.name() == argument) {
        return position + index;
      }
      position += argument_length(node, candidate);
    }
    return index;
  }
  if (const auto it = output_arguments().find(node.op()); it != output_arguments().end()) {
    const auto found = std::find(it->second.begin(), it->second.end(), argument);
    if (found != it->second.end()) {
      return static_cast<int>(found - it->second.begin()) + index;
    }
  }
  return index;
}

}  // namespace dfsim::inline graphs
