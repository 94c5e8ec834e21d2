// A sorted array of (hash of shape, device and timing; time), searched by bisection. The file has
// the differences of the hashes and 16-bit codes of the times: measured shapes are much of a model
// that ships, and 40 bits tell hundreds of thousands apart.
#include "opmodel/model/lookup_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/io/packed_bytes.h"
#include "datasets/profiles/statistics.h"

namespace dfsim::inline opmodel {

namespace {
constexpr std::string_view kMagic = "dfsimLT3";
// Another shape has the key of one of 200,000 measured ones once in five million questions.
constexpr int kKeyBits = 40;
constexpr double kLeastUs = 1e-3;
constexpr double kMostUs = 1e9;
constexpr double kMostCode = 65535;

uint16_t code_of(double time_us) {
  const double place = std::log(std::clamp(time_us, kLeastUs, kMostUs) / kLeastUs);
  return static_cast<uint16_t>(std::lround(place / std::log(kMostUs / kLeastUs) * kMostCode));
}

double time_us_of(uint16_t code) {
  return kLeastUs * std::exp(code / kMostCode * std::log(kMostUs / kLeastUs));
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
    codes_.push_back(code_of(median(times)));
    first = last;
  }
}

StatusOr<LookupTable> LookupTable::parse(std::string_view bytes, std::string_view place) {
  LookupTable table;
  const size_t size = bytes.size();
  bool good = bytes.starts_with(kMagic);
  bytes.remove_prefix(good ? kMagic.size() : 0);
  uint64_t count = 0;
  good = good && take_value(bytes, &count) && count <= bytes.size() / sizeof(uint16_t);
  table.keys_.resize(good ? count : 0);
  uint64_t last = 0;
  for (size_t i = 0; good && i < count; ++i) {
    uint64_t step = 0;
    good = take_varint(bytes, (uint64_t{1} << kKeyBits) - 1 - last, &step) && (step > 0 || i == 0);
    last += step;
    table.keys_[i] = last;
  }
  if (!good || bytes.size() != count * sizeof(uint16_t)) {
    return invalid_input(
        fmt::format("{}: {} bytes that are not a table of measured shapes; train "
                    "the model again or restore the file",
                    place, size));
  }
  table.codes_.resize(count);
  std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(table.codes_.data()));
  return table;
}

std::string LookupTable::serialize() const {
  std::string bytes(kMagic);
  append_value(bytes, static_cast<uint64_t>(keys_.size()));
  uint64_t last = 0;
  for (const uint64_t key : keys_) {
    append_varint(bytes, key - last);
    last = key;
  }
  bytes.append(reinterpret_cast<const char*>(codes_.data()), codes_.size() * sizeof(uint16_t));
  return bytes;
}

std::optional<double> LookupTable::find_us(uint64_t key) const {
  const auto it = std::lower_bound(keys_.begin(), keys_.end(), key);
  if (it == keys_.end() || *it != key) {
    return std::nullopt;
  }
  return time_us_of(codes_[static_cast<size_t>(it - keys_.begin())]);
}

std::vector<std::pair<uint64_t, float>> LookupTable::entries() const {
  std::vector<std::pair<uint64_t, float>> entries;
  entries.reserve(keys_.size());
  for (size_t i = 0; i < keys_.size(); ++i) {
    entries.emplace_back(keys_[i], static_cast<float>(time_us_of(codes_[i])));
  }
  return entries;
}

}  // namespace dfsim::inline opmodel
