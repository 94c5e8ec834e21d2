// A sorted array of (hash of shape, device and timing; time), searched by bisection. Measured
// shapes are much of a model that ships, so the file has the differences of the hashes in Rice's
// code, of which 40 bits tell hundreds of thousands apart.
#include "opmodel/model/lookup_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "base/io/packed_bits.h"
#include "base/io/packed_bytes.h"
#include "datasets/profiles/statistics.h"

namespace dfsim::inline opmodel {

namespace {
constexpr std::string_view kMagic = "dfsimLT4";
// Another shape has the key of one of 200,000 measured ones once in five million questions.
constexpr int kKeyBits = 40;
constexpr uint64_t kMostKey = (uint64_t{1} << kKeyBits) - 1;

// Low bits with which Rice's code of the steps between rising keys is shortest.
int best_low_bits(const std::vector<uint64_t>& keys) {
  int best = 0;
  uint64_t fewest = std::numeric_limits<uint64_t>::max();
  for (int low = 0; low <= kKeyBits; ++low) {
    uint64_t bits = 0;
    uint64_t last = 0;
    for (const uint64_t key : keys) {
      bits += ((key - last) >> low) + 1 + static_cast<uint64_t>(low);
      last = key;
    }
    if (bits < fewest) {
      best = low;
      fewest = bits;
    }
  }
  return best;
}

}  // namespace

uint64_t lookup_key(const OpGeometry& geometry, std::string_view device_model, TimingKind timing) {
  return Hasher().add(geometry.key).add(device_model).add(static_cast<uint64_t>(timing)).digest() >>
         (64 - kKeyBits);
}

LookupTable::LookupTable(std::vector<std::pair<uint64_t, float>> entries_us) {
  std::sort(entries_us.begin(), entries_us.end());
  for (size_t first = 0; first < entries_us.size();) {
    size_t last = first;
    while (last < entries_us.size() && entries_us[last].first == entries_us[first].first) {
      ++last;
    }
    keys_.push_back(entries_us[first].first);
    std::vector<double> times;
    for (size_t i = first; i < last; ++i) {
      times.push_back(entries_us[i].second);
    }
    times_us_.push_back(static_cast<float>(median(times)));
    first = last;
  }
}

StatusOr<LookupTable> LookupTable::parse(std::string_view bytes, std::string_view place) {
  LookupTable table;
  const size_t size = bytes.size();
  bool good = bytes.starts_with(kMagic);
  bytes.remove_prefix(good ? kMagic.size() : 0);
  uint64_t count = 0;
  uint8_t low = 0;
  good = good && take_value(bytes, &count) && take_value(bytes, &low) && low <= kKeyBits &&
         count <= bytes.size() / sizeof(float);
  table.keys_.resize(good ? count : 0);
  BitReader keys(bytes);
  uint64_t last = 0;
  for (size_t i = 0; good && i < count; ++i) {
    uint64_t step = 0;
    good = keys.take_rice(low, kMostKey - last, &step) && (step > 0 || i == 0);
    last += step;
    table.keys_[i] = last;
  }
  bytes = keys.rest();
  if (!good || bytes.size() != count * sizeof(float)) {
    return invalid_input(
        fmt::format("{}: {} bytes that are not a table of measured shapes; train "
                    "the model again or restore the file",
                    place, size));
  }
  table.times_us_.resize(count);
  std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(table.times_us_.data()));
  return table;
}

std::string LookupTable::serialize() const {
  std::string bytes(kMagic);
  const int low = best_low_bits(keys_);
  append_value(bytes, static_cast<uint64_t>(keys_.size()));
  append_value(bytes, static_cast<uint8_t>(low));
  BitWriter keys;
  uint64_t last = 0;
  for (const uint64_t key : keys_) {
    keys.append_rice(key - last, low);
    last = key;
  }
  bytes += std::move(keys).bytes();
  bytes.append(reinterpret_cast<const char*>(times_us_.data()), times_us_.size() * sizeof(float));
  return bytes;
}

std::optional<double> LookupTable::find_us(uint64_t key) const {
  const auto it = std::lower_bound(keys_.begin(), keys_.end(), key);
  if (it == keys_.end() || *it != key) {
    return std::nullopt;
  }
  return times_us_[static_cast<size_t>(it - keys_.begin())];
}

std::vector<std::pair<uint64_t, float>> LookupTable::entries() const {
  std::vector<std::pair<uint64_t, float>> entries;
  entries.reserve(keys_.size());
  for (size_t i = 0; i < keys_.size(); ++i) {
    entries.emplace_back(keys_[i], times_us_[i]);
  }
  return entries;
}

}  // namespace dfsim::inline opmodel
