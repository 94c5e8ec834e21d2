// CharSource: the characters of a file, read in pieces, with the line number of the next one.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline graphs::taskgraph {

class CharSource {
 public:
  static constexpr int kEnd = -1;

  // Errors: kNotFound (no such file), kInvalidInput (not a regular file, unreadable).
  static StatusOr<CharSource> open(const std::string& path);
  // A copy of characters in memory; `path` is what messages call them.
  static CharSource of(std::string_view content, std::string path);

  int peek() { return position_ < end_ || refill() ? byte(position_) : kEnd; }
  int get() {
    if (position_ == end_ && !refill()) {
      return kEnd;
    }
    line_ += buffer_[position_] == '\n' ? 1 : 0;
    return byte(position_++);
  }
  // What is buffered of the front of the file (up to the piece size); consumes nothing.
  std::string_view prefix();
  // A piece of at most `size` bytes; 0 at the end. For parsers that count lines themselves.
  size_t read(char* out, size_t size);

  size_t line() const { return line_; }
  const std::string& path() const { return path_; }
  // kInvalidInput "path:line: message", at the line of the next character.
  Status error(std::string_view message) const { return error_at(line_, message); }
  Status error_at(size_t line, std::string_view message) const;

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  bool refill();
  int byte(size_t i) const { return static_cast<unsigned char>(buffer_[i]); }

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::vector<char> buffer_;
  size_t position_ = 0;
  size_t end_ = 0;
  size_t line_ = 1;
};

}  // namespace dfsim::inline graphs::taskgraph
