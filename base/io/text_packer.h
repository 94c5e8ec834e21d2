// Compresses text piece by piece into a file: gzip or xz, as the file's name says.
//
// The same text gives the same bytes: neither format gets a time stamp. zlib and liblzma stay
// inside text_packer.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/io/output_file.h"
#include "base/status.h"

namespace dfsim::inline base {

class TextPacker {
 public:
  TextPacker() = default;
  TextPacker(const TextPacker&) = delete;
  TextPacker& operator=(const TextPacker&) = delete;
  virtual ~TextPacker() = default;

  // Appends what is ready of the packed text to `file`; all of it after the last piece. Errors
  // (kFailed): those of OutputFile::write().
  virtual Status pack(std::string_view text, bool last, OutputFile* file) = 0;
};

// A packer for a name that ends in ".gz" or ".xz", null for any other. Errors (kFailed): the
// library does not start.
StatusOr<std::unique_ptr<TextPacker>> make_text_packer(const std::string& path);

}  // namespace dfsim::inline base
