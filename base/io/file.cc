#include "base/io/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

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
    std::cout.write(content.data(), static_cast<std::streamsize>(content.size()));
    return std::cout.flush() ? ok_status() : failed("stdout: cannot be written");
  }
  const std::string temporary = fmt::format("{}.tmp{}", path, ::getpid());
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!stream.flush()) {
      return failed(fmt::format("{}: cannot be written: {}; check the folder and its permissions",
                                path, std::strerror(errno)));
    }
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) {
    fs::remove(temporary, error);
    return failed(fmt::format("{}: cannot be written: {}", path, error.message()));
  }
  return ok_status();
}

}  // namespace dfsim::inline base
