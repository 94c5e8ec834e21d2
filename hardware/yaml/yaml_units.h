// Units of hardware files and the ranges outside which a figure must be a mistake.
#pragma once

#include <cmath>
#include <string_view>

#include "base/units.h"
#include "hardware/yaml/yaml_fields.h"

namespace dfsim::inline hardware {

inline constexpr double kGiga = 1e9;
inline constexpr double kTera = 1e12;
inline constexpr double kMebi = 1024.0 * 1024.0;
inline constexpr double kGibi = 1024.0 * kMebi;

inline constexpr YamlRange kBandwidthRange = {1e-6, 1e7, "GB/s"};
inline constexpr YamlRange kMemoryRange = {1e-6, 1e7, "GiB"};
inline constexpr YamlRange kTimeRange = {0, 1e7, "us"};

// A time written in microseconds, rounded to nanoseconds.
inline bool read_time_us(YamlFields& fields, std::string_view key, TimeNs* out,
                         Need need = Need::kOptional) {
  double time_us = 0;
  if (!fields.number(key, kTimeRange, &time_us, need)) {
    return false;
  }
  *out = std::llround(time_us * static_cast<double>(kNsPerUs));
  return true;
}

}  // namespace dfsim::inline hardware
