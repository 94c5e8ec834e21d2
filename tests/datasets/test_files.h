// Files for the tests of readers: fixtures of this folder, real data by DFSIM_SHARED, scratch
// files.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/io/file.h"

namespace dfsim {

inline std::string fixture(std::string_view name) {
  return std::string(DFSIM_SOURCE_DIR) + "/tests/datasets/fixtures/" + std::string(name);
}

// The path of a file of the shared data, or "" when DFSIM_SHARED is not set.
inline std::string shared_file(std::string_view name) {
  const char* const root = std::getenv("DFSIM_SHARED");
  return root == nullptr ? "" : std::string(root) + "/" + std::string(name);
}

// A folder of its own, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dfsim_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes `content` there and gives the path.
  std::string write(std::string_view name, std::string_view content) const {
    const std::string path = file(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    DFSIM_CHECK(write_file(path, content).ok());
    return path;
  }

 private:
  std::string path_;
};

}  // namespace dfsim
