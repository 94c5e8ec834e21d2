// The same transfers on the same links, by our engine and by SimGrid's CM02 model without its TCP
// effects, which is max-min sharing: every arrival within 0.1 %.
//
// SimGrid weighs flows by their latency, so flows that share links here have equal latencies.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "hardware/route.h"
#include "sim/invariants.h"
#include "sim/simulator.h"

using namespace dfsim;

namespace {

struct Flow {
  uint32_t from;
  uint32_t to;
  TimeNs start_ns;
  Bytes bytes;
};

struct Network {
  Platform platform;
  std::vector<Flow> flows;
  std::vector<TimeNs> ours_ns;
  std::vector<double> theirs_s;
};

// A tree of switches without latency, or a star with the same latency on every link.
Platform make_platform(Rng& rng) {
  Platform platform;
  platform.runtime.streams = 1 << 20;
  const bool star = rng.below(2) == 0;
  const size_t switches = star ? 1 : 2 + rng.below(5);
  const auto latency_ns = static_cast<TimeNs>(star ? 1000 * rng.below(100) : 0);
  const auto join = [&](const std::string& from, const std::string& to) {
    LinkSpec link;
    link.name = fmt::format("{}-{}", from, to);
    link.from = from;
    link.to = to;
    link.bytes_per_s = 1e8 * (1 + 40 * rng.uniform());
    link.latency_ns = latency_ns;
    link.full_duplex = rng.below(3) != 0;
    link.sharing = LinkSharing::kFair;
    platform.links.push_back(link);
  };
  for (size_t s = 0; s < switches; ++s) {
    platform.switches.push_back(fmt::format("s{}", s));
    if (s > 0) {
      join(fmt::format("s{}", rng.below(s)), platform.switches.back());
    }
  }
  const size_t devices = 3 + rng.below(10);
  for (size_t d = 0; d < devices; ++d) {
    DeviceSpec device;
    device.name = fmt::format("d{}", d);
    device.queues = 1 << 20;
    device.copy_engines = 0;
    platform.devices.push_back(device);
    join(device.name, fmt::format("s{}", rng.below(switches)));
  }
  return platform;
}

Network make_network(uint64_t seed) {
  Rng rng(seed);
  Network network;
  network.platform = make_platform(rng);
  const size_t devices = network.platform.devices.size();
  const size_t flows = 5 + rng.below(80);
  for (size_t f = 0; f < flows; ++f) {
    const auto from = static_cast<uint32_t>(rng.below(devices));
    const auto to = static_cast<uint32_t>((from + 1 + rng.below(devices - 1)) % devices);
    // Over a few hundred milliseconds, so that rounding to nanoseconds does not count.
    network.flows.push_back({from, to, static_cast<TimeNs>(1 + rng.below(200'000'000)),
                             static_cast<Bytes>(1'000'000 + rng.below(100'000'000))});
  }
  return network;
}

// A producer that ends when the flow starts, and a reader of its data elsewhere.
void run_ours(Network& network) {
  ExecGraphBuilder builder;
  std::vector<TimeNs> times;
  Schedule schedule;
  schedule.order.resize(network.platform.devices.size());
  const auto add = [&](TimeNs time_ns, uint32_t device) {
    ExecGraphBuilder::Task task;
    task.cost_row = static_cast<uint32_t>(times.size());
    times.push_back(time_ns);
    schedule.placements.push_back({DeviceId(device), 0, 0});
    const TaskId id = builder.add_task(task);
    schedule.order[device].push_back(id);
    return id;
  };
  std::vector<TaskId> producers;
  for (const Flow& flow : network.flows) {
    producers.push_back(add(flow.start_ns, flow.from));
  }
  for (size_t f = 0; f < network.flows.size(); ++f) {
    const DataId data = builder.add_data(producers[f], network.flows[f].bytes);
    builder.add_edge(data, add(0, network.flows[f].to));
  }
  auto graph = builder.build();
  REQUIRE(graph.ok());
  CostTable costs(times.size(), network.platform.devices.size());
  for (size_t t = 0; t < times.size(); ++t) {
    for (size_t d = 0; d < network.platform.devices.size(); ++d) {
      costs.at(static_cast<uint32_t>(t), DeviceId(d)).time_ns = times[t];
    }
  }
  const SimOptions options;
  const SimInput input{*graph, costs, network.platform};
  InvariantChecker checker(input, options);
  const auto result = simulate(input, schedule, options, &checker);
  REQUIRE(result.ok());
  const std::string violations = checker.violations(*result);
  CHECK(violations == "");
  for (size_t f = 0; f < network.flows.size(); ++f) {
    network.ours_ns.push_back(result->tasks[network.flows.size() + f].start_ns);
  }
}

// Adds the network to SimGrid as a zone of its own: its flows meet no others.
void add_to_simgrid(Network& network, size_t index, simgrid::s4u::NetZone* root) {
  namespace sg4 = simgrid::s4u;
  const std::string prefix = fmt::format("n{}_", index);
  const Platform& platform = network.platform;
  sg4::NetZone* zone = sg4::create_full_zone(prefix + "zone");
  zone->set_parent(root);
  std::vector<sg4::Host*> hosts;
  for (const DeviceSpec& device : platform.devices) {
    hosts.push_back(zone->create_host(prefix + device.name, 1e9)->seal());
  }
  std::vector<sg4::Link*> channels;
  for (const LinkSpec& link : platform.links) {
    for (int direction = 0; direction < 2; ++direction) {
      channels.push_back(
          zone->create_link(fmt::format("{}{}_{}", prefix, link.name, direction), link.bytes_per_s)
              ->set_latency(static_cast<double>(link.latency_ns) * 1e-9)
              ->seal());
    }
  }
  const RouteTable routes(platform);
  for (uint32_t from = 0; from < hosts.size(); ++from) {
    for (uint32_t to = 0; to < hosts.size(); ++to) {
      std::vector<sg4::LinkInRoute> way;
      for (const Hop& hop : routes.route(from, to).hops) {
        const bool back = platform.links[hop.link.index()].full_duplex && hop.reversed;
        way.emplace_back(channels[2 * hop.link.index() + (back ? 1 : 0)]);
      }
      if (from != to) {
        zone->add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr,
                        way, false);
      }
    }
  }
  zone->seal();
}

void start_flows(Network& network, size_t index) {
  namespace sg4 = simgrid::s4u;
  network.theirs_s.assign(network.flows.size(), 0);
  for (size_t f = 0; f < network.flows.size(); ++f) {
    const Flow& flow = network.flows[f];
    sg4::Host* const from = sg4::Host::by_name(fmt::format("n{}_d{}", index, flow.from));
    sg4::Host* const to = sg4::Host::by_name(fmt::format("n{}_d{}", index, flow.to));
    double* const done = &network.theirs_s[f];
    sg4::Actor::create(fmt::format("n{}_f{}", index, f), from, [=]() {
      sg4::this_actor::sleep_until(static_cast<double>(flow.start_ns) * 1e-9);
      sg4::Comm::sendto(from, to, static_cast<uint64_t>(flow.bytes));
      *done = sg4::Engine::get_clock();
    });
  }
}

}  // namespace

TEST_CASE("Max-min fairness: agrees with SimGrid", "[sim]") {
  simgrid::s4u::Engine engine("test_simgrid");
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/bandwidth-factor:1",
        "network/latency-factor:1", "network/weight-S:0", "network/crosstraffic:0"}) {
    simgrid::s4u::Engine::set_config(setting);
  }
  constexpr size_t kNetworks = 50;
  std::vector<Network> networks;
  for (uint64_t seed = 1; seed <= kNetworks; ++seed) {
    networks.push_back(make_network(seed));
    run_ours(networks.back());
  }
  simgrid::s4u::NetZone* const root = simgrid::s4u::create_full_zone("root");
  for (size_t n = 0; n < networks.size(); ++n) {
    add_to_simgrid(networks[n], n, root);
  }
  root->seal();
  for (size_t n = 0; n < networks.size(); ++n) {
    start_flows(networks[n], n);
  }
  engine.run();
  double worst = 0;
  for (const Network& network : networks) {
    for (size_t f = 0; f < network.flows.size(); ++f) {
      const double theirs_ns = network.theirs_s[f] * 1e9;
      const auto start_ns = static_cast<double>(network.flows[f].start_ns);
      const double ours_ns = static_cast<double>(network.ours_ns[f]);
      worst = std::max(worst, std::abs(ours_ns - theirs_ns) / (theirs_ns - start_ns));
    }
  }
  WARN("largest difference of a transfer's time from SimGrid's: " << worst * 100 << " %");
  CHECK(worst < 0.001);
}
