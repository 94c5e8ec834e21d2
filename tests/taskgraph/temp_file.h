// A file with given content that is gone when the test ends.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace dfsim::testing {

class TempFile {
 public:
  explicit TempFile(std::string_view content, std::string_view suffix = "") {
    static int count = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("dfsim-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++) +
              std::string(suffix)))
                .string();
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dfsim::testing
