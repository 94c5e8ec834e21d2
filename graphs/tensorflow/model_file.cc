// Model files and folders: which format one has, and importing it.
#include <algorithm>
#include <filesystem>

#include "base/io/mapped_file.h"
#include "base/text.h"
#include "graphs/tensorflow/importer.h"

namespace dfsim::inline graphs {
namespace {

namespace fs = std::filesystem;

StatusOr<TensorFlowFormat> folder_format(const std::string& folder, std::string* file) {
  for (const auto& [name, format] :
       {std::pair("saved_model.pb", TensorFlowFormat::kSavedModel),
        std::pair("saved_model.pbtxt", TensorFlowFormat::kSavedModelText)}) {
    std::error_code ignored;
    if (fs::is_regular_file(fs::path(folder) / name, ignored)) {
      *file = (fs::path(folder) / name).string();
      return format;
    }
  }
  return invalid_input(folder +
                       ": a folder without saved_model.pb or saved_model.pbtxt; expected a model "
                       "file or a SavedModel");
}

// The first byte inside a field whose length is written at `pos`; 0 when there is none.
char first_byte_inside(std::string_view content, size_t pos) {
  while (pos < content.size() && (static_cast<unsigned char>(content[pos]) & 0x80U) != 0) {
    ++pos;
  }
  return pos + 1 < content.size() ? content[pos + 1] : '\0';
}

// SavedModels start with their schema version and a graph whose first field is its description;
// ONNX models that look alike have a producer's name there.
bool looks_saved(std::string_view content) {
  constexpr std::string_view kHead("\x08\x01\x12", 3);
  const char inside = content.starts_with(kHead) ? first_byte_inside(content, kHead.size()) : '\0';
  return inside == '\x0a' || inside == '\x12';
}

// A node with its name or type first, or the version. No ONNX model starts so.
bool looks_like_graph(std::string_view content) {
  if (content.empty()) {
    return false;
  }
  const char inside = first_byte_inside(content, 1);
  return (content[0] == '\x0a' && (inside == '\x0a' || inside == '\x12')) ||
         (content[0] == '\x22' && inside == '\x08');
}

// The format of a text that starts with a field of a graph or of a SavedModel, after comments.
std::optional<TensorFlowFormat> text_format(std::string_view content) {
  size_t pos = 0;
  while (pos < content.size()) {
    if (content[pos] == '#') {
      pos = std::min(content.find('\n', pos), content.size());
    } else if (content[pos] != ' ' && content[pos] != '\n' && content[pos] != '\r' &&
               content[pos] != '\t') {
      break;
    } else {
      ++pos;
    }
  }
  const std::string_view rest = content.substr(pos);
  for (const std::string_view field : {"saved_model_schema_version", "meta_graphs"}) {
    if (rest.starts_with(field)) {
      return TensorFlowFormat::kSavedModelText;
    }
  }
  for (const std::string_view field : {"node", "versions", "library"}) {
    if (rest.starts_with(field)) {
      return TensorFlowFormat::kGraphDefText;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<TensorFlowFormat> recognise_tensorflow(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return TensorFlowFormat::kSavedModel;
  }
  const std::string extension = to_lower(fs::path(path).extension().string());
  const auto file = MappedFile::open(path);
  if (!file.ok() || extension == ".onnx") {
    return std::nullopt;
  }
  const std::string_view content = file->content();
  if (const auto text = text_format(content)) {
    return text;
  }
  if (looks_saved(content)) {
    return TensorFlowFormat::kSavedModel;
  }
  if (extension == ".pbtxt") {
    return TensorFlowFormat::kGraphDefText;
  }
  return looks_like_graph(content) ? std::optional(TensorFlowFormat::kGraphDef) : std::nullopt;
}

StatusOr<ImportedModel> import_tensorflow(const std::string& path, const ImportOptions& options,
                                          const std::string& signature) {
  std::string file = path;
  std::optional<TensorFlowFormat> format;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    DFSIM_ASSIGN_OR_RETURN(format, folder_format(path, &file));
  } else {
    format = recognise_tensorflow(path);
  }
  DFSIM_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(file));
  if (!format) {
    return invalid_input(path +
                         ": no TensorFlow graph; expected a GraphDef, a SavedModel or either "
                         "in text format");
  }
  auto model = import_tensorflow_bytes(mapped.content(), *format, options, signature);
  if (!model.ok()) {
    return model.status().with_place(path);
  }
  return model;
}

}  // namespace dfsim::inline graphs
