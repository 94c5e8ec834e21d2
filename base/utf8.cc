#include "base/utf8.h"

namespace dfsim::inline base {

size_t utf8_sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  size_t length = 0;
  if (lead < 0x80) {
    length = 1;
  } else if (lead >= 0xC2 && lead < 0xE0) {
    length = 2;
  } else if (lead >= 0xE0 && lead < 0xF0) {
    length = 3;
  } else if (lead >= 0xF0 && lead < 0xF5) {
    length = 4;
  }
  if (length == 0 || text.size() < length) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      return 0;
    }
  }
  return length;
}

bool is_utf8(std::string_view text) {
  // Nearly all text is ASCII, which a vectorised loop sees faster.
  unsigned char all = 0;
  for (const char c : text) {
    all |= static_cast<unsigned char>(c);
  }
  if (all < 0x80) {
    return true;
  }
  while (!text.empty()) {
    const size_t length = utf8_sequence_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace dfsim::inline base
