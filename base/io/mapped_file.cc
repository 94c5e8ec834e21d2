#include "base/io/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace dfsim::inline base {

StatusOr<MappedFile> MappedFile::open(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for somebody to write into it.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return errno == ENOENT
               ? not_found(fmt::format("{}: no such file; check the path", path))
               : invalid_input(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  struct stat info = {};
  const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const auto size = static_cast<size_t>(info.st_size);
  void* data = MAP_FAILED;
  if (regular && size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  const int map_error = errno;
  ::close(fd);
  if (!regular) {
    return invalid_input(fmt::format("{}: is not a regular file", path));
  }
  if (size == 0) {
    return MappedFile(nullptr, 0);
  }
  if (data == MAP_FAILED) {
    return invalid_input(fmt::format("{}: cannot be mapped: {}", path, std::strerror(map_error)));
  }
  return MappedFile(static_cast<const char*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<char*>(data_), size_);  // NOLINT: munmap takes what mmap gave
  }
}

}  // namespace dfsim::inline base
