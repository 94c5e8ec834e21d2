// Walks protobuf's wire format by field numbers and drops the payloads that a table names.
// Messages that hold none are copied whole, without looking inside.
#include "base/io/slim_message.h"

#include <fmt/format.h>

#include "base/units.h"

namespace dfsim::inline base {
namespace {

constexpr size_t kMaxSlimBytes = size_t{1} << 30;
constexpr int kNoMessage = -1;

enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class Slimmer {
 public:
  Slimmer(std::string_view file, const SlimFormat& format) : file_(file), format_(format) {}

  StatusOr<std::string> run(int root_message) {
    std::string out;
    DFSIM_RETURN_IF_ERROR(copy(0, file_.size(), root_message, 0, &out));
    return out;
  }

 private:
  Status error(size_t at, std::string_view what) const {
    return invalid_input(fmt::format("not a valid {}: byte {}: {}", format_.file, at, what));
  }

  // Reads a varint at *pos, which must end before `end`.
  Status read_varint(size_t* pos, size_t end, uint64_t* value) const {
    *value = 0;
    const size_t start = *pos;
    for (int shift = 0; shift < 70; shift += 7) {
      if (*pos >= end) {
        return error(start, "the file ends inside a number");
      }
      const auto byte = static_cast<unsigned char>(file_[(*pos)++]);
      if (shift < 64) {
        *value |= uint64_t{byte & 0x7FU} << shift;
      }
      if ((byte & 0x80U) == 0) {
        return ok_status();
      }
    }
    return error(start, "a number of more than 10 bytes");
  }

  static void write_varint(uint64_t value, std::string* out) {
    while (value >= 0x80) {
      out->push_back(static_cast<char>((value & 0x7F) | 0x80));
      value >>= 7;
    }
    out->push_back(static_cast<char>(value));
  }

  // Moves *pos over the value of a field; for kBytes *length is its size.
  Status skip_value(uint64_t wire_type, size_t* pos, size_t end, uint64_t* length) const {
    const size_t start = *pos;
    *length = 0;
    switch (wire_type) {
      case kVarint: {
        uint64_t ignored = 0;
        return read_varint(pos, end, &ignored);
      }
      case kFixed64:
        *length = 8;
        break;
      case kFixed32:
        *length = 4;
        break;
      case kBytes:
        DFSIM_RETURN_IF_ERROR(read_varint(pos, end, length));
        break;
      default:
        return error(start,
                     fmt::format("wire type {} is not used by {}", wire_type, format_.owner));
    }
    if (*length > end - *pos) {
      return error(start, fmt::format("a field of {} bytes runs past the end; is the file cut off?",
                                      *length));
    }
    *pos += *length;
    return ok_status();
  }

  int child_message(int parent, uint64_t field) const {
    for (const MessageField& entry : format_.children) {
      if (entry.parent == parent && entry.field == field) {
        return entry.child;
      }
    }
    return kNoMessage;
  }

  Status copy(size_t begin, size_t end, int message, int depth, std::string* out) {
    if (depth > format_.max_nesting * format_.messages_per_level) {
      return error(begin,
                   fmt::format("{} are nested over {} deep", format_.nested, format_.max_nesting));
    }
    size_t kept_payload = 0;
    for (size_t pos = begin; pos < end;) {
      const size_t field_start = pos;
      uint64_t tag = 0;
      DFSIM_RETURN_IF_ERROR(read_varint(&pos, end, &tag));
      const uint64_t field = tag >> 3;
      if (field == 0) {
        return error(field_start, "field number 0");
      }
      const size_t value_start = pos;
      uint64_t length = 0;
      DFSIM_RETURN_IF_ERROR(skip_value(tag & 7, &pos, end, &length));
      if (length > format_.max_name_bytes && format_.is_name != nullptr &&
          format_.is_name(message, field)) {
        return error(value_start,
                     fmt::format("a name of {}, expected at most {}",
                                 format_bytes(static_cast<Bytes>(length)),
                                 format_bytes(static_cast<Bytes>(format_.max_name_bytes))));
      }
      const int child = (tag & 7) == kBytes ? child_message(message, field) : kNoMessage;
      if (child != kNoMessage) {
        std::string inner;
        DFSIM_RETURN_IF_ERROR(copy(pos - length, pos, child, depth + 1, &inner));
        write_varint(tag, out);
        write_varint(inner.size(), out);
        *out += inner;
      } else if (format_.is_unread == nullptr || !format_.is_unread(message, field)) {
        if (format_.is_payload(message, field)) {
          kept_payload += pos - value_start;
          if (kept_payload > format_.max_payload_bytes) {
            continue;
          }
        }
        out->append(file_.substr(field_start, pos - field_start));
      }
      if (out->size() > kMaxSlimBytes) {
        return invalid_input("the graph without its weights is over 1 GiB; dfsim stops there");
      }
    }
    return ok_status();
  }

  std::string_view file_;
  const SlimFormat& format_;
};

}  // namespace

StatusOr<std::string> slim_message(std::string_view file, const SlimFormat& format,
                                   int root_message) {
  return Slimmer(file, format).run(root_message);
}

}  // namespace dfsim::inline base
