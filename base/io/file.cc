#include "base/io/file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include "base/io/output_file.h"
#include "base/units.h"

namespace dfsim::inline base {

namespace fs = std::filesystem;

StatusOr<std::string> read_file(const std::string& path, int64_t max_bytes) {
  std::error_code error;
  const fs::file_status file_status = fs::status(path, error);
  if (!fs::exists(file_status)) {
    return not_found(fmt::format("{}: no such file; check the path", path));
  }
  if (!fs::is_regular_file(file_status)) {
    return invalid_input(fmt::format("{}: is not a regular file", path));
  }
  const auto size = static_cast<int64_t>(fs::file_size(path, error));
  if (error) {
    return invalid_input(fmt::format("{}: cannot be read: {}", path, error.message()));
  }
  if (size > max_bytes) {
    return invalid_input(fmt::format("{}: is {}, at most {} can be read", path, format_bytes(size),
                                     format_bytes(max_bytes)));
  }
  std::ifstream stream(path, std::ios::binary);
  std::string content(static_cast<size_t>(size), '\0');
  if (!stream || !stream.read(content.data(), size)) {
    return invalid_input(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  return content;
}

Status write_file(const std::string& path, std::string_view content) {
  if (path == "-") {
    // What a command printed before comes first.
    std::cout.flush();
  }
  DFSIM_ASSIGN_OR_RETURN(OutputFile file, OutputFile::open(path));
  DFSIM_RETURN_IF_ERROR(file.write(content));
  return file.commit();
}

}  // namespace dfsim::inline base
