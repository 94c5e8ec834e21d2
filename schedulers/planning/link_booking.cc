#include "schedulers/planning/link_booking.h"

#include "hardware/route.h"

namespace dfsim::inline schedulers {

LinkBooking::LinkBooking(const Platform& platform)
    : devices_(platform.devices.size()), free_(platform.links.size() * 2, 0) {
  const RouteTable routes(platform);
  for (uint32_t from = 0; from < devices_; ++from) {
    for (uint32_t to = 0; to < devices_; ++to) {
      const Route& route = routes.route(from, to);
      Path path{route.ns_per_byte, route.latency_ns, static_cast<uint32_t>(channels_.size()), 0};
      for (const Hop& hop : route.hops) {
        const LinkSpec& link = platform.links[hop.link.index()];
        if (link.sharing != LinkSharing::kNone) {
          const bool second = link.full_duplex && hop.reversed;
          channels_.push_back(static_cast<uint32_t>(hop.link.index() * 2 + (second ? 1 : 0)));
          contended_ = true;
        }
      }
      path.end = static_cast<uint32_t>(channels_.size());
      paths_.push_back(path);
    }
  }
}

TimeNs LinkBooking::occupancy(DeviceId from, DeviceId to, Bytes bytes) const {
  return from == to ? 0
                    : occupancy_ns(paths_[from.index() * devices_ + to.index()].ns_per_byte, bytes);
}

TimeNs LinkBooking::book(DeviceId from, DeviceId to, TimeNs ready, Bytes bytes) {
  if (from == to || bytes == 0) {
    return ready;
  }
  const Path& path = paths_[from.index() * devices_ + to.index()];
  const TimeNs left = free_from(from, to, ready) + occupancy_ns(path.ns_per_byte, bytes);
  for (uint32_t c = path.begin; c < path.end; ++c) {
    free_[channels_[c]] = left;
  }
  return left + path.latency_ns;
}

}  // namespace dfsim::inline schedulers
