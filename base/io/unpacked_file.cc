// Two sources: zlib's gzread(), which hands out plain files as they are, and liblzma's decoder,
// which reads xz streams (several in a row, as `xz` appends them) from a C stream.
#include "base/io/unpacked_file.h"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace dfsim::inline base {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadAheadBytes = size_t{1} << 18;
constexpr std::string_view kXzMagic(
    "\xFD"
    "7zXZ\0",
    6);
// Enough for `xz -9`, and a little more: a header of a few bytes can ask for 4 GiB.
constexpr uint64_t kXzMemoryBytes = uint64_t{70} << 20;

Status ends_too_early(const std::string& path, std::string_view format) {
  return invalid_input(
      fmt::format("{}: the {} data ends too early; copy or download it again", path, format));
}

Status unreadable(const std::string& path, std::string_view reason) {
  return invalid_input(
      fmt::format("{}: cannot be read: {}; the file may be damaged", path, reason));
}

}  // namespace

class UnpackedFile::Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  virtual StatusOr<size_t> read(char* data, size_t size) = 0;
};

namespace {

class ZlibSource final : public UnpackedFile::Source {
 public:
  ZlibSource(std::string path, gzFile file) : path_(std::move(path)), file_(file) {
    gzbuffer(file_, kReadAheadBytes);
  }
  ~ZlibSource() override { gzclose(file_); }

  StatusOr<size_t> read(char* data, size_t size) override {
    const int count = gzread(file_, data, static_cast<unsigned>(size));
    int code = Z_OK;
    const char* const message = gzerror(file_, &code);
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      if (code == Z_BUF_ERROR) {
        return ends_too_early(path_, "gzip");
      }
      return unreadable(path_, code == Z_ERRNO ? std::strerror(errno) : message);
    }
    return static_cast<size_t>(count);
  }

 private:
  std::string path_;
  gzFile file_;
};

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, FileCloser>;

class XzSource final : public UnpackedFile::Source {
 public:
  XzSource(std::string path, FileHandle file)
      : path_(std::move(path)), file_(std::move(file)), packed_(kReadAheadBytes) {}
  ~XzSource() override { lzma_end(&stream_); }

  Status start() {
    if (lzma_stream_decoder(&stream_, kXzMemoryBytes, LZMA_CONCATENATED) != LZMA_OK) {
      return invalid_input(fmt::format("{}: liblzma cannot start; is there enough memory?", path_));
    }
    return ok_status();
  }

  StatusOr<size_t> read(char* data, size_t size) override {
    stream_.next_out = reinterpret_cast<uint8_t*>(data);
    stream_.avail_out = size;
    // One call may take in bytes without giving any; the caller reads 0 as the end.
    while (stream_.avail_out == size && !at_end_) {
      DFSIM_RETURN_IF_ERROR(fill());
      const lzma_ret code = lzma_code(&stream_, file_ended_ ? LZMA_FINISH : LZMA_RUN);
      at_end_ = code == LZMA_STREAM_END;
      if (code != LZMA_OK && !at_end_) {
        return error_of(code);
      }
    }
    return size - stream_.avail_out;
  }

 private:
  Status fill() {
    if (stream_.avail_in > 0 || file_ended_) {
      return ok_status();
    }
    const size_t count = std::fread(packed_.data(), 1, packed_.size(), file_.get());
    if (std::ferror(file_.get()) != 0) {
      return unreadable(path_, std::strerror(errno));
    }
    file_ended_ = count < packed_.size();
    stream_.next_in = packed_.data();
    stream_.avail_in = count;
    return ok_status();
  }

  Status error_of(lzma_ret code) const {
    switch (code) {
      case LZMA_BUF_ERROR:
        return ends_too_early(path_, "xz");
      case LZMA_MEMLIMIT_ERROR:
        return invalid_input(
            fmt::format("{}: unpacking needs over {} MiB of memory; pack it with xz -9 or less",
                        path_, kXzMemoryBytes >> 20));
      case LZMA_OPTIONS_ERROR:
        return unreadable(path_, "xz data of a kind that liblzma does not know");
      default:
        return unreadable(path_, "the xz data is not sound");
    }
  }

  std::string path_;
  FileHandle file_;
  std::vector<uint8_t> packed_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool file_ended_ = false;
  bool at_end_ = false;
};

bool starts_like_xz(std::FILE* file) {
  char start[kXzMagic.size()] = {};
  const size_t count = std::fread(start, 1, sizeof start, file);
  std::rewind(file);
  return std::string_view(start, count) == kXzMagic;
}

}  // namespace

UnpackedFile::UnpackedFile(std::unique_ptr<Source> source) : source_(std::move(source)) {}
UnpackedFile::UnpackedFile(UnpackedFile&&) noexcept = default;
UnpackedFile& UnpackedFile::operator=(UnpackedFile&&) noexcept = default;
UnpackedFile::~UnpackedFile() = default;

StatusOr<UnpackedFile> UnpackedFile::open(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return not_found(fmt::format("{}: no such file; check the path", path));
  }
  if (!fs::is_regular_file(status)) {
    return invalid_input(fmt::format("{}: is not a regular file", path));
  }
  FileHandle file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return invalid_input(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  if (starts_like_xz(file.get())) {
    auto source = std::make_unique<XzSource>(path, std::move(file));
    DFSIM_RETURN_IF_ERROR(source->start());
    return UnpackedFile(std::move(source));
  }
  const gzFile packed = gzopen(path.c_str(), "rb");
  if (packed == nullptr) {
    return invalid_input(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  return UnpackedFile(std::make_unique<ZlibSource>(path, packed));
}

StatusOr<size_t> UnpackedFile::read(char* data, size_t size) { return source_->read(data, size); }

}  // namespace dfsim::inline base
