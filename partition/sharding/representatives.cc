// Groups devices that run the same program at the same cost, and keeps one per group. The groups
// are checked pair by pair (equal devices, equal costs of collectives, equal ways of messages);
// where one differs, nothing is left out.
#include "partition/sharding/representatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "hardware/route.h"

namespace dfsim::inline partition {
namespace {

bool alike(const DeviceSpec& a, const DeviceSpec& b) {
  const auto key = [](const DeviceSpec& d) {
    return std::tie(d.model, d.type, d.tf32_flops_per_s, d.allow_tf32, d.memory_bytes_per_s,
                    d.memory_bytes, d.l2_bytes, d.cache_bytes_per_s, d.compute_units,
                    d.launch_overhead_ns, d.queues, d.copy_engines, d.overlap_slowdown,
                    d.cost_model);
  };
  return key(a) == key(b) && std::equal(a.peaks.begin(), a.peaks.end(), b.peaks.begin(),
                                        b.peaks.end(), [](const PeakRate& x, const PeakRate& y) {
                                          return x.dtype == y.dtype &&
                                                 x.flops_per_s == y.flops_per_s &&
                                                 x.matrix_flops_per_s == y.matrix_flops_per_s;
                                        });
}

bool same(const LinkCost& a, const LinkCost& b) {
  return a.alpha_ns == b.alpha_ns && a.beta_ns_per_byte == b.beta_ns_per_byte;
}

bool same(const GroupCosts& a, const GroupCosts& b) {
  return a.ranks == b.ranks && a.local_ranks == b.local_ranks && a.timings == b.timings &&
         same(a.ring, b.ring) && same(a.exchange, b.exchange) && same(a.pairwise, b.pairwise) &&
         same(a.local_ring, b.local_ring) && same(a.across_ring, b.across_ring);
}

class Finder {
 public:
  using Groups = std::vector<std::vector<std::vector<DeviceId>>>;

  Finder(const Platform& platform, const DeviceMesh& mesh, const Groups& groups,
         GroupCostCache* costs)
      : platform_(platform), mesh_(mesh), groups_(groups), costs_(*costs) {}

  Representatives run(const std::vector<AxisSet>& axes) {
    Representatives found;
    found.reason = check_devices();
    for (size_t g = 0; found.reason.empty() && g < groups_.size(); ++g) {
      found.reason = check_collectives(g, axes);
    }
    found.reason = found.reason.empty() ? count_users() : found.reason;
    found.reason = found.reason.empty() ? check_users() : found.reason;
    if (found.reason.empty()) {
      found.stand_for = static_cast<int64_t>(mesh_.device_count());
      build(&found);
      found.reason = check_routes(found);
    }
    return found;
  }

 private:
  // A link in one direction; both directions of a half-duplex one.
  using Channel = std::pair<uint32_t, bool>;
  using Pair = std::pair<size_t, size_t>;  // groups: from, to

  Channel channel(const Hop& hop) const {
    return {hop.link.value(), platform_.links[hop.link.index()].full_duplex && hop.reversed};
  }
  const Route& route(const Pair& pair, size_t rank) const {
    return costs_.routes().route(groups_[pair.first][0][rank].value(),
                                 groups_[pair.second][0][rank].value());
  }

  std::string check_devices() const {
    for (const auto& replicas : groups_) {
      if (replicas.size() != 1) {
        return "stages have several replicas";
      }
      for (const DeviceId device : replicas[0]) {
        if (!alike(platform_.device(device), platform_.device(replicas[0][0]))) {
          return fmt::format("'{}' and '{}' are not alike",
                             printable(platform_.device(replicas[0][0]).name),
                             printable(platform_.device(device).name));
        }
      }
    }
    return "";
  }

  std::string check_collectives(size_t g, const std::vector<AxisSet>& axes) const {
    const std::vector<DeviceId>& devices = groups_[g][0];
    const auto costs_of = [&](size_t rank, AxisSet set) {
      std::vector<DeviceId> members;
      for (const uint32_t member : mesh_.group(rank, set)) {
        members.push_back(devices[member]);
      }
      return costs_.of(members);
    };
    for (const AxisSet set : axes) {
      const GroupCosts first = costs_of(0, set);
      for (size_t rank = 1; rank < devices.size(); ++rank) {
        if (mesh_.position(rank, set) == 0 && !same(first, costs_of(rank, set))) {
          return fmt::format("collectives over {} do not take all of their groups the same time",
                             mesh_.names(set));
        }
      }
    }
    return "";
  }

  // Which ranks' messages of each pair of groups cross each channel.
  std::string count_users() {
    for (size_t from = 0; from < groups_.size(); ++from) {
      for (size_t to = 0; to < groups_.size(); ++to) {
        for (size_t rank = 0; from != to && rank < mesh_.device_count(); ++rank) {
          const Route& way = route({from, to}, rank);
          if (!way.reachable) {
            return "some stages have no links between them";
          }
          for (const Hop& hop : way.hops) {
            users_[channel(hop)][{from, to}].insert(rank);
          }
        }
      }
    }
    return "";
  }

  // Hops of every rank like those of rank 0, and ranks that share a channel share it always.
  std::string check_users() const {
    for (const auto& [at, pairs] : users_) {
      const std::set<size_t>& ranks = pairs.begin()->second;
      const bool steady = std::all_of(pairs.begin(), pairs.end(),
                                      [&](const auto& entry) { return entry.second == ranks; });
      const LinkSpec& link = platform_.links[at.first];
      if (!steady || (ranks.size() > 1 && link.sharing == LinkSharing::kFifo)) {
        return fmt::format("link '{}' serves ranks in turn", printable(link.name));
      }
    }
    for (size_t from = 0; from < groups_.size(); ++from) {
      for (size_t to = 0; to < groups_.size(); ++to) {
        for (size_t rank = 1; from != to && rank < mesh_.device_count(); ++rank) {
          if (hops({from, to}, rank) != hops({from, to}, 0)) {
            return "messages between stages take some ranks another way than others";
          }
        }
      }
    }
    return "";
  }

  std::vector<std::tuple<double, TimeNs, LinkSharing>> hops(const Pair& pair, size_t rank) const {
    std::vector<std::tuple<double, TimeNs, LinkSharing>> all;
    for (const Hop& hop : route(pair, rank).hops) {
      const LinkSpec& link = platform_.links[hop.link.index()];
      all.emplace_back(share_of(channel(hop)), link.latency_ns, link.sharing);
    }
    return all;
  }

  // Bytes per second for each of the ranks that use a channel at once.
  double share_of(const Channel& at) const {
    const LinkSpec& link = platform_.links[at.first];
    const auto users = users_.at(at).begin()->second.size();
    return link.sharing == LinkSharing::kNone ? link.bytes_per_s
                                              : link.bytes_per_s / static_cast<double>(users);
  }

  void build(Representatives* found) const {
    Platform& machine = found->machine;
    machine = platform_;
    machine.devices.clear();
    machine.links.clear();
    for (const auto& replicas : groups_) {
      found->devices.emplace_back(machine.devices.size());
      machine.devices.push_back(platform_.device(replicas[0][0]));
    }
    std::set<uint32_t> taken;
    for (size_t from = 0; from < groups_.size(); ++from) {
      for (size_t to = 0; to < groups_.size(); ++to) {
        for (size_t h = 0; from != to && h < route({from, to}, 0).hops.size(); ++h) {
          const Hop& hop = route({from, to}, 0).hops[h];
          if (taken.insert(hop.link.value()).second) {
            machine.links.push_back(platform_.links[hop.link.index()]);
            machine.links.back().bytes_per_s = share_of(channel(hop));
          }
        }
      }
    }
  }

  // The way between representatives must still be the one that was shared out.
  std::string check_routes(const Representatives& found) const {
    const RouteTable routes(found.machine);
    for (size_t from = 0; from < groups_.size(); ++from) {
      for (size_t to = 0; to < groups_.size(); ++to) {
        if (from == to) {
          continue;
        }
        const Route& now = routes.route(static_cast<uint32_t>(from), static_cast<uint32_t>(to));
        double slowest = 0;
        for (const Hop& hop : route({from, to}, 0).hops) {
          slowest = std::max(slowest, 1e9 / share_of(channel(hop)));
        }
        if (now.latency_ns != route({from, to}, 0).latency_ns || now.ns_per_byte != slowest) {
          return "sharing links would lead messages another way";
        }
      }
    }
    return "";
  }

  const Platform& platform_;
  const DeviceMesh& mesh_;
  const Groups& groups_;
  GroupCostCache& costs_;
  std::map<Channel, std::map<Pair, std::set<size_t>>> users_;
};

}  // namespace

Representatives find_representatives(const Platform& platform, const DeviceMesh& mesh,
                                     const std::vector<std::vector<std::vector<DeviceId>>>& groups,
                                     const std::vector<AxisSet>& axes, GroupCostCache* costs) {
  return Finder(platform, mesh, groups, costs).run(axes);
}

}  // namespace dfsim::inline partition
