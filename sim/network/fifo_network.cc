#include "sim/network/fifo_network.h"

#include <algorithm>

namespace dfsim::inline sim {

FifoNetwork::FifoNetwork(const Platform& platform, const RouteTable& routes, uint32_t ends)
    : channel_free_(2 * platform.links.size(), 0) {
  // Ends without limit share the first entry.
  std::vector<uint32_t> engines{1};
  engine_free_.resize(1);
  for (uint32_t end = 0; end < ends; ++end) {
    if (end < platform.devices.size() && platform.devices[end].type != DeviceType::kCpu) {
      engine_free_.resize(engine_free_.size() +
                          static_cast<size_t>(std::max(0, platform.devices[end].copy_engines)));
    }
    engines.push_back(static_cast<uint32_t>(engine_free_.size()));
  }
  const auto limited = [&](uint32_t end) { return engines[end] < engines[end + 1]; };
  const auto one = [&](uint32_t end) { return engines[end] + 1 == engines[end + 1]; };
  paths_.reserve(static_cast<size_t>(ends) * ends);
  for (uint32_t from = 0; from < ends; ++from) {
    for (uint32_t to = 0; to < ends; ++to) {
      const Route& route = routes.route(from, to);
      Path path;
      path.ns_per_byte = route.ns_per_byte;
      path.latency_ns = route.latency_ns;
      path.channels_begin = static_cast<uint32_t>(channels_.size());
      path.out_begin = limited(from) ? engines[from] : 0;
      path.out_end = limited(from) ? engines[from + 1] : 1;
      path.in_begin = limited(to) ? engines[to] : 0;
      path.in_end = limited(to) ? engines[to + 1] : 1;
      for (const Hop& hop : route.hops) {
        const LinkSpec& link = platform.links[hop.link.index()];
        if (link.sharing != LinkSharing::kNone) {
          channels_.push_back(2 * hop.link.value() + (link.full_duplex && hop.reversed ? 1 : 0));
        }
      }
      path.channels_end = static_cast<uint32_t>(channels_.size());
      path.ordered = path.channels_begin < path.channels_end || one(from) || one(to);
      paths_.push_back(path);
    }
  }
}

inline TimeNs& FifoNetwork::first_free_engine(uint32_t begin, uint32_t end) {
  uint32_t best = begin;
  for (uint32_t e = begin + 1; e < end; ++e) {
    // Without a branch: which one it is, is a coin toss.
    const uint32_t earlier = engine_free_[e] < engine_free_[best] ? UINT32_MAX : 0;
    best ^= (best ^ e) & earlier;
  }
  return engine_free_[best];
}

FifoNetwork::Timing FifoNetwork::book(uint32_t route, Bytes bytes, TimeNs now_ns) {
  const Path& path = paths_[route];
  TimeNs& out = first_free_engine(path.out_begin, path.out_end);
  TimeNs& in = first_free_engine(path.in_begin, path.in_end);
  TimeNs begin = std::max(now_ns, std::max(out, in));  // a list of three would go through memory
  for (uint32_t c = path.channels_begin; c < path.channels_end; ++c) {
    begin = std::max(begin, channel_free_[channels_[c]]);
  }
  const TimeNs end = begin + occupancy_ns(path.ns_per_byte, bytes);
  for (uint32_t c = path.channels_begin; c < path.channels_end; ++c) {
    channel_free_[channels_[c]] = end;
  }
  out = end;
  in = end;
  engine_free_[0] = 0;
  return {begin, end + path.latency_ns};
}

}  // namespace dfsim::inline sim
