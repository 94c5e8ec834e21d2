// Parses a model and collects what its graphs share: imported opsets by domain, and functions by
// name.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include "base/text.h"
#include "graphs/onnx/model_scope_internal.h"
#include "graphs/onnx/packed_model_internal.h"
#include "graphs/onnx/slim.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kNewestKnownOpset = 28;
constexpr int64_t kLargestPlausibleOpset = 1000;

}  // namespace

std::string canonical_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

int ModelScope::version_of(const Opsets& imported, const std::string& domain) const {
  if (const auto it = imported.find(domain); it != imported.end()) {
    return it->second;
  }
  const auto it = opsets.find(domain);
  return it != opsets.end() ? it->second : 1;
}

StatusOr<onnx::ModelProto> parse_model(std::string_view content) {
  if (content.empty()) {
    return invalid_input("the file is empty; expected an ONNX model");
  }
  DFSIM_ASSIGN_OR_RETURN(const std::optional<std::string> unpacked, unpack_model(content));
  const std::string_view bytes_of_model = unpacked ? std::string_view(*unpacked) : content;
  DFSIM_RETURN_IF_ERROR(check_kind(bytes_of_model));
  DFSIM_ASSIGN_OR_RETURN(const std::string slim, slim_model(bytes_of_model));
  google::protobuf::LogSilencer quiet;  // protobuf's own complaints would go to stderr
  google::protobuf::io::ArrayInputStream bytes(slim.data(), static_cast<int>(slim.size()));
  google::protobuf::io::CodedInputStream stream(&bytes);
  stream.SetRecursionLimit(400);  // slim_model has bounded the nesting already
  onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&stream)) {
    return invalid_input("not a valid ONNX model: its fields have the wrong types");
  }
  if (!model.has_graph() || (model.graph().node_size() == 0 && model.graph().output_size() == 0)) {
    return invalid_input("holds no graph; expected an ONNX model with nodes");
  }
  return model;
}

StatusOr<ModelScope> read_scope(const onnx::ModelProto& model, std::vector<std::string>* notes) {
  ModelScope scope;
  for (const auto& opset : model.opset_import()) {
    const std::string domain = canonical_domain(opset.domain());
    if (opset.version() <= 0 || opset.version() > kLargestPlausibleOpset) {
      return invalid_input(fmt::format("opset {} of domain '{}'; expected 1 to {}", opset.version(),
                                       printable(domain), kNewestKnownOpset));
    }
    if (domain.empty() && opset.version() > kNewestKnownOpset) {
      notes->push_back(fmt::format("opset {} is newer than {}, whose rules are used",
                                   opset.version(), kNewestKnownOpset));
    }
    scope.opsets[domain] = static_cast<int>(opset.version());
  }
  if (!scope.opsets.contains("")) {
    // Before opsets existed there was one version; a file that only forgets it means a recent one.
    const int version = model.ir_version() < 3 ? 1 : 17;
    if (model.opset_import_size() == 0) {
      notes->push_back(fmt::format("the file names no opset; version {} is assumed", version));
    }
    scope.opsets[""] = version;
  }
  for (const auto& function : model.functions()) {
    scope.functions.emplace(std::pair(canonical_domain(function.domain()), function.name()),
                            &function);
  }
  return scope;
}

}  // namespace dfsim::inline graphs
