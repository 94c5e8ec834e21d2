// LineReader fills a buffer from zlib, which reads plain files as they are, and hands out lines
// in place; a line that crosses the end of the buffer moves to its front first. TextWriter
// compresses into an OutputFile, so that text files, too, appear whole or not at all.
#include "base/io/text_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/io/output_file.h"
#include "base/units.h"

namespace dfsim::inline base {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChunkBytes = size_t{1} << 18;

struct GzCloser {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
using GzHandle = std::unique_ptr<gzFile_s, GzCloser>;

// gzopen() reads plain files as they are.
StatusOr<GzHandle> open_for_reading(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return not_found(fmt::format("{}: no such file; check the path", path));
  }
  if (!fs::is_regular_file(status)) {
    return invalid_input(fmt::format("{}: is not a regular file", path));
  }
  GzHandle file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return invalid_input(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  gzbuffer(file.get(), kChunkBytes);
  return file;
}

// Reads up to `size` bytes; 0 only at a sound end of the file.
StatusOr<size_t> read_chunk(gzFile_s* file, const std::string& path, char* data, size_t size) {
  const int count = gzread(file, data, static_cast<unsigned>(size));
  int code = Z_OK;
  const char* const message = gzerror(file, &code);
  if (count < 0 || (code != Z_OK && code != Z_STREAM_END)) {
    if (code == Z_BUF_ERROR) {
      return invalid_input(
          fmt::format("{}: the gzip data ends too early; copy or download it again", path));
    }
    return invalid_input(fmt::format("{}: cannot be read: {}; the file may be damaged", path,
                                     code == Z_ERRNO ? std::strerror(errno) : message));
  }
  return static_cast<size_t>(count);
}

}  // namespace

struct LineReader::State {
  std::string path;
  GzHandle file;
  size_t max_line_bytes = 0;
  std::vector<char> buffer;
  size_t begin = 0;  // unread part of the buffer
  size_t end = 0;
  bool at_end = false;
  int64_t line_number = 0;

  // Makes room and reads one more chunk behind the unread part.
  Status fill() {
    if (begin < end) {  // there is no buffer at first
      std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    }
    end -= begin;
    begin = 0;
    if (buffer.size() < end + kChunkBytes) {
      buffer.resize(std::max(buffer.size() * 2, end + kChunkBytes));
    }
    DFSIM_ASSIGN_OR_RETURN(const size_t count,
                           read_chunk(file.get(), path, buffer.data() + end, kChunkBytes));
    at_end = count == 0;
    end += count;
    return ok_status();
  }
};

LineReader::LineReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

StatusOr<LineReader> LineReader::open(const std::string& path, size_t max_line_bytes) {
  auto state = std::make_unique<State>();
  DFSIM_ASSIGN_OR_RETURN(state->file, open_for_reading(path));
  state->path = path;
  state->max_line_bytes = max_line_bytes;
  return LineReader(std::move(state));
}

StatusOr<bool> LineReader::next(std::string_view* line) {
  State& s = *state_;
  size_t searched = 0;
  const char* newline = nullptr;
  while (true) {
    const char* const from = s.buffer.data() + s.begin;
    newline = static_cast<const char*>(
        s.begin + searched < s.end ? std::memchr(from + searched, '\n', s.end - s.begin - searched)
                                   : nullptr);
    searched = s.end - s.begin;
    if (newline != nullptr || s.at_end || searched > s.max_line_bytes) {
      break;
    }
    DFSIM_RETURN_IF_ERROR(s.fill());
  }
  if (newline == nullptr && searched == 0) {
    return false;
  }
  const char* const from = s.buffer.data() + s.begin;
  size_t length = newline != nullptr ? static_cast<size_t>(newline - from) : searched;
  ++s.line_number;
  if (std::memchr(from, '\0', std::min(length, s.max_line_bytes)) != nullptr) {
    return invalid_input(fmt::format("{}:{}: a NUL byte, expected text; is this a binary file?",
                                     s.path, s.line_number));
  }
  if (length > s.max_line_bytes) {
    return invalid_input(fmt::format("{}:{}: the line is longer than {}, the most that is read",
                                     s.path, s.line_number,
                                     format_bytes(static_cast<Bytes>(s.max_line_bytes))));
  }
  s.begin += length + (newline != nullptr ? 1 : 0);
  if (length > 0 && from[length - 1] == '\r') {
    --length;
  }
  *line = std::string_view(from, length);
  return true;
}

int64_t LineReader::line_number() const { return state_->line_number; }
const std::string& LineReader::path() const { return state_->path; }

StatusOr<std::string> read_text_file(const std::string& path, int64_t max_bytes) {
  DFSIM_ASSIGN_OR_RETURN(const GzHandle file, open_for_reading(path));
  std::string content;
  const auto limit = static_cast<size_t>(max_bytes);
  size_t used = 0;
  while (true) {
    content.resize(std::min(std::max(used * 2, kChunkBytes), limit + 1));
    const size_t room = std::min(content.size() - used, size_t{1} << 30);
    DFSIM_ASSIGN_OR_RETURN(const size_t count,
                           read_chunk(file.get(), path, content.data() + used, room));
    used += count;
    if (used > limit) {
      return invalid_input(fmt::format("{}: holds more than {}, the most that is read", path,
                                       format_bytes(max_bytes)));
    }
    if (count == 0) {
      content.resize(used);
      return content;
    }
  }
}

struct TextWriter::State {
  OutputFile file;
  std::string buffer;       // plain text that is not written yet
  z_stream deflate = {};    // used when `compressed`
  bool compressed = false;  // by the name of the file

  explicit State(OutputFile out) : file(std::move(out)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (compressed) {
      deflateEnd(&deflate);
    }
  }

  // zlib's own header has no time stamp, so that equal text gives equal bytes.
  Status start_compression(const std::string& path) {
    constexpr int kGzipHeader = 16;  // added to the window's bits, as zlib.h says
    constexpr int kMemoryLevel = 8;
    constexpr int kLevel = 6;
    if (deflateInit2(&deflate, kLevel, Z_DEFLATED, MAX_WBITS + kGzipHeader, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      return failed(fmt::format("{}: cannot be compressed: zlib does not start", path));
    }
    compressed = true;
    return ok_status();
  }

  // Passes the buffer through zlib; with Z_FINISH until the stream has ended.
  Status compress(int flush) {
    std::vector<char> packed(kChunkBytes);
    deflate.next_in = reinterpret_cast<Bytef*>(buffer.data());
    deflate.avail_in = static_cast<uInt>(buffer.size());
    int code = Z_OK;
    do {
      deflate.next_out = reinterpret_cast<Bytef*>(packed.data());
      deflate.avail_out = static_cast<uInt>(packed.size());
      code = ::deflate(&deflate, flush);
      DFSIM_RETURN_IF_ERROR(
          file.write(std::string_view(packed.data(), packed.size() - deflate.avail_out)));
    } while (flush == Z_FINISH ? code != Z_STREAM_END : deflate.avail_out == 0);
    return ok_status();
  }

  Status flush(int mode) {
    DFSIM_RETURN_IF_ERROR(compressed ? compress(mode) : file.write(buffer));
    buffer.clear();
    return ok_status();
  }
};

TextWriter::TextWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextWriter::TextWriter(TextWriter&&) noexcept = default;
TextWriter& TextWriter::operator=(TextWriter&&) noexcept = default;
TextWriter::~TextWriter() = default;

StatusOr<TextWriter> TextWriter::open(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(OutputFile file, OutputFile::open(path));
  auto state = std::make_unique<State>(std::move(file));
  if (path.ends_with(".gz")) {
    DFSIM_RETURN_IF_ERROR(state->start_compression(path));
  }
  return TextWriter(std::move(state));
}

Status TextWriter::append(std::string_view text) {
  while (!text.empty()) {
    const size_t taken = std::min(text.size(), kChunkBytes - state_->buffer.size());
    state_->buffer.append(text.substr(0, taken));
    text.remove_prefix(taken);
    if (state_->buffer.size() == kChunkBytes) {
      DFSIM_RETURN_IF_ERROR(state_->flush(Z_NO_FLUSH));
    }
  }
  return ok_status();
}

Status TextWriter::close() {
  const std::unique_ptr<State> state = std::move(state_);
  DFSIM_RETURN_IF_ERROR(state->flush(Z_FINISH));
  return state->file.commit();
}

}  // namespace dfsim::inline base
