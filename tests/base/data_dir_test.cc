#include "base/io/data_dir.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "base/io/file.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;
using Dirs = std::vector<std::string>;

// An empty folder that disappears with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "dfsim_data_dir_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = fs::canonical(name);
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST_CASE("an installed program finds share/dfsim beside its bin folder, and nothing else") {
  const TempFolder prefix;
  fs::create_directories(prefix.path() / "bin");
  fs::create_directories(prefix.path() / "share" / "dfsim");
  const std::string program = (prefix.path() / "bin" / "dfsim").string();
  CHECK(internal::data_dirs_for(program, "") == Dirs{(prefix.path() / "share" / "dfsim").string()});
}

TEST_CASE("DFSIM_DATA_DIR comes first, and is left out when it does not exist") {
  const TempFolder prefix;
  const fs::path mine = prefix.path() / "mine";
  const fs::path share = prefix.path() / "share" / "dfsim";
  fs::create_directories(mine);
  fs::create_directories(share);
  const std::string program = (prefix.path() / "bin" / "dfsim").string();
  CHECK(internal::data_dirs_for(program, mine.string()) == Dirs{mine.string(), share.string()});
  CHECK(internal::data_dirs_for(program, share.string()) == Dirs{share.string()});
  CHECK(internal::data_dirs_for(program, (prefix.path() / "gone").string()) ==
        Dirs{share.string()});
}

TEST_CASE("without a program path and a variable there is no data folder") {
  CHECK(internal::data_dirs_for("", "").empty());
}

TEST_CASE("a program in the build folder finds the source tree") {
  const Dirs dirs = data_dirs();
  const std::string source = fs::canonical(DFSIM_SOURCE_DIR).string();
  CHECK(std::find(dirs.begin(), dirs.end(), source) != dirs.end());

  const StatusOr<std::string> path = find_data_file("base/io/data_dir.h");
  REQUIRE(path.ok());
  CHECK(*path == source + "/base/io/data_dir.h");
  CHECK(read_file(*path, 1 << 20).ok());
}

TEST_CASE("a missing data file is named with the folders that were searched") {
  const StatusOr<std::string> path = find_data_file("hardware/no-such-machine.yaml");
  REQUIRE_FALSE(path.ok());
  CHECK(path.status().code() == StatusCode::kNotFound);
  CHECK(path.status().message().find("hardware/no-such-machine.yaml: ") == 0);
  CHECK(path.status().message().find(DFSIM_SOURCE_DIR) != std::string::npos);
}

}  // namespace
}  // namespace dfsim
