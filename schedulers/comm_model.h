// CommModel: time to move data between devices when nothing else uses the links.
//
// A transfer takes the sum of its route's latencies and its bytes over the slowest bandwidth there;
// 0 bytes take no time. No virtual calls: list schedulers ask for edges times devices of them.
#pragma once

#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"
#include "hardware/platform.h"
#include "hardware/route.h"

namespace dfsim::inline schedulers {

class CommModel {
 public:
  // 0 when from == to. Nanoseconds, never negative.
  TimeNs transfer_ns(DeviceId from, DeviceId to, Bytes bytes) const {
    const Pair& pair = pairs_[from.index() * devices_ + to.index()];
    return bytes == 0 ? 0 : pair.latency_ns + occupancy_ns(pair.ns_per_byte, bytes);
  }
  // Mean over ordered pairs of distinct devices; 0 for a single device.
  TimeNs mean_transfer_ns(Bytes bytes) const {
    constexpr double kMost = 4e18;
    const double mean_ns = mean_.latency_ns + static_cast<double>(bytes) * mean_.ns_per_byte;
    return bytes == 0 ? 0 : static_cast<TimeNs>(std::min(mean_ns, kMost) + 0.5);
  }

 private:
  friend StatusOr<std::unique_ptr<CommModel>> make_comm_model(const Platform& platform);

  struct Pair {
    double ns_per_byte = 0;
    TimeNs latency_ns = 0;
  };
  struct Mean {
    double ns_per_byte = 0;
    double latency_ns = 0;
  };

  CommModel(const RouteTable& routes, size_t devices);

  size_t devices_;
  std::vector<Pair> pairs_;  // from * devices + to
  Mean mean_;
};

// Error (kInvalidInput): two devices that no route joins; names them.
StatusOr<std::unique_ptr<CommModel>> make_comm_model(const Platform& platform);

}  // namespace dfsim::inline schedulers
