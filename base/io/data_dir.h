// Where the files that come with dfsim (hardware, models) lie, in a build tree and once installed.
//
// Below each data folder the layout is that of the source tree: hardware/a100.yaml, and so on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline base {

// The data folders that exist, in the order in which to look:
//   1. $DFSIM_DATA_DIR, when it is set and not empty;
//   2. ../share/dfsim relative to the folder of the program, or of the library that dfsim is in;
//   3. the source tree, only for programs that run from inside its build folder;
//   4. only where none of these exists: /usr/local/share/dfsim and /usr/share/dfsim, for programs
//      anywhere that use the libraries of an installed dfsim.
// Absolute paths, no duplicates.
std::vector<std::string> data_dirs();

// The first existing file `relative_path` ("hardware/a100.yaml") below data_dirs(). Error:
// kNotFound; the message names every folder that was searched.
StatusOr<std::string> find_data_file(std::string_view relative_path);

namespace internal {

// data_dirs() for a program at `executable` and a given $DFSIM_DATA_DIR ("" when unset).
std::vector<std::string> data_dirs_for(const std::string& executable, const std::string& env_dir);

}  // namespace internal
}  // namespace dfsim::inline base
