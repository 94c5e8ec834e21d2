// Small tensors in files of their own: exporters of large models store shapes and axes there, too.
#include <charconv>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "graphs/onnx/packed_model_internal.h"
#include "graphs/onnx/tensor_reader_internal.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/values/stored_constant.h"

namespace dfsim::inline graphs {
namespace {

namespace fs = std::filesystem;

// Where a tensor's bytes are; `length` -1 when the model does not say.
struct ExternalPlace {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;
};

std::optional<ExternalPlace> place_of(const onnx::TensorProto& tensor) {
  ExternalPlace place;
  for (const auto& entry : tensor.external_data()) {
    const std::string& text = entry.value();
    int64_t* number = entry.key() == "offset"   ? &place.offset
                      : entry.key() == "length" ? &place.length
                                                : nullptr;
    if (entry.key() == "location") {
      place.location = text;
    } else if (number != nullptr) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
      if (error != std::errc() || end != text.data() + text.size() || *number < 0) {
        return std::nullopt;
      }
    }
  }
  // Only files next to the model, as the format demands.
  const fs::path path(place.location);
  for (const fs::path& part : path) {
    if (part == "..") {
      return std::nullopt;
    }
  }
  return place.location.empty() || path.is_absolute() ? std::nullopt : std::optional(place);
}

class SmallTensorLoader {
 public:
  explicit SmallTensorLoader(fs::path folder) : folder_(std::move(folder)) {}

  void load(onnx::GraphProto* graph) {
    for (auto& tensor : *graph->mutable_initializer()) {
      load(&tensor);
    }
    load(graph->mutable_node());
  }

  void load(google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes) {
    for (auto& node : *nodes) {
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_t()) {
          load(attribute.mutable_t());
        }
        if (attribute.has_g()) {  // the reader of files has bounded the nesting
          load(attribute.mutable_g());
        }
      }
    }
  }

  uint64_t digest() const { return read_.digest(); }

 private:
  void load(onnx::TensorProto* tensor) {
    if (tensor->data_location() != onnx::TensorProto::EXTERNAL) {
      return;
    }
    const DType dtype = dtype_from_onnx(tensor->data_type());
    const auto shape = read_dims(*tensor);
    const auto place = place_of(*tensor);
    if (!shape.ok() || !place || !keeps_value(dtype, shape->elements())) {
      return;
    }
    const int64_t bytes = dtype_bytes(dtype, shape->elements()).value();
    if (place->length >= 0 && place->length != bytes) {
      return;
    }
    std::error_code error;
    const fs::path path = folder_ / place->location;
    // A pipe in place of the file would block.
    if (!fs::is_regular_file(path, error)) {
      return;
    }
    std::ifstream file(path, std::ios::binary);
    std::string content(static_cast<size_t>(bytes), '\0');
    if (file.seekg(place->offset) && file.read(content.data(), bytes)) {
      read_.add(content);
      tensor->set_raw_data(std::move(content));
      tensor->set_data_location(onnx::TensorProto::DEFAULT);
    }
  }

  fs::path folder_;
  Hasher read_;
};

}  // namespace

uint64_t load_small_external(const std::string& folder, onnx::ModelProto* model) {
  SmallTensorLoader loader(folder.empty() ? fs::path(".") : fs::path(folder));
  loader.load(model->mutable_graph());
  for (auto& function : *model->mutable_functions()) {
    loader.load(function.mutable_node());
  }
  return loader.digest();
}

}  // namespace dfsim::inline graphs
