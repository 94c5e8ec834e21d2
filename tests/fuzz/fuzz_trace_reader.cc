// One reader of traces, whatever the bytes look like: the build makes a program for each line of
// trace_readers.inc and says in DFSIM_FUZZED_READER which function gives its reader. fuzz_trace
// tells the format from the content, as the program does.
//
// For a format that is a folder the input is cut at bytes 0x1D into the files of such a folder, the
// last of which gets the rest.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/io/file.h"
#include "base/text.h"
#include "datasets/traces/trace_readers.h"
#include "tests/fuzz/trace_checks.h"

namespace {

namespace fs = std::filesystem;

constexpr char kCut = '\x1D';

// A folder of this process, removed when the process ends.
class FuzzFolder {
 public:
  FuzzFolder() : path_(fs::temp_directory_path() / ("dfsim_fuzz_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~FuzzFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

void write_folder(const std::string& folder, std::string_view file_names, std::string_view rest) {
  const std::vector<std::string> names = dfsim::split(file_names, ' ');
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t cut = i + 1 < names.size() ? std::min(rest.find(kCut), rest.size()) : rest.size();
    if (!dfsim::write_file(folder + "/" + names[i], rest.substr(0, cut)).ok()) {
      std::abort();
    }
    rest.remove_prefix(std::min(cut + 1, rest.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dfsim::TraceReader reader = dfsim::DFSIM_FUZZED_READER();
  std::string bytes(data, data + size);
  if (reader.folder_files.empty()) {
    dfsim::check_trace(reader.read(dfsim::TraceInput::of_content("fuzz", std::move(bytes))));
    return 0;
  }
  static const FuzzFolder folder;
  write_folder(folder.path(), reader.folder_files, bytes);
  auto input = dfsim::TraceInput::open(folder.path());
  if (!input.ok()) {
    std::abort();
  }
  dfsim::check_trace(reader.read(*std::move(input)));
  return 0;
}
