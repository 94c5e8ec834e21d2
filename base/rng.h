// Seeded random numbers with the same sequence on every platform and library version.
#pragma once

#include <cstdint>

namespace dfsim::inline base {

// SplitMix64 (Steele, Lea, Flood 2014, doi:10.1145/2660193.2660195). Not for cryptography. Copying
// copies the state; two generators of one seed give the same numbers.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // Uniform in [0, n), n > 0; the bias of at most n / 2^64 is accepted.
  uint64_t below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }
  // Standard normal (Box-Muller, one value per two draws).
  double normal();
  // An independent generator for stream `index` of this seed.
  Rng split(uint64_t index) const {
    return Rng(Rng(state_ ^ (index * 0xD1342543DE82EF95ULL)).next());
  }

 private:
  uint64_t state_;
};

}  // namespace dfsim::inline base
