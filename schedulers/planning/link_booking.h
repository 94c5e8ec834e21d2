// LinkBooking: when links that carry one transfer at a time are free, as a planner knows it from
// the transfers that it has booked.
//
// A transfer holds every contended channel of its route for the time that the slowest hop needs
// (sim/network/fifo_network.h does the same); a channel is one direction of a full-duplex link, or
// a whole half-duplex link. Fair links count as if they served one transfer after the other, which
// finishes the last one at the same time. Each channel serves transfers in the order of booking, so
// that a look at a route costs O(hops).
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "hardware/platform.h"

namespace dfsim::inline schedulers {

class LinkBooking {
 public:
  explicit LinkBooking(const Platform& platform);

  // Some route has a channel that can be busy.
  bool contended() const { return contended_; }
  // The time for which `bytes` hold the route's channels. 0 on one device, and for 0 bytes.
  TimeNs occupancy(DeviceId from, DeviceId to, Bytes bytes) const;
  TimeNs latency(DeviceId from, DeviceId to) const {
    return paths_[from.index() * devices_ + to.index()].latency_ns;
  }
  // When a transfer that is there at `ready` could begin. O(hops).
  TimeNs free_from(DeviceId from, DeviceId to, TimeNs ready) const {
    const Path& path = paths_[from.index() * devices_ + to.index()];
    TimeNs begin = ready;
    for (uint32_t c = path.begin; c < path.end; ++c) {
      begin = begin < free_[channels_[c]] ? free_[channels_[c]] : begin;
    }
    return begin;
  }
  // Books a transfer that begins as early as it goes; returns when its last byte is there.
  TimeNs book(DeviceId from, DeviceId to, TimeNs ready, Bytes bytes);

 private:
  struct Path {
    double ns_per_byte = 0;
    TimeNs latency_ns = 0;
    uint32_t begin = 0;  // its channels
    uint32_t end = 0;
  };

  size_t devices_;
  bool contended_ = false;
  std::vector<Path> paths_;  // from * devices + to
  std::vector<uint32_t> channels_;
  std::vector<TimeNs> free_;  // by channel
};

}  // namespace dfsim::inline schedulers
