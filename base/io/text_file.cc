// LineReader fills a buffer from an UnpackedFile and hands out lines in place; a line that crosses
// the end of the buffer moves to its front first. TextWriter compresses into an OutputFile, so that
// text files, too, appear whole or not at all.
#include "base/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/io/output_file.h"
#include "base/io/text_packer.h"
#include "base/io/unpacked_file.h"
#include "base/units.h"

namespace dfsim::inline base {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 18;

}  // namespace

struct LineReader::State {
  std::string path;
  UnpackedFile file;
  size_t max_line_bytes = 0;
  std::vector<char> buffer;
  size_t begin = 0;  // unread part of the buffer
  size_t end = 0;
  bool at_end = false;
  int64_t line_number = 0;

  explicit State(UnpackedFile input) : file(std::move(input)) {}

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
    DFSIM_ASSIGN_OR_RETURN(const size_t count, file.read(buffer.data() + end, kChunkBytes));
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
  DFSIM_ASSIGN_OR_RETURN(UnpackedFile file, UnpackedFile::open(path));
  auto state = std::make_unique<State>(std::move(file));
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
  DFSIM_ASSIGN_OR_RETURN(UnpackedFile file, UnpackedFile::open(path));
  std::string content;
  const auto limit = static_cast<size_t>(max_bytes);
  size_t used = 0;
  while (true) {
    content.resize(std::min(std::max(used * 2, kChunkBytes), limit + 1));
    const size_t room = std::min(content.size() - used, size_t{1} << 30);
    DFSIM_ASSIGN_OR_RETURN(const size_t count, file.read(content.data() + used, room));
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
  std::string buffer;                  // plain text that is not written yet
  std::unique_ptr<TextPacker> packer;  // by the name of the file; null: none

  explicit State(OutputFile out) : file(std::move(out)) {}

  Status flush(bool last) {
    DFSIM_RETURN_IF_ERROR(packer != nullptr ? packer->pack(buffer, last, &file)
                                            : file.write(buffer));
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
  DFSIM_ASSIGN_OR_RETURN(state->packer, make_text_packer(path));
  return TextWriter(std::move(state));
}

Status TextWriter::append(std::string_view text) {
  while (!text.empty()) {
    const size_t taken = std::min(text.size(), kChunkBytes - state_->buffer.size());
    state_->buffer.append(text.substr(0, taken));
    text.remove_prefix(taken);
    if (state_->buffer.size() == kChunkBytes) {
      DFSIM_RETURN_IF_ERROR(state_->flush(false));
    }
  }
  return ok_status();
}

Status TextWriter::close() {
  const std::unique_ptr<State> state = std::move(state_);
  DFSIM_RETURN_IF_ERROR(state->flush(true));
  return state->file.commit();
}

}  // namespace dfsim::inline base
