// Unpacks gzip streams and zip archives in memory with zlib. A zip archive is read from its end,
// where the directory is; every offset and size that it gives is checked against the content
// before use, ZIP64's included. Unpacking stops at the caller's limit, since a small file may
// unpack to terabytes.
#include "base/io/archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace dfsim::inline base {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, with gzip's header
constexpr int kRawWindow = -15;       // no header, as zip has it

// Little-endian numbers of a zip archive; 0 beyond the end, which later checks find.
uint64_t number_at(std::string_view content, uint64_t offset, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes && offset + i < content.size(); ++i) {
    value |= uint64_t{static_cast<unsigned char>(content[offset + i])} << (8 * i);
  }
  return value;
}

Status damaged(std::string_view what) {
  return invalid_input(fmt::format("the {} is damaged or cut off; copy or pack it again", what));
}

// Unpacks until the stream ends; `window` tells zlib which header to expect.
StatusOr<std::string> inflate_all(std::string_view packed, int window, int64_t max_bytes,
                                  std::string_view what) {
  z_stream stream = {};
  if (inflateInit2(&stream, window) != Z_OK) {
    return invalid_input("zlib cannot start; is there enough memory?");
  }
  std::string out;
  constexpr size_t kPiece = size_t{1} << 18;
  std::string piece(kPiece, '\0');
  size_t taken = 0;
  int result = Z_OK;
  while (result == Z_OK || result == Z_BUF_ERROR) {
    if (stream.avail_in == 0 && taken < packed.size()) {
      const size_t next = std::min<size_t>(packed.size() - taken, size_t{1} << 30);
      // zlib's interface has no const; it only reads.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
      stream.avail_in = static_cast<uInt>(next);
      taken += next;
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    result = inflate(&stream, Z_NO_FLUSH);
    const size_t made = piece.size() - stream.avail_out;
    if (static_cast<int64_t>(out.size() + made) > max_bytes) {
      inflateEnd(&stream);
      return invalid_input(
          fmt::format("the {} unpacks to more than {} MB; unpack it and pass the "
                      "file itself",
                      what, max_bytes / 1'000'000));
    }
    out.append(piece.data(), made);
    if (result == Z_BUF_ERROR && made == 0 && stream.avail_in == 0 && taken == packed.size()) {
      break;  // no end in sight
    }
  }
  inflateEnd(&stream);
  return result == Z_STREAM_END ? StatusOr<std::string>(std::move(out)) : damaged(what);
}

// The end of the directory: where it starts and how many files it lists.
struct DirectoryEnd {
  uint64_t offset = 0;
  uint64_t members = 0;
};

StatusOr<DirectoryEnd> find_directory(std::string_view content) {
  constexpr uint64_t kEndBytes = 22;
  constexpr uint64_t kLongestComment = 65535;
  const size_t end = content.rfind("PK\x05\x06");
  if (end == std::string_view::npos || content.size() - end < kEndBytes ||
      content.size() - end > kEndBytes + kLongestComment) {
    return damaged("zip archive");
  }
  DirectoryEnd directory{number_at(content, end + 16, 4), number_at(content, end + 10, 2)};
  constexpr uint64_t kLocatorBytes = 20;
  const bool has_locator =
      end >= kLocatorBytes && content.substr(end - kLocatorBytes, 4) == "PK\x06\x07";
  if (has_locator) {  // ZIP64
    const uint64_t at = number_at(content, end - kLocatorBytes + 8, 8);
    if (at >= content.size() || content.substr(at, 4) != "PK\x06\x06") {
      return damaged("zip archive");
    }
    directory = {number_at(content, at + 48, 8), number_at(content, at + 32, 8)};
  }
  constexpr uint64_t kMostMembers = 1'000'000;
  if (directory.offset > content.size() || directory.members > kMostMembers) {
    return damaged("zip archive");
  }
  return directory;
}

// Sizes and offset that did not fit into 32 bits are in an extra field, in this order.
void read_zip64_extra(std::string_view extra, ZipMember* member) {
  constexpr uint64_t kTooLarge = 0xFFFFFFFF;
  for (size_t at = 0; at + 4 <= extra.size();) {
    const uint64_t id = number_at(extra, at, 2);
    const uint64_t size = number_at(extra, at + 2, 2);
    size_t field = at + 4;
    if (id == 1) {
      for (uint64_t* value : {&member->bytes, &member->packed_bytes, &member->offset}) {
        if (*value == kTooLarge) {
          *value = number_at(extra, field, 8);
          field += 8;
        }
      }
    }
    at += 4 + size;
  }
}

}  // namespace

bool is_gzip(std::string_view content) { return content.starts_with("\x1f\x8b"); }

bool is_zip(std::string_view content) {
  return content.starts_with("PK\x03\x04") || content.starts_with("PK\x05\x06");
}

StatusOr<std::string> gunzip(std::string_view content, int64_t max_bytes) {
  return inflate_all(content, kGzipWindow, max_bytes, "gzip stream");
}

StatusOr<std::vector<ZipMember>> read_zip_directory(std::string_view content) {
  DFSIM_ASSIGN_OR_RETURN(const DirectoryEnd directory, find_directory(content));
  std::vector<ZipMember> members;
  constexpr uint64_t kHeaderBytes = 46;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.members; ++i) {
    if (at > content.size() || content.size() - at < kHeaderBytes ||
        content.substr(at, 4) != "PK\x01\x02") {
      return damaged("zip archive");
    }
    const uint64_t name_bytes = number_at(content, at + 28, 2);
    const uint64_t extra_bytes = number_at(content, at + 30, 2);
    const uint64_t comment_bytes = number_at(content, at + 32, 2);
    if (content.size() - at - kHeaderBytes < name_bytes + extra_bytes + comment_bytes) {
      return damaged("zip archive");
    }
    ZipMember member;
    member.name = std::string(content.substr(at + kHeaderBytes, name_bytes));
    member.method = static_cast<int>(number_at(content, at + 10, 2));
    member.packed_bytes = number_at(content, at + 20, 4);
    member.bytes = number_at(content, at + 24, 4);
    member.offset = number_at(content, at + 42, 4);
    if ((number_at(content, at + 8, 2) & 1) != 0) {
      member.method = -1;  // encrypted
    }
    read_zip64_extra(content.substr(at + kHeaderBytes + name_bytes, extra_bytes), &member);
    if (!member.name.ends_with('/')) {
      members.push_back(std::move(member));
    }
    at += kHeaderBytes + name_bytes + extra_bytes + comment_bytes;
  }
  return members;
}

StatusOr<std::string> read_zip_member(std::string_view content, const ZipMember& member,
                                      int64_t max_bytes) {
  constexpr uint64_t kHeaderBytes = 30;
  if (member.method != 0 && member.method != 8) {
    return invalid_input(
        fmt::format("'{}' in the zip archive is encrypted or not packed by "
                    "deflate; unpack it and pass the file itself",
                    printable(member.name)));
  }
  if (member.offset > content.size() || content.size() - member.offset < kHeaderBytes ||
      content.substr(member.offset, 4) != "PK\x03\x04") {
    return damaged("zip archive");
  }
  const uint64_t start = member.offset + kHeaderBytes + number_at(content, member.offset + 26, 2) +
                         number_at(content, member.offset + 28, 2);
  if (start > content.size() || content.size() - start < member.packed_bytes) {
    return damaged("zip archive");
  }
  const std::string_view packed = content.substr(start, member.packed_bytes);
  if (member.method == 8) {
    return inflate_all(packed, kRawWindow, max_bytes, "file in the zip archive");
  }
  if (static_cast<int64_t>(packed.size()) > max_bytes) {
    return invalid_input(
        fmt::format("'{}' in the zip archive has more than {} MB; unpack it and pass the file "
                    "itself",
                    printable(member.name), max_bytes / 1'000'000));
  }
  return std::string(packed);
}

}  // namespace dfsim::inline base
