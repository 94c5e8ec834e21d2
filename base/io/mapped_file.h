// A whole file mapped read-only into memory: large files cost only the pages that are looked at.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline base {

class MappedFile {
 public:
  // Errors: kNotFound (no such file), kInvalidInput (a directory or unreadable).
  static StatusOr<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Valid while this object lives.
  std::string_view content() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, size_t size) : data_(data), size_(size) {}

  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace dfsim::inline base
