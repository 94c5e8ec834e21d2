#include "opmodel/trees/ubjson_writer.h"

#include <bit>

namespace dfsim::inline opmodel {

void UbjsonWriter::append(uint64_t value, size_t width) {
  for (size_t i = width; i-- > 0;) {
    bytes_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }
}

void UbjsonWriter::begin_typed(char type, size_t count) {
  bytes_ += "[$";
  bytes_ += type;
  bytes_ += "#L";
  append(count, 8);
}

UbjsonWriter& UbjsonWriter::key(std::string_view name) {
  bytes_ += 'L';
  append(name.size(), 8);
  bytes_ += name;
  return *this;
}

void UbjsonWriter::begin_array(size_t count) {
  bytes_ += "[#L";
  append(count, 8);
}

void UbjsonWriter::string(std::string_view text) {
  bytes_ += 'S';
  key(text);
}

void UbjsonWriter::integer(int32_t value) {
  bytes_ += 'l';
  append(static_cast<uint32_t>(value), 4);
}

void UbjsonWriter::integers(char type, const std::vector<int32_t>& values) {
  const size_t width = type == 'U' ? 1 : type == 'I' ? 2 : type == 'l' ? 4 : 8;
  begin_typed(type, values.size());
  for (const int32_t value : values) {
    append(static_cast<uint64_t>(int64_t{value}), width);
  }
}

void UbjsonWriter::floats(const std::vector<float>& values) {
  begin_typed('d', values.size());
  for (const float value : values) {
    append(std::bit_cast<uint32_t>(value), 4);
  }
}

}  // namespace dfsim::inline opmodel
