// Finding and reading the YAML files that describe platforms and runtimes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "hardware/yaml/yaml_fields.h"

namespace dfsim::inline hardware {

enum class FileKind : uint8_t { kPlatform, kRuntime };

struct FoundFile {
  std::string path;
  std::string text;
};

// The file meant by `name_or_path`: the file at that path (relative paths: below `folder` first,
// unless it is empty), else the built-in of that file name or alias. Errors: kNotFound,
// kInvalidInput (unreadable, too large).
StatusOr<FoundFile> find_settings_file(FileKind kind, const std::string& name_or_path,
                                       const std::string& folder);

// File names without ".yaml", sorted.
std::vector<std::string> builtin_names(FileKind kind);

// Reads a name of letters, digits, '.', '_' and '-', at most 64 of them.
bool read_name(YamlFields& fields, std::string_view key, std::string* out, Need need);
// Adds an error at `key` and returns false when `name` is no such name.
bool check_name(YamlFields& fields, std::string_view key, std::string_view name);

}  // namespace dfsim::inline hardware
