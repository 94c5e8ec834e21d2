// Finds the folders with dfsim's own data. The program may run from a build tree, an
// installation, an unpacked tarball, or inside another program as a library; the place of the
// running file decides, with symbolic links resolved.
#include "base/io/data_dir.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace dfsim::inline base {
namespace {

namespace fs = std::filesystem;

// The shared library that holds this code, such as a module of Python; "" in a program. Symlinks
// are resolved.
std::string own_library() {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<const void*>(&own_library), &info) == 0 ||
      info.dli_fname == nullptr) {
    return "";
  }
  std::error_code error;
  const fs::path path = fs::canonical(info.dli_fname, error);
  return error || path.filename().string().find(".so") == std::string::npos ? "" : path.string();
}

// Symlinks resolved, so that a link to the program in another folder finds the program's own data.
// Looked up once: dladdr() goes through all symbols of the program.
const std::string& running_executable() {
  static const std::string kExecutable = [] {
    if (std::string library = own_library(); !library.empty()) {
      return library;
    }
    std::error_code error;
    const fs::path path = fs::read_symlink("/proc/self/exe", error);
    return error ? std::string() : path.string();
  }();
  return kExecutable;
}

// `path` is free of symlinks; `folder`, a CMake path, may not be.
bool is_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path relative = path.lexically_relative(fs::weakly_canonical(folder, error));
  return !relative.empty() && *relative.begin() != "..";
}

// Adds `folder`, absolute and without symlinks, when it exists and is not there yet.
void add_folder(const fs::path& folder, std::vector<std::string>& folders) {
  std::error_code error;
  const fs::path canonical = fs::canonical(folder, error);
  if (error || !fs::is_directory(canonical, error)) {
    return;
  }
  if (std::find(folders.begin(), folders.end(), canonical.string()) == folders.end()) {
    folders.push_back(canonical.string());
  }
}

}  // namespace

namespace internal {

std::vector<std::string> data_dirs_for(const std::string& executable, const std::string& env_dir) {
  std::vector<std::string> folders;
  if (!env_dir.empty()) {
    add_folder(env_dir, folders);
  }
  if (!executable.empty()) {
    const fs::path program(executable);
    add_folder(program.parent_path().parent_path() / "share" / "dfsim", folders);
    if (is_inside(program, DFSIM_BUILD_TREE)) {
      add_folder(DFSIM_SOURCE_TREE, folders);
    }
  }
  return folders;
}

}  // namespace internal

std::vector<std::string> data_dirs() {
  const char* env_dir = std::getenv("DFSIM_DATA_DIR");
  std::vector<std::string> folders =
      internal::data_dirs_for(running_executable(), env_dir == nullptr ? "" : env_dir);
  if (folders.empty()) {
    for (const char* const installed : {"/usr/local/share/dfsim", "/usr/share/dfsim"}) {
      add_folder(installed, folders);
    }
  }
  return folders;
}

StatusOr<std::string> find_data_file(std::string_view relative_path) {
  const std::vector<std::string> folders = data_dirs();
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / relative_path;
    std::error_code error;
    if (fs::is_regular_file(path, error)) {
      return path.string();
    }
  }
  return not_found(fmt::format(
      "{}: no such file among those that come with dfsim (searched: {}); set DFSIM_DATA_DIR to the "
      "folder that holds it",
      printable(relative_path), folders.empty() ? "no data folder exists" : join(folders, ", ")));
}

}  // namespace dfsim::inline base
