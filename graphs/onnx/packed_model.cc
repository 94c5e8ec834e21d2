// Recognises by their first bytes the containers that models come in. gzip and zip are unpacked;
// formats that dfsim cannot read (TFLite, PyTorch's archives and others) are refused with a line
// that says how to convert them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/io/archive.h"
#include "base/text.h"
#include "graphs/onnx/packed_model_internal.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kMostUnpackedBytes = int64_t{1} << 30;

struct Signature {
  size_t offset;
  std::string_view bytes;
  std::string_view what;
};

constexpr std::string_view kPickle =
    "a Python pickle (an old .pth or .pkl?); export the model with torch.onnx.export first";
constexpr std::string_view kEngine =
    "an engine of TensorRT; pass the ONNX model that it was made from";

constexpr std::array kSignatures = {
    Signature{0, "\x89HDF", "an HDF5 file (a Keras model?); export the model to ONNX first"},
    Signature{0, "version https://git-lfs",
              "a Git LFS pointer, not the model itself; run 'git lfs pull'"},
    Signature{4, "TFL3",
              "a TensorFlow Lite model; expected ONNX: convert it with 'python -m tf2onnx.convert "
              "--tflite FILE --output model.onnx'"},
    Signature{4, "ORTM",
              "a model in ONNX Runtime's own format (.ort); pass the .onnx file that it was made "
              "from"},
    Signature{8, "{\"",
              "a safetensors file, which holds weights and no graph; export the model to ONNX, or "
              "pass a language model's config.json"},
    Signature{
        0, "GGUF",
        "a GGUF file, which holds weights and no graph; pass the language model's config.json"},
    Signature{0, "\x80\x02", kPickle},
    Signature{0, "\x80\x03", kPickle},
    Signature{0, "\x80\x04", kPickle},
    Signature{0, "\x80\x05", kPickle},
    Signature{0, "\x93NUMPY", "an array of NumPy (.npy); expected an ONNX model"},
    Signature{0, "ftrt", kEngine},
    Signature{0, "ptrt", kEngine},
    Signature{0, "<?xml", "an XML file (OpenVINO's?); pass the ONNX model that it was made from"},
};

// A zip archive without an ONNX model, by the files that frameworks put into theirs.
struct ArchiveKind {
  std::string_view member;  // how the name of one of its files ends
  std::string_view what;
};

constexpr std::string_view kExportedProgram =
    "an exported program of PyTorch (.pt2); expected ONNX: convert it with "
    "\"torch.onnx.export(torch.export.load('FILE'), f='model.onnx', dynamo=True)\"";

constexpr std::array kArchiveKinds = {
    ArchiveKind{"serialized_exported_program.json", kExportedProgram},
    ArchiveKind{"archive_format", kExportedProgram},
    ArchiveKind{"models/model.json", kExportedProgram},
    ArchiveKind{"data.pkl",
                "a zip archive of PyTorch (.pt or .pth); export the model with "
                "torch.onnx.export first"},
    ArchiveKind{".npy", "an archive of NumPy's arrays (.npz); expected an ONNX model"},
    ArchiveKind{"model.weights.h5",
                "a Keras model (.keras); export the model to ONNX first, with "
                "\"model.export('model.onnx', format='onnx')\""},
};

Status no_model_in(const std::vector<ZipMember>& members) {
  for (const ArchiveKind& kind : kArchiveKinds) {
    for (const ZipMember& member : members) {
      if (member.name.ends_with(kind.member)) {
        return invalid_input(fmt::format("is {}", kind.what));
      }
    }
  }
  return invalid_input(
      "is a zip archive without a file that ends in .onnx; expected one ONNX model");
}

StatusOr<std::string> model_in_zip(std::string_view content) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<ZipMember> members, read_zip_directory(content));
  std::vector<const ZipMember*> models;
  for (const ZipMember& member : members) {
    const bool hidden = member.name.starts_with("__MACOSX/");
    if (member.name.ends_with(".onnx") && !hidden) {
      models.push_back(&member);
    }
  }
  if (models.empty()) {
    return no_model_in(members);
  }
  if (models.size() > 1) {
    return invalid_input(fmt::format(
        "is a zip archive with {} ONNX models ('{}', '{}'...); unpack it and pass one of them",
        models.size(), printable(models[0]->name, 60), printable(models[1]->name, 60)));
  }
  return read_zip_member(content, *models[0], kMostUnpackedBytes);
}

// Whether the beginning is text: an ONNX model begins with a field number below the printable ones.
bool is_text(std::string_view content) {
  constexpr size_t kLook = 64;
  const std::string_view start = content.substr(0, kLook);
  return !start.empty() && std::all_of(start.begin(), start.end(), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

StatusOr<std::optional<std::string>> unpack_model(std::string_view content) {
  using Result = std::optional<std::string>;
  if (is_gzip(content)) {
    DFSIM_ASSIGN_OR_RETURN(std::string unpacked, gunzip(content, kMostUnpackedBytes));
    return Result(std::move(unpacked));
  }
  if (is_zip(content)) {
    DFSIM_ASSIGN_OR_RETURN(std::string unpacked, model_in_zip(content));
    return Result(std::move(unpacked));
  }
  return Result();
}

Status check_kind(std::string_view content) {
  for (const Signature& signature : kSignatures) {
    if (content.size() > signature.offset &&
        content.substr(signature.offset).starts_with(signature.bytes)) {
      return invalid_input(fmt::format("is {}", signature.what));
    }
  }
  return is_text(content) ? invalid_input("is a text file; expected a binary ONNX model")
                          : ok_status();
}

}  // namespace dfsim::inline graphs
