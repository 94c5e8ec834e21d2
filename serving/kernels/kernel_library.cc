// Finds and shares kernel sets. Files are named SYSTEM-FRAMEWORK-VERSION.kernels.
#include "serving/kernels/kernel_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/io/data_dir.h"
#include "base/io/file.h"
#include "base/text.h"
#include "serving/kernels/serving_system.h"

namespace dfsim::inline serving {

namespace {

constexpr std::string_view kKernelsFolder = "serving/kernels/pretrained";
constexpr std::string_view kKernelsSuffix = ".kernels";
constexpr int64_t kMostKernelsBytes = int64_t{64} << 20;

using SharedSet = std::shared_ptr<const KernelSet>;

StatusOr<SharedSet> load_shared(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, SharedSet> loaded;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto at = loaded.find(path); at != loaded.end()) {
    return at->second;
  }
  DFSIM_ASSIGN_OR_RETURN(const std::string bytes, read_file(path, kMostKernelsBytes));
  DFSIM_ASSIGN_OR_RETURN(KernelSet set, decode_kernel_set(bytes, path));
  SharedSet shared = std::make_shared<const KernelSet>(std::move(set));
  loaded.emplace(path, shared);
  return shared;
}

// Files SYSTEM-FRAMEWORK-*.kernels of the first data folder that has kernels at all, by name.
std::vector<std::string> kernel_files(const std::string& system, const std::string& framework) {
  std::vector<std::string> files;
  for (const std::string& root : data_dirs()) {
    const std::filesystem::path folder = std::filesystem::path(root) / kKernelsFolder;
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) {
      continue;
    }
    const std::string prefix = fmt::format("{}-{}-", system, framework);
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(prefix) && name.ends_with(kKernelsSuffix)) {
        files.push_back(entry.path().string());
      }
    }
    break;
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int64_t version_rank(const std::string& version) {
  int64_t rank = 0;
  size_t at = 0;
  for (int part = 0; part < 3; ++part) {
    int64_t number = 0;
    while (at < version.size() && std::isdigit(static_cast<unsigned char>(version[at])) != 0) {
      number = std::min<int64_t>(number * 10 + (version[at] - '0'), 999);
      ++at;
    }
    rank = rank * 1000 + number;
    // "1.2.0rc5": what follows the third number does not tell kernels apart.
    at += at < version.size() && version[at] == '.' ? 1 : 0;
  }
  return rank;
}

StatusOr<KernelLibrary> KernelLibrary::open(const std::string& system, const std::string& framework,
                                            const std::string& version) {
  DFSIM_ASSIGN_OR_RETURN(const ServingSystem known, find_serving_system(system));
  const std::vector<std::string> frameworks = {"vllm", "trtllm", "sglang"};
  if (std::find(frameworks.begin(), frameworks.end(), framework) == frameworks.end()) {
    return not_found(unknown_name_message("framework", framework, frameworks));
  }
  const std::vector<std::string> files = kernel_files(std::string(known.name), framework);
  if (files.empty()) {
    return not_found(fmt::format(
        "{}/{}-{}-*{}: no kernel models found, expected those that come with dfsim; reinstall or "
        "set DFSIM_DATA_DIR",
        kKernelsFolder, known.name, framework, kKernelsSuffix));
  }
  KernelLibrary library;
  for (const std::string& file : files) {
    DFSIM_ASSIGN_OR_RETURN(SharedSet set, load_shared(file));
    library.sets_.push_back(std::move(set));
  }
  std::sort(library.sets_.begin(), library.sets_.end(), [](const SharedSet& a, const SharedSet& b) {
    return version_rank(a->version) > version_rank(b->version);
  });
  if (!version.empty()) {
    const int64_t wanted = version_rank(version);
    const auto nearest = std::min_element(library.sets_.begin(), library.sets_.end(),
                                          [&](const SharedSet& a, const SharedSet& b) {
                                            return std::abs(version_rank(a->version) - wanted) <
                                                   std::abs(version_rank(b->version) - wanted);
                                          });
    std::rotate(library.sets_.begin(), nearest, nearest + 1);
  }
  return library;
}

StatusOr<KernelCurve> KernelLibrary::curve(KernelKind kind, const std::string& category,
                                           const std::vector<double>& anchor) {
  for (const SharedSet& set : sets_) {
    const KernelSurface* surface = set->find(kind);
    if (surface == nullptr || surface->find(category) == nullptr) {
      continue;
    }
    if (set != sets_.front()) {
      std::string note = fmt::format("{} {}: kernels of {} {}", kernel_kind_name(kind), category,
                                     set->framework, set->version);
      if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) {
        notes_.push_back(std::move(note));
      }
    }
    return surface->curve(category, anchor, set->gpu);
  }
  return not_found(fmt::format(
      "{} of {}: no {} kernels of '{}' were measured; there are: {}", sets_.front()->framework,
      sets_.front()->system, kernel_kind_name(kind), category, fmt::join(categories(kind), ", ")));
}

bool KernelLibrary::has(KernelKind kind, const std::string& category) const {
  return std::any_of(sets_.begin(), sets_.end(), [&](const SharedSet& set) {
    const KernelSurface* surface = set->find(kind);
    return surface != nullptr && surface->find(category) != nullptr;
  });
}

const KernelErrors* KernelLibrary::errors(KernelKind kind, const std::string& category) const {
  for (const SharedSet& set : sets_) {
    const KernelSurface* surface = set->find(kind);
    const KernelCategory* found = surface == nullptr ? nullptr : surface->find(category);
    if (found != nullptr) {
      return &found->errors;
    }
  }
  return nullptr;
}

std::vector<std::string> KernelLibrary::categories(KernelKind kind) const {
  std::vector<std::string> names;
  for (const SharedSet& set : sets_) {
    const KernelSurface* surface = set->find(kind);
    if (surface == nullptr) {
      continue;
    }
    for (const KernelCategory& category : surface->categories()) {
      if (std::find(names.begin(), names.end(), category.name) == names.end()) {
        names.push_back(category.name);
      }
    }
  }
  return names;
}

}  // namespace dfsim::inline serving
