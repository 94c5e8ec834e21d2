// Text files line by line or whole, plain, gzip or xz, in bounded memory.
//
// A packed file is recognised by its first bytes when reading (unpacked_file.h) and by a name that
// ends in ".gz" or ".xz" when writing (text_packer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline base {

// Reads lines of at most `max_line_bytes`, without their '\n' or "\r\n".
class LineReader {
 public:
  static constexpr size_t kDefaultMaxLineBytes = size_t{1} << 20;

  // Errors: kNotFound (no such file), kInvalidInput (a directory or other special file,
  // unreadable).
  static StatusOr<LineReader> open(const std::string& path,
                                   size_t max_line_bytes = kDefaultMaxLineBytes);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // Points `line` at the next line, valid until the next call; false at the end. Errors
  // (kInvalidInput): a line over the limit, a NUL byte (not text), truncated or damaged gzip or xz.
  StatusOr<bool> next(std::string_view* line);
  // 1-based number of the line that next() gave last.
  int64_t line_number() const;
  const std::string& path() const;

 private:
  struct State;
  explicit LineReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The whole content, unpacked when it is gzip or xz. Errors: as LineReader::open(), and
// kInvalidInput when the content is larger than `max_bytes` or its packed form is truncated or
// damaged.
StatusOr<std::string> read_text_file(const std::string& path, int64_t max_bytes);

// Writes text in pieces to an OutputFile, which close() commits. A name that ends in ".gz" or
// ".xz" is compressed, reproducibly (no time stamp). Without a successful close() nothing is left
// behind.
class TextWriter {
 public:
  static StatusOr<TextWriter> open(const std::string& path);
  TextWriter(TextWriter&&) noexcept;
  TextWriter& operator=(TextWriter&&) noexcept;
  ~TextWriter();

  // Errors (kFailed): the disk is full and the like.
  Status append(std::string_view text);
  Status close();

 private:
  struct State;
  explicit TextWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dfsim::inline base
