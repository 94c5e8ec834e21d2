// Compares every file that a command writes with every other value of its options that is a file.
#include "cli/output_check.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"

namespace dfsim::cli {
namespace {

std::vector<std::string> values_of(const OptionSpec& option) {
  if (const auto* one = std::get_if<std::string*>(&option.target)) {
    return {**one};
  }
  if (const auto* many = std::get_if<std::vector<std::string>*>(&option.target)) {
    return **many;
  }
  return {};
}

// Links and different spellings of a path are one file. Devices and pipes may be named twice.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::is_regular_file(a, error) && std::filesystem::equivalent(a, b, error);
}

}  // namespace

Status check_outputs(const OptionTable& options) {
  for (const OptionSpec& output : options) {
    if (!writes_file(output)) {
      continue;
    }
    for (const OptionSpec& other : options) {
      if (&other == &output) {
        continue;
      }
      for (const std::string& path : values_of(output)) {
        for (const std::string& value : values_of(other)) {
          const bool twice = writes_file(other) && path == value && path != "-" && !path.empty();
          if (twice || is_same_file(path, value)) {
            return invalid_input(fmt::format("{} {}: {} is the same file; name another one",
                                             listed(output.names).front(), printable(path),
                                             listed(other.names).front()));
          }
        }
      }
    }
  }
  return ok_status();
}

}  // namespace dfsim::cli
