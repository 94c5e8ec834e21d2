#include "sim/fifo_network.h"

#include <algorithm>

namespace dfsim {

FifoNetwork::FifoNetwork(const Platform& platform, const RouteTable& routes, uint32_t ends)
    : channel_free_(2 * platform.links.size(), 0) {
  paths_.reserve(static_cast<size_t>(ends) * ends);
  for (uint32_t from = 0; from < ends; ++from) {
    for (uint32_t to = 0; to < ends; ++to) {
      const Route& route = routes.route(from, to);
      Path path;
      path.ns_per_byte = route.ns_per_byte;
      path.latency_ns = route.latency_ns;
      path.channels_begin = static_cast<uint32_t>(channels_.size());
      path.from = from;
      path.to = to;
      for (const Hop& hop : route.hops) {
        const LinkSpec& link = platform.links[hop.link.index()];
        if (link.sharing != LinkSharing::kNone) {
          channels_.push_back(2 * hop.link.value() + (link.full_duplex && hop.reversed ? 1 : 0));
        }
      }
      path.channels_end = static_cast<uint32_t>(channels_.size());
      paths_.push_back(path);
    }
  }
  for (uint32_t end = 0; end < ends; ++end) {
    engine_begin_.push_back(static_cast<uint32_t>(engine_free_.size()));
    if (end < platform.devices.size() && platform.devices[end].type != DeviceType::kCpu) {
      engine_free_.resize(engine_free_.size() +
                          static_cast<size_t>(std::max(0, platform.devices[end].copy_engines)));
    }
  }
  engine_begin_.push_back(static_cast<uint32_t>(engine_free_.size()));
  const auto engines = [this](uint32_t end) { return engine_begin_[end + 1] - engine_begin_[end]; };
  for (Path& path : paths_) {
    path.ordered =
        path.channels_begin < path.channels_end || engines(path.from) == 1 || engines(path.to) == 1;
  }
}

inline TimeNs* FifoNetwork::first_free_engine(uint32_t end) {
  TimeNs* best = nullptr;
  for (uint32_t e = engine_begin_[end]; e < engine_begin_[end + 1]; ++e) {
    if (best == nullptr || engine_free_[e] < *best) {
      best = &engine_free_[e];
    }
  }
  return best;
}

FifoNetwork::Timing FifoNetwork::book(uint32_t route, Bytes bytes, TimeNs now_ns) {
  const Path& path = paths_[route];
  TimeNs begin = now_ns;
  for (uint32_t c = path.channels_begin; c < path.channels_end; ++c) {
    begin = std::max(begin, channel_free_[channels_[c]]);
  }
  TimeNs* const out = first_free_engine(path.from);
  TimeNs* const in = first_free_engine(path.to);
  begin = std::max({begin, out == nullptr ? begin : *out, in == nullptr ? begin : *in});
  const TimeNs end = begin + occupancy_ns(path.ns_per_byte, bytes);
  for (uint32_t c = path.channels_begin; c < path.channels_end; ++c) {
    channel_free_[channels_[c]] = end;
  }
  if (out != nullptr) {
    *out = end;
  }
  if (in != nullptr) {
    *in = end;
  }
  return {begin, end + path.latency_ns};
}

}  // namespace dfsim
