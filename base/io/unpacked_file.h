// The bytes of a regular file in order: as they are, or unpacked where the file is gzip or xz.
//
// A file's first bytes tell how it is packed, whatever its name is. zlib and liblzma stay inside
// unpacked_file.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/status.h"

namespace dfsim::inline base {

class UnpackedFile {
 public:
  // Errors: kNotFound (no such file), kInvalidInput (a directory or other special file,
  // unreadable).
  static StatusOr<UnpackedFile> open(const std::string& path);
  UnpackedFile(UnpackedFile&&) noexcept;
  UnpackedFile& operator=(UnpackedFile&&) noexcept;
  ~UnpackedFile();

  // Reads up to `size` > 0 bytes to `data`; 0 only at a sound end of the file. Memory: what the
  // format asks for, at most 70 MiB (xz -9). Errors (kInvalidInput): truncated or damaged data, xz
  // that needs more memory.
  StatusOr<size_t> read(char* data, size_t size);

  // A way of reading: zlib's, which also serves plain files, or liblzma's.
  class Source;

 private:
  explicit UnpackedFile(std::unique_ptr<Source> source);
  std::unique_ptr<Source> source_;
};

}  // namespace dfsim::inline base
