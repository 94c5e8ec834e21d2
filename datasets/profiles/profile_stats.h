// What a profile holds: rows by device, op, dtype and kind of timing, with ranges and noise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// Rows of one device, op type, class, dtype and timing kind.
struct ProfileGroup {
  std::string device;
  std::string op_type;
  OpClass op_class = OpClass::kOpaque;
  DType dtype = DType::kUnknown;
  TimingKind timing = TimingKind::kUnknown;
  int64_t rows = 0;
  int64_t distinct = 0;  // different measurements (same_measurement)
  TimeNs min_ns = 0;
  TimeNs median_ns = 0;
  TimeNs max_ns = 0;
  int64_t min_bytes = 0;  // of all operands of a row; operands of unknown size count as 0
  int64_t max_bytes = 0;
};

// Measurements that are there several times: how far they are apart is the noise floor.
struct DuplicateStats {
  int64_t measurements = 0;  // with two rows or more
  int64_t rows = 0;          // in all of them
  // Relative distance of a row from the median of its measurement, over rows of all measurements.
  double median_spread = 0;
  double p90_spread = 0;
};

// One network of one batch size on one device.
struct NetworkStats {
  std::string network;
  std::string device;
  int32_t batch = 0;
  int64_t rows = 0;
  int64_t op_types = 0;
  TimeNs total_ns = 0;  // sum of time times count
};

struct ProfileStats {
  int64_t rows = 0;
  std::vector<ProfileGroup> groups;    // sorted by device, op type, dtype, timing
  std::vector<NetworkStats> networks;  // sorted by network, batch, device; rows with a network only
  DuplicateStats duplicates;
};

// O(rows log rows).
ProfileStats profile_stats(const Profile& profile);

}  // namespace dfsim::inline datasets
