// zlib and liblzma share one interface: the caller points at bytes to take in and at room to fill,
// and calls until a call leaves room over, or, after the last piece, until the stream has ended.
#include "base/io/text_packer.h"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>

#include <cstdint>
#include <vector>

namespace dfsim::inline base {
namespace {

constexpr size_t kRoomBytes = size_t{1} << 18;

class GzipPacker final : public TextPacker {
 public:
  ~GzipPacker() override { deflateEnd(&stream_); }

  // zlib's own header has no time stamp.
  bool start() {
    constexpr int kGzipHeader = 16;  // added to the window's bits, as zlib.h says
    constexpr int kMemoryLevel = 8;
    constexpr int kLevel = 6;
    return deflateInit2(&stream_, kLevel, Z_DEFLATED, MAX_WBITS + kGzipHeader, kMemoryLevel,
                        Z_DEFAULT_STRATEGY) == Z_OK;
  }

  Status pack(std::string_view text, bool last, OutputFile* file) override {
    // zlib's interface has no const; it only reads.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    int code = Z_OK;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
      stream_.avail_out = static_cast<uInt>(room_.size());
      code = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      DFSIM_RETURN_IF_ERROR(
          file->write(std::string_view(room_.data(), room_.size() - stream_.avail_out)));
    } while (last ? code != Z_STREAM_END : stream_.avail_out == 0);
    return ok_status();
  }

 private:
  z_stream stream_ = {};
  std::vector<char> room_ = std::vector<char>(kRoomBytes);
};

class XzPacker final : public TextPacker {
 public:
  ~XzPacker() override { lzma_end(&stream_); }

  bool start() {
    return lzma_easy_encoder(&stream_, LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64) == LZMA_OK;
  }

  Status pack(std::string_view text, bool last, OutputFile* file) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(text.data());
    stream_.avail_in = text.size();
    lzma_ret code = LZMA_OK;
    do {
      stream_.next_out = reinterpret_cast<uint8_t*>(room_.data());
      stream_.avail_out = room_.size();
      code = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
      if (code != LZMA_OK && code != LZMA_STREAM_END && code != LZMA_BUF_ERROR) {
        return failed(fmt::format("liblzma cannot pack: code {}; is there enough memory?",
                                  static_cast<int>(code)));
      }
      DFSIM_RETURN_IF_ERROR(
          file->write(std::string_view(room_.data(), room_.size() - stream_.avail_out)));
    } while (last ? code != LZMA_STREAM_END : stream_.avail_out == 0);
    return ok_status();
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::vector<char> room_ = std::vector<char>(kRoomBytes);
};

template <typename Packer>
StatusOr<std::unique_ptr<TextPacker>> started(const std::string& path) {
  auto packer = std::make_unique<Packer>();
  if (!packer->start()) {
    return failed(fmt::format("{}: the compression does not start; is there enough memory?", path));
  }
  return std::unique_ptr<TextPacker>(std::move(packer));
}

}  // namespace

StatusOr<std::unique_ptr<TextPacker>> make_text_packer(const std::string& path) {
  if (path.ends_with(".gz")) {
    return started<GzipPacker>(path);
  }
  if (path.ends_with(".xz")) {
    return started<XzPacker>(path);
  }
  return std::unique_ptr<TextPacker>();
}

}  // namespace dfsim::inline base
