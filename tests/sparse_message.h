// Protobuf messages of more than 2 GB whose payload is a hole in a sparse file: they take no room
// on the disk, and reading all of them would take seconds.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace dfsim {

inline constexpr int64_t kHoleBytes = int64_t{5} << 29;  // 2.5 GiB

inline std::string wire_number(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>((value & 0x7F) | 0x80);
  }
  return bytes + static_cast<char>(value);
}

// A field that holds `content`, and behind it `more` bytes that follow later.
inline std::string wire_field(uint64_t field, const std::string& content, int64_t more = 0) {
  return wire_number(field << 3 | 2) + wire_number(content.size() + static_cast<uint64_t>(more)) +
         content;
}

// A file of `head` and a hole, removed at the end.
class SparseFile {
 public:
  SparseFile(const std::string& name, const std::string& head)
      : path_(std::filesystem::temp_directory_path() / name) {
    std::ofstream(path_, std::ios::binary) << head;
    std::filesystem::resize_file(path_, head.size() + static_cast<uint64_t>(kHoleBytes));
  }
  ~SparseFile() { std::filesystem::remove(path_); }
  SparseFile(const SparseFile&) = delete;
  SparseFile& operator=(const SparseFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace dfsim
