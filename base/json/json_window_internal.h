// JsonWindow: the part of a JSON file that is in memory. Shared by the files of JsonStream.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json/json_value.h"
#include "base/status.h"

namespace dfsim::inline base {

struct JsonFileCloser {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

struct JsonWindow {
  static constexpr size_t kMaxBytes = size_t{64} << 20;  // of a value whose end is searched

  std::string path;
  // Where bytes come from: one of these, or neither when all are in the buffer.
  std::unique_ptr<gzFile_s, JsonFileCloser> file;
  std::function<size_t(char*, size_t)> source;
  std::function<void(int64_t, int64_t)> progress;  // of `file`: bytes read, of all
  int64_t file_bytes = 0;
  std::vector<char> buffer;  // kJsonPaddingBytes at its end are never filled
  size_t begin = 0;          // of what is not yet given out
  size_t end = 0;
  bool at_end = false;       // of the file
  bool count_lines = false;  // line_here() is wanted: lines are counted before bytes are dropped
  int64_t max_depth = INT64_MAX;  // of brackets in a value; deeper ones are an error
  bool keep_damaged = false;      // a damaged file counts as one that ends there
  std::string damage;             // what is wrong with such a file
  int64_t consumed = 0;           // bytes before the buffer's first
  size_t line = 1;                // of the byte at `counted`
  size_t counted = 0;

  // Reads one more chunk behind what is left. Error (kInvalidInput): the file is damaged.
  Status fill();
  StatusOr<size_t> read_more(char* to, size_t room);
  // Whether there is a byte `offset` after the beginning, reading on where needed.
  StatusOr<bool> have(size_t offset);
  // Skips to the next byte that is not a blank; false at the end of the file.
  StatusOr<bool> skip_blanks();
  // The length of the value at the beginning; incomplete when the file ends inside it or it is over
  // kMaxBytes.
  StatusOr<size_t> value_length(bool* complete);
  // The offset behind the string that starts at `offset`.
  StatusOr<size_t> skip_string(size_t offset, bool* complete);
  size_t line_here();
};

}  // namespace dfsim::inline base
