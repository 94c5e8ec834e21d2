// Tensors whose extents are in the data: labels of CTC, ragged tensors, files of images, and
// programs in another format. Where no bound exists, the reason says what to do.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

bool has_logits(NodeContext& node) {
  if (node.rank(0) == 3) {
    return true;
  }
  node.error("expected logits [time, batch, classes]");
  return false;
}

// logits [T, B, C], indices and values of labels, lengths -> losses, gradient
void ctc_loss(NodeContext& node, std::string_view target) {
  if (has_logits(node)) {
    const Shape x = node.shape(0);
    node.set_known(target, {node.plain(0), node.plain(2)},
                   {{{x[1].extent()}}, {x.extents(), node.dtype(0)}});
  }
}

// logits [T, B, C], lengths -> for each path indices, then values, then shapes; probabilities. Each
// step may give a label.
void ctc_decoder(NodeContext& node, std::string_view target) {
  constexpr int64_t kMostPaths = 1024;
  const int64_t paths = node.attr_int("top_paths", 1);
  if (!has_logits(node)) {
    return;
  }
  if (paths < 1 || paths > kMostPaths) {
    node.error(fmt::format("top_paths is {}, expected 1 to {}", paths, kMostPaths));
    return;
  }
  const int64_t batch = node.shape(0)[1].extent();
  const int64_t most = (Count(node.shape(0)[0].extent()) * Count(batch)).value();
  const std::pair<std::vector<int64_t>, bool> kinds[] = {
      {{most, 2}, true}, {{most}, true}, {{2}, false}};
  std::vector<KnownOutput> outputs;
  for (const auto& [shape, at_most] : kinds) {
    outputs.insert(outputs.end(), static_cast<size_t>(paths),
                   KnownOutput{shape, DType::kInt64, at_most});
  }
  outputs.push_back({{batch, paths}, node.dtype(0)});
  node.set_known(target, {node.plain(0)}, outputs,
                 {{"beam_width", node.attr_int("beam_width", 100)}});
}

// Rows of a ragged tensor, of the first of its partitions.
std::optional<int64_t> ragged_rows(NodeContext& node, size_t input) {
  const tf::AttrValue* types = find_attribute(node.def(), "row_partition_types");
  const std::string kind =
      types != nullptr && types->list().s_size() > 0 ? types->list().s(0) : "ROW_SPLITS";
  if (kind == "FIRST_DIM_SIZE") {
    return node.integer(input);
  }
  if (kind == "ROW_SPLITS" && node.rank(input) == 1) {
    return node.shape(input)[0].extent() - 1;
  }
  return std::nullopt;
}

// shape, values, default, partitions: a row is as long as the shape says, or at most as long as all
// values together.
void ragged_to_dense(NodeContext& node, std::string_view target) {
  auto shape = node.ints(0);
  const std::vector<int64_t> values = node.shape(1).extents();
  if (!shape || shape->empty() || values.empty()) {
    node.unresolved("its shape is not known before the run");
    return;
  }
  bool at_most = false;
  const size_t inner = shape->size() - std::min(shape->size(), values.size() - 1);
  for (size_t i = 0; i < shape->size(); ++i) {
    int64_t& extent = (*shape)[i];
    if (extent >= 0) {
      continue;
    }
    const std::optional<int64_t> rows = i == 0 ? ragged_rows(node, 3) : std::nullopt;
    extent = rows ? *rows : i >= inner ? values[i - inner + 1] : values[0];
    at_most = at_most || (!rows && i < inner);
    if (extent < 0) {
      node.unresolved("its number of rows is not known before the run");
      return;
    }
  }
  node.set_known(target, {node.plain(1)}, {{*shape, node.dtype(1), at_most}});
}

// splits of each ragged axis, values -> indices, values, shape
void ragged_to_sparse(NodeContext& node, std::string_view target) {
  const size_t last = node.input_count() - 1;
  const Shape values = node.shape(last);
  const int64_t elements = values.elements().value();
  const auto rank = static_cast<int64_t>(last) + values.rank();
  node.set_known(
      target, {node.plain(last)},
      {{{elements, rank}, DType::kInt64}, {{elements}, node.dtype(last)}, {{rank}, DType::kInt64}});
}

// splits, values, number of bins, weights
void ragged_bins(NodeContext& node, std::string_view target) {
  const auto bins = node.integer(2);
  if (!bins || *bins < 0 || *bins > kMaxExtent || node.rank(0) != 1) {
    node.unresolved("the number of bins is not known before the run");
    return;
  }
  node.set_known(target, {node.plain(1), node.plain(3)},
                 {{{std::max<int64_t>(0, node.shape(0)[0].extent() - 1), *bins}, node.dtype(3)}});
}

void text_like(NodeContext& node, std::string_view target) {
  node.set_known(target, {node.plain(0)}, {{node.shape(0).extents(), DType::kString}});
}

// bytes, length of each after padding
void padded_bytes(NodeContext& node, std::string_view target) {
  const auto length = node.integer(1);
  const DType dtype = node.attr_dtype("out_type");
  const int64_t bits = dtype_bits(dtype);
  if (!length || *length < 0 || bits < 8) {
    node.unresolved("its length is not known before the run");
    return;
  }
  std::vector<int64_t> shape = node.shape(0).extents();
  shape.push_back(*length / (bits / 8));
  node.set_known(target, {node.plain(0)}, {{shape, dtype}});
}

// Inside a function; in the main graph the decoded image is an input.
void image_file(NodeContext& node, std::string_view /*target*/) {
  node.unresolved(
      "the size of an image is in its file; export the graph from the decoded image on");
}

void bytes_of_string(NodeContext& node, std::string_view /*target*/) {
  node.unresolved(
      "the length of its bytes is in the data; export the graph from the decoded tensor on");
}

void stable_hlo(NodeContext& node, std::string_view /*target*/) {
  node.unresolved(
      "it holds StableHLO bytecode (jax2tf), which dfsim does not read; export the model to ONNX, "
      "or "
      "with native_serialization=False");
}

void unbounded(NodeContext& node, std::string_view /*target*/) {
  node.unresolved("the number of its values depends on the data, without a bound");
}

// clang-format off
constexpr TfRule kRaggedRules[] = {
    {.type = "CTCLoss", .translate = ctc_loss, .target = "CTCLoss", .required_inputs = 4},
    {.type = "CTCLossV2", .translate = ctc_loss, .target = "CTCLoss", .required_inputs = 4},
    {.type = "CTCGreedyDecoder", .translate = ctc_decoder, .target = "CTCGreedyDecoder",
     .required_inputs = 2},
    {.type = "CTCBeamSearchDecoder", .translate = ctc_decoder, .target = "CTCBeamSearchDecoder",
     .required_inputs = 2},
    {.type = "RaggedTensorToTensor", .translate = ragged_to_dense, .target = "RaggedTensorToTensor",
     .required_inputs = 4},
    {.type = "RaggedTensorToSparse", .translate = ragged_to_sparse,
     .target = "RaggedTensorToSparse", .required_inputs = 2},
    {.type = "RaggedBincount", .translate = ragged_bins, .target = "RaggedBincount",
     .required_inputs = 4},
    {.type = "RaggedGather", .translate = unbounded, .tolerant = true},
    {.type = "RaggedRange", .translate = unbounded, .tolerant = true},
    {.type = "DecodeBase64", .translate = text_like, .target = "DecodeBase64"},
    {.type = "EncodeBase64", .translate = text_like, .target = "EncodeBase64"},
    {.type = "DecodePaddedRaw", .translate = padded_bytes, .target = "DecodePaddedRaw",
     .required_inputs = 2},
    {.type = "DecodeRaw", .translate = bytes_of_string, .tolerant = true},
    {.type = "DecodeJpeg", .translate = image_file, .tolerant = true},
    {.type = "DecodeAndCropJpeg", .translate = image_file, .tolerant = true},
    {.type = "DecodePng", .translate = image_file, .tolerant = true},
    {.type = "DecodeBmp", .translate = image_file, .tolerant = true},
    {.type = "DecodeGif", .translate = image_file, .tolerant = true},
    {.type = "DecodeImage", .translate = image_file, .tolerant = true},
    {.type = "XlaCallModule", .translate = stable_hlo, .required_inputs = 0, .tolerant = true},
};
// clang-format on

}  // namespace

std::span<const TfRule> ragged_tf_rules() { return kRaggedRules; }

}  // namespace dfsim::inline graphs
