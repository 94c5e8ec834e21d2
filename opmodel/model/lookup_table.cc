// A sorted array of (hash of shape, device and timing; time), searched by bisection. The file is
// that array behind a header, so that loading is one copy.
#include "opmodel/model/lookup_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "datasets/profiles/statistics.h"

namespace dfsim::inline opmodel {

namespace {
constexpr std::string_view kMagic = "dfsimLT1";
}

uint64_t lookup_key(const OpGeometry& geometry, std::string_view device_model, TimingKind timing) {
  return Hasher().add(geometry.key).add(device_model).add(static_cast<uint64_t>(timing)).digest();
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
  constexpr size_t kEntry = sizeof(uint64_t) + sizeof(float);
  const size_t header = kMagic.size() + sizeof(uint64_t);
  uint64_t count = 0;
  if (bytes.size() >= header) {
    std::memcpy(&count, bytes.data() + kMagic.size(), sizeof count);
  }
  if (!bytes.starts_with(kMagic) || (bytes.size() - header) / kEntry != count ||
      (bytes.size() - header) % kEntry != 0) {
    return invalid_input(
        fmt::format("{}: {} bytes that are not a table of measured shapes; train "
                    "the model again or restore the file",
                    place, bytes.size()));
  }
  LookupTable table;
  table.keys_.resize(count);
  table.times_us_.resize(count);
  std::memcpy(table.keys_.data(), bytes.data() + header, count * sizeof(uint64_t));
  std::memcpy(table.times_us_.data(), bytes.data() + header + count * sizeof(uint64_t),
              count * sizeof(float));
  if (!std::is_sorted(table.keys_.begin(), table.keys_.end()) ||
      !std::all_of(table.times_us_.begin(), table.times_us_.end(),
                   [](float time) { return std::isfinite(time) && time > 0; })) {
    return invalid_input(fmt::format(
        "{}: keys out of order or times that are not positive; train the model again", place));
  }
  return table;
}

std::string LookupTable::serialize() const {
  std::string bytes(kMagic);
  const uint64_t count = keys_.size();
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  bytes.append(reinterpret_cast<const char*>(keys_.data()), keys_.size() * sizeof(uint64_t));
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
