// The wire format of Protocol Buffers, field by field: for formats of which a few fields are needed
// and no generated code is wanted.
// Format: "Protocol Buffers: Encoding", Google.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace dfsim::inline base {

struct ProtoField {
  enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  uint32_t number = 0;
  Wire wire = kVarint;
  uint64_t value = 0;      // of all but kBytes
  std::string_view bytes;  // of kBytes: a message, a text or packed numbers

  bool is(uint32_t field, Wire type) const { return number == field && wire == type; }
  int64_t integer() const { return static_cast<int64_t>(value); }
  double number64() const { return std::bit_cast<double>(value); }
};

// Walks through one message. What cannot be read ends it, and ok() says so.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}

  // Points `field` at the next field; its bytes live as long as the message. False at the end.
  bool next(ProtoField* field) {
    uint64_t tag = 0;
    if (rest_.empty() || !ok_) {
      return false;
    }
    field->value = 0;
    field->bytes = {};
    ok_ = varint(&tag) && (tag >> 3) > 0 && (tag >> 3) < (uint64_t{1} << 29);
    field->number = static_cast<uint32_t>(tag >> 3);
    field->wire = static_cast<ProtoField::Wire>(tag & 7);
    ok_ = ok_ && value(field);
    return ok_;
  }

  // A length and as many bytes, as streams of messages are written. False at the end.
  bool next_delimited(std::string_view* message) {
    if (rest_.empty() || !ok_) {
      return false;
    }
    ok_ = bytes(message);
    return ok_;
  }

  // One number of packed ones. False at the end.
  bool next_varint(uint64_t* number) {
    if (rest_.empty() || !ok_) {
      return false;
    }
    ok_ = varint(number);
    return ok_;
  }

  // False once something could not be read: the message is cut off or none.
  bool ok() const { return ok_; }
  // What is not yet read.
  std::string_view rest() const { return rest_; }

 private:
  bool value(ProtoField* field) {
    switch (field->wire) {
      case ProtoField::kVarint:
        return varint(&field->value);
      case ProtoField::kFixed64:
        return fixed(8, &field->value);
      case ProtoField::kFixed32:
        return fixed(4, &field->value);
      case ProtoField::kBytes:
        return bytes(&field->bytes);
    }
    return false;
  }

  bool varint(uint64_t* number) {
    *number = 0;
    for (size_t i = 0; i < rest_.size() && i < 10; ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      *number |= uint64_t{byte & 0x7FU} << (7 * i);
      if ((byte & 0x80U) == 0) {
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

  bool fixed(size_t size, uint64_t* number) {
    if (rest_.size() < size) {
      return false;
    }
    for (size_t i = 0; i < size; ++i) {
      *number |= uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    }
    rest_.remove_prefix(size);
    return true;
  }

  bool bytes(std::string_view* result) {
    uint64_t length = 0;
    if (!varint(&length) || length > rest_.size()) {
      return false;
    }
    *result = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// Writes one message, field by field, in the order of the calls.
class ProtoWriter {
 public:
  ProtoWriter& varint(uint32_t field, uint64_t value) {
    tag(field, ProtoField::kVarint);
    raw(value);
    return *this;
  }
  ProtoWriter& integer(uint32_t field, int64_t value) {
    return varint(field, static_cast<uint64_t>(value));
  }
  ProtoWriter& fixed64(uint32_t field, uint64_t value) {
    tag(field, ProtoField::kFixed64);
    for (int i = 0; i < 8; ++i) {
      out_.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
    }
    return *this;
  }
  ProtoWriter& number64(uint32_t field, double value) {
    return fixed64(field, std::bit_cast<uint64_t>(value));
  }
  ProtoWriter& bytes(uint32_t field, std::string_view value) {
    tag(field, ProtoField::kBytes);
    raw(value.size());
    out_ += value;
    return *this;
  }
  ProtoWriter& message(uint32_t field, const ProtoWriter& inner) {
    return bytes(field, inner.out_);
  }
  // Fields that were written elsewhere.
  ProtoWriter& append(const ProtoWriter& fields) {
    out_ += fields.out_;
    return *this;
  }
  // A number without a field, as streams of messages have before each.
  ProtoWriter& raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      out_.push_back(static_cast<char>((value & 0x7F) | 0x80));
    }
    out_.push_back(static_cast<char>(value));
    return *this;
  }

  const std::string& text() const { return out_; }
  bool empty() const { return out_.empty(); }
  void clear() { out_.clear(); }

 private:
  void tag(uint32_t field, ProtoField::Wire wire) { raw((uint64_t{field} << 3) | wire); }

  std::string out_;
};

}  // namespace dfsim::inline base
