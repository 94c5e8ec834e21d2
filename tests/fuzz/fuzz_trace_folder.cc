// Traces that are folders: the input is cut at bytes 0x1D into the files that DFSIM_FOLDER_FILES
// names, the last of which gets the rest.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/io/file.h"
#include "base/text.h"
#include "datasets/traces/trace_reader.h"
#include "tests/fuzz/trace_checks.h"

namespace {

namespace fs = std::filesystem;

constexpr char kCut = '\x1D';

// Of this process, gone with it.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("dfsim_fuzz_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  static const std::vector<std::string> names = dfsim::split(DFSIM_FOLDER_FILES, ' ');
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t cut = i + 1 < names.size() ? std::min(rest.find(kCut), rest.size()) : rest.size();
    if (!dfsim::write_file(folder.path() + "/" + names[i], rest.substr(0, cut)).ok()) {
      std::abort();
    }
    rest.remove_prefix(std::min(cut + 1, rest.size()));
  }
  dfsim::check_trace(dfsim::read_trace(folder.path()));
  return 0;
}
