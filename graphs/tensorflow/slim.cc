#include "graphs/tensorflow/slim.h"

#include <fmt/format.h>

namespace dfsim {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxSlimBytes = size_t{1} << 30;

// The messages on the way to the payloads of constants; everything else is copied whole.
enum class Message {
  kSavedModel,
  kMetaGraph,
  kGraph,
  kLibrary,
  kFunction,
  kNode,
  kAttributeEntry,
  kAttribute,
  kList,
  kFunctionName,
  kTensor,
  kOther
};

// What a field of a message holds; field numbers are those of graphdef.proto.
struct Child {
  Message parent;
  uint64_t field;
  Message child;
};

constexpr Child kChildren[] = {
    {Message::kSavedModel, 2, Message::kMetaGraph},
    {Message::kMetaGraph, 2, Message::kGraph},
    {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 2, Message::kLibrary},
    {Message::kLibrary, 1, Message::kFunction},
    {Message::kFunction, 3, Message::kNode},
    {Message::kNode, 5, Message::kAttributeEntry},
    {Message::kAttributeEntry, 2, Message::kAttribute},
    {Message::kAttribute, 8, Message::kTensor},
    {Message::kAttribute, 1, Message::kList},
    {Message::kAttribute, 10, Message::kFunctionName},
    {Message::kList, 8, Message::kTensor},
    {Message::kList, 9, Message::kFunctionName},
    {Message::kFunctionName, 2, Message::kAttributeEntry},
};

Message child_message(Message parent, uint64_t field) {
  for (const Child& entry : kChildren) {
    if (entry.parent == parent && entry.field == field) {
      return entry.child;
    }
  }
  return Message::kOther;
}

// tensor_content and the lists of values.
bool is_payload(uint64_t tensor_field) { return tensor_field >= 4; }

// Collections, assets, the tree of objects: as large as the graph, and of no use here.
bool is_unread(Message message, uint64_t field) {
  return message == Message::kMetaGraph && (field == 3 || field == 4 || field == 6 || field == 7);
}

enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class Slimmer {
 public:
  Slimmer(std::string_view file, TensorFlowFile kind) : file_(file), kind_(kind) {}

  StatusOr<std::string> run() {
    std::string out;
    const bool saved = kind_ == TensorFlowFile::kSavedModel;
    DFSIM_RETURN_IF_ERROR(
        copy(0, file_.size(), saved ? Message::kSavedModel : Message::kGraph, 0, &out));
    return out;
  }

 private:
  Status error(size_t at, std::string_view what) const {
    return invalid_input(
        fmt::format("not a valid {}: byte {}: {}",
                    kind_ == TensorFlowFile::kSavedModel ? "SavedModel" : "GraphDef", at, what));
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
        return error(start, fmt::format("wire type {} is not used by TensorFlow", wire_type));
    }
    if (*length > end - *pos) {
      return error(start, fmt::format("a field of {} bytes runs past the end; is the file cut off?",
                                      *length));
    }
    *pos += *length;
    return ok_status();
  }

  Status copy(size_t begin, size_t end, Message message, int depth, std::string* out) {
    if (depth > kMaxDepth) {
      return error(begin, fmt::format("attributes are nested over {} deep", kMaxDepth));
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
      const Message child = (tag & 7) == kBytes ? child_message(message, field) : Message::kOther;
      if (child != Message::kOther) {
        std::string inner;
        DFSIM_RETURN_IF_ERROR(copy(pos - length, pos, child, depth + 1, &inner));
        write_varint(tag, out);
        write_varint(inner.size(), out);
        *out += inner;
      } else if (!is_unread(message, field)) {
        if (message == Message::kTensor && is_payload(field)) {
          kept_payload += pos - value_start;
          if (kept_payload > kMaxKeptConstBytes) {
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
  TensorFlowFile kind_;
};

}  // namespace

StatusOr<std::string> slim_graph(std::string_view file, TensorFlowFile kind) {
  return Slimmer(file, kind).run();
}

}  // namespace dfsim
