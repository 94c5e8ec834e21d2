// Loads Platforms and RuntimeSpecs from YAML files. The schema is docs/reference/hardware.md.
//
// Names: a file that exists at the path as given is taken first; then the built-in ones are looked
//   up by file name, with or without ".yaml", and by alias ("a100", "a100.yaml"). Built-in files
//   are in hardware/ (platforms) and hardware/runtimes/ below the folders of base/io/data_dir.h.
// Errors: kNotFound (unknown name: valid ones and the nearest), kInvalidInput with
//   `file:line:column: found X, expected Y; do Z`. Reading is strict: an unknown key is an error.
// Cost: well under 1 ms for a built-in platform; bounded for any file (1 MB, 32 levels).
// Thread-safe: nothing is kept between calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "hardware/platform.h"

namespace dfsim::inline hardware {

StatusOr<Platform> load_platform(const std::string& name_or_path);
StatusOr<RuntimeSpec> load_runtime(const std::string& name_or_path);

// A platform from YAML text; `file` names it in messages, and `device:` entries are searched in its
// folder before the built-in ones.
StatusOr<Platform> parse_platform(std::string_view text, const std::string& file);
StatusOr<RuntimeSpec> parse_runtime(std::string_view text, const std::string& file);

// The files that load_platform() reads for a platform: its own, then those that its devices are
// built on. The runtime's is RuntimeSpec::source_file. Errors: those of finding and parsing them.
StatusOr<std::vector<std::string>> platform_files(const std::string& name_or_path);

// Names of the built-in ones, sorted.
std::vector<std::string> builtin_platforms();
std::vector<std::string> builtin_runtimes();

// The runtime of a platform whose file names none: torch-eager for GPUs, ort-cpu for CPUs,
// mindspore-graph for NPUs.
std::string_view default_runtime(DeviceType type);

}  // namespace dfsim::inline hardware
