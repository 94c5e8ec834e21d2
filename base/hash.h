// 64-bit hashing of plain values, the same in every run (unlike std::hash, which may be salted).
#pragma once

#include <cstdint>
#include <string_view>

namespace dfsim::inline base {

// Accumulates values in order; equal sequences give equal digests. FNV-1a over bytes for text,
// SplitMix finaliser per number. Not collision-proof against an adversary: compare keys as well.
class Hasher {
 public:
  Hasher& add(uint64_t value) {
    state_ ^= value + 0x9E3779B97F4A7C15ULL + (state_ << 6) + (state_ >> 2);
    state_ = (state_ ^ (state_ >> 30)) * 0xBF58476D1CE4E5B9ULL;
    state_ ^= state_ >> 27;
    return *this;
  }
  Hasher& add(std::string_view text) {
    uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    return add(hash).add(text.size());
  }
  uint64_t digest() const { return state_; }

 private:
  uint64_t state_ = 0;
};

}  // namespace dfsim::inline base
