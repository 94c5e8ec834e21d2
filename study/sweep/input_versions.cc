#include "study/sweep/input_versions.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/hash.h"
#include "base/io/file.h"
#include "graphs/llm/llm_import.h"
#include "graphs/onnx/importer.h"
#include "graphs/tensorflow/format.h"

namespace dfsim::inline study {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostDigestedBytes = 64'000'000;
constexpr std::string_view kConfigPrefix = "hf:";

}  // namespace

std::string file_version(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) {
    return "none";
  }
  if (size <= kMostDigestedBytes) {
    const auto content = read_file(path, static_cast<int64_t>(kMostDigestedBytes));
    return content.ok() ? fmt::format("{:016x}", Hasher().add(*content).digest()) : "none";
  }
  const auto time = fs::last_write_time(path, error);
  return fmt::format("{}@{}", size, time.time_since_epoch().count());
}

std::string model_version(const std::string& path) {
  const std::string file =
      path.starts_with(kConfigPrefix) ? path.substr(kConfigPrefix.size()) : path;
  if (std::error_code error; fs::is_directory(file, error)) {
    std::string version;
    for (const char* name : {"config.json", "saved_model.pb", "saved_model.pbtxt"}) {
      version += file_version((fs::path(file) / name).string()) + ";";
    }
    return version;
  }
  std::string version = file_version(file);
  if (!is_llm_config(path) && !recognise_tensorflow(file)) {
    version += fmt::format(";{:016x}", external_values_digest(file));
  }
  return version;
}

}  // namespace dfsim::inline study
