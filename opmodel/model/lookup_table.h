// LookupTable: times of exactly measured shapes, found before any model is asked.
//
// File: an 8-byte magic, the count, the low bits of Rice's code (one byte), the differences of
// sorted 40-bit keys in that code, and the times as floats, little-endian: 7 bytes a shape. The
// checksum of the manifest is compared first, so that a damaged file is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "datasets/profiles/profile.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// Identifies an op on a device under a kind of timing, in 40 bits.
uint64_t lookup_key(const OpGeometry& geometry, std::string_view device_model, TimingKind timing);

class LookupTable {
 public:
  LookupTable() = default;
  // Keeps the median of several times for one key, in us.
  explicit LookupTable(std::vector<std::pair<uint64_t, float>> entries_us);

  static StatusOr<LookupTable> parse(std::string_view bytes, std::string_view place);
  std::string serialize() const;

  // O(log n).
  std::optional<double> find_us(uint64_t key) const;
  size_t size() const { return keys_.size(); }
  std::vector<std::pair<uint64_t, float>> entries() const;

 private:
  std::vector<uint64_t> keys_;
  std::vector<float> times_us_;
};

}  // namespace dfsim::inline opmodel
