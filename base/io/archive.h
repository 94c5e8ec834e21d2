// gzip streams and zip archives in memory. zlib stays inside archive.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline base {

bool is_gzip(std::string_view content);
bool is_zip(std::string_view content);

// The content of a gzip stream. Errors (kInvalidInput): it is damaged, or holds more than
// `max_bytes`.
StatusOr<std::string> gunzip(std::string_view content, int64_t max_bytes);

// One file of a zip archive, as its directory describes it.
struct ZipMember {
  std::string name;
  uint64_t offset = 0;  // of its local header
  uint64_t packed_bytes = 0;
  uint64_t bytes = 0;
  int method = 0;  // 0 stored, 8 deflated
};

// The files of an archive, ZIP64 included, in the order of its directory; folders are left out.
// Errors (kInvalidInput): no directory, one that contradicts itself, or over a million files.
StatusOr<std::vector<ZipMember>> read_zip_directory(std::string_view content);
// Errors (kInvalidInput): the member is damaged, larger than `max_bytes`, encrypted, or packed in
// another way than by deflate.
StatusOr<std::string> read_zip_member(std::string_view content, const ZipMember& member,
                                      int64_t max_bytes);

}  // namespace dfsim::inline base
