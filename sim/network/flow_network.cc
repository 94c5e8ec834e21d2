// A transfer passes through three stages: it queues for the FIFO resources of its way, waits out
// the latencies, and flows at its fair share. A transfer enters the queues of all its resources
// at the moment of its request, so every queue has the same order and two transfers never wait
// for each other. Rates change only when a flow joins or leaves; settle() books the bytes that
// moved at the old rates first.
#include "sim/network/flow_network.h"

#include <algorithm>
#include <limits>

namespace dfsim::inline sim {

namespace {

std::vector<double> channel_capacities(const Platform& platform) {
  std::vector<double> capacities;
  for (const LinkSpec& link : platform.links) {
    capacities.push_back(link.bytes_per_s / 1e9);
    capacities.push_back(link.bytes_per_s / 1e9);
  }
  return capacities;
}

bool has_engines(const Platform& platform, uint32_t end) {
  return end < platform.devices.size() && platform.devices[end].type != DeviceType::kCpu &&
         platform.devices[end].copy_engines > 0;
}

}  // namespace

FlowNetwork::FlowNetwork(const Platform& platform, const RouteTable& routes, uint32_t ends)
    : resources_(2 * platform.links.size() + ends), shares_(channel_capacities(platform)) {
  for (uint32_t end = 0; end < ends; ++end) {
    if (has_engines(platform, end)) {
      resources_[2 * platform.links.size() + end].free =
          static_cast<uint32_t>(platform.devices[end].copy_engines);
    }
  }
  for (uint32_t from = 0; from < ends; ++from) {
    for (uint32_t to = 0; to < ends; ++to) {
      add_path(platform, routes.route(from, to), from, to);
    }
  }
}

void FlowNetwork::add_path(const Platform& platform, const Route& route, uint32_t from,
                           uint32_t to) {
  Path path;
  path.ns_per_byte = route.ns_per_byte;
  path.latency_ns = route.latency_ns;
  path.cap = std::numeric_limits<double>::infinity();
  path.fair_begin = static_cast<uint32_t>(fair_.size());
  path.resource_begin = static_cast<uint32_t>(path_resources_.size());
  for (const Hop& hop : route.hops) {
    const LinkSpec& link = platform.links[hop.link.index()];
    const uint32_t channel = 2 * hop.link.value() + (link.full_duplex && hop.reversed ? 1 : 0);
    if (link.sharing == LinkSharing::kFair) {
      fair_.push_back(channel);
      continue;
    }
    path.cap = std::min(path.cap, link.bytes_per_s / 1e9);
    if (link.sharing == LinkSharing::kFifo) {
      path_resources_.push_back(channel);
    }
  }
  for (const uint32_t end : {from, to}) {
    if (has_engines(platform, end)) {
      path_resources_.push_back(static_cast<uint32_t>(2 * platform.links.size() + end));
    }
  }
  path.fair_end = static_cast<uint32_t>(fair_.size());
  path.resource_end = static_cast<uint32_t>(path_resources_.size());
  paths_.push_back(path);
}

void FlowNetwork::request(uint32_t transfer, uint32_t route, Bytes bytes, TimeNs now_ns,
                          std::vector<FlowEvent>& out) {
  if (transfer >= flows_.size()) {
    flows_.resize(transfer + 1);
  }
  Flow& flow = flows_[transfer];
  flow = Flow{route, 0, bytes, static_cast<double>(bytes), 0, now_ns};
  const Path& path = paths_[route];
  for (uint32_t r = path.resource_begin; r < path.resource_end; ++r) {
    Resource& resource = resources_[path_resources_[r]];
    if (resource.free > 0) {
      --resource.free;
    } else {
      resource.waiting.push_back(transfer);
      ++flow.missing;
    }
  }
  if (flow.missing == 0) {
    begin(transfer, now_ns, out);
  }
}

void FlowNetwork::begin(uint32_t transfer, TimeNs now_ns, std::vector<FlowEvent>& out) {
  const Flow& flow = flows_[transfer];
  const Path& path = paths_[flow.route];
  out.push_back({FlowStep::kStarted, transfer});
  if (path.fair_begin == path.fair_end) {
    events_.push(now_ns + occupancy_ns(path.ns_per_byte, flow.bytes), kLeaveWire, transfer);
  } else {
    events_.push(now_ns + path.latency_ns, kJoin, transfer);
  }
}

void FlowNetwork::release(uint32_t transfer, TimeNs now_ns, std::vector<FlowEvent>& out) {
  const Path& path = paths_[flows_[transfer].route];
  out.push_back({FlowStep::kReleased, transfer});
  for (uint32_t r = path.resource_begin; r < path.resource_end; ++r) {
    Resource& resource = resources_[path_resources_[r]];
    if (resource.served == resource.waiting.size()) {
      ++resource.free;
      continue;
    }
    const uint32_t next = resource.waiting[resource.served++];
    if (2 * resource.served > resource.waiting.size()) {
      resource.waiting.erase(resource.waiting.begin(),
                             resource.waiting.begin() + static_cast<ptrdiff_t>(resource.served));
      resource.served = 0;
    }
    if (--flows_[next].missing == 0) {
      begin(next, now_ns, out);
    }
  }
}

void FlowNetwork::settle(TimeNs now_ns) {
  if (shares_.settled()) {
    return;
  }
  shares_.solve(changed_);
  for (const uint32_t id : changed_) {
    Flow& flow = flows_[id];
    flow.left_bytes =
        std::max(0.0, flow.left_bytes - flow.rate * static_cast<double>(now_ns - flow.updated_ns));
    flow.updated_ns = now_ns;
    flow.rate = shares_.rate(id);
    ends_.set(id, now_ns + static_cast<TimeNs>(std::min(flow.left_bytes / flow.rate, 1e18) + 0.5));
  }
}

TimeNs FlowNetwork::next_ns(TimeNs now_ns) {
  settle(now_ns);
  return std::min(events_.empty() ? kNever : events_.top().time_ns,
                  ends_.empty() ? kNever : ends_.top_key());
}

void FlowNetwork::advance(TimeNs now_ns, std::vector<FlowEvent>& out) {
  while (!ends_.empty() && ends_.top_key() <= now_ns) {
    const uint32_t id = ends_.top();
    ends_.erase(id);
    shares_.remove(id);
    release(id, now_ns, out);
    out.push_back({FlowStep::kArrived, id});
  }
  while (!events_.empty() && events_.top().time_ns <= now_ns) {
    const Event event = events_.pop();
    const uint32_t id = event.payload;
    const Path& path = paths_[flows_[id].route];
    switch (static_cast<Kind>(event.kind)) {
      case kJoin:
        flows_[id].updated_ns = now_ns;
        shares_.add(id, fair_channels(path), path.cap);
        break;
      case kLeaveWire:
        release(id, now_ns, out);
        events_.push(now_ns + path.latency_ns, kArrive, id);
        break;
      case kArrive:
        out.push_back({FlowStep::kArrived, id});
        break;
    }
  }
}

}  // namespace dfsim::inline sim
