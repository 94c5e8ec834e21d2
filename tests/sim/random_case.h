// Random graphs, platforms and plans for tests of the simulator.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "schedulers/scheduler.h"
#include "sim/simulator.h"

namespace dfsim {

struct RandomCase {
  Platform platform;
  ExecGraph graph;
  CostTable costs;
  Schedule schedule;
  SimInput input() const { return {graph, costs, platform}; }
};

// Features that a random platform may have.
struct RandomFeatures {
  bool fair = true;
  bool fifo = true;
  bool uncontended = true;
  bool engines = true;
  bool overlap = true;
  bool host = true;
  bool queues = true;
};

inline LinkSharing random_sharing(Rng& rng, const RandomFeatures& features) {
  while (true) {
    const auto sharing = static_cast<LinkSharing>(rng.below(3));
    if ((sharing == LinkSharing::kFair && features.fair) ||
        (sharing == LinkSharing::kFifo && features.fifo) ||
        (sharing == LinkSharing::kNone && features.uncontended)) {
      return sharing;
    }
  }
}

// A tree of switches with the host and the devices at its leaves, and a few direct links.
inline Platform random_platform(Rng& rng, const RandomFeatures& features) {
  Platform platform;
  platform.name = "random";
  const size_t devices = 1 + rng.below(5);
  const size_t switches = 1 + rng.below(3);
  const auto join = [&](const std::string& from, const std::string& to) {
    LinkSpec link;
    link.name = fmt::format("{}-{}", from, to);
    link.from = from;
    link.to = to;
    link.bytes_per_s = 1e8 * static_cast<double>(1 + rng.below(30));
    link.latency_ns = static_cast<TimeNs>(rng.below(2) * rng.below(500));
    link.full_duplex = rng.below(2) == 0;
    link.sharing = random_sharing(rng, features);
    platform.links.push_back(link);
  };
  for (size_t s = 0; s < switches; ++s) {
    platform.switches.push_back(fmt::format("s{}", s));
    if (s > 0) {
      join(fmt::format("s{}", rng.below(s)), platform.switches.back());
    }
  }
  join("host", "s0");
  for (size_t d = 0; d < devices; ++d) {
    DeviceSpec device;
    device.name = fmt::format("d{}", d);
    device.type = rng.below(4) == 0 ? DeviceType::kCpu : DeviceType::kGpu;
    device.queues = features.queues ? 1 + static_cast<int>(rng.below(3)) : 1;
    device.copy_engines = features.engines ? static_cast<int>(rng.below(4)) : 0;
    device.overlap_slowdown = features.overlap && rng.below(3) == 0 ? 1.0 + rng.uniform() : 1.0;
    join(device.name, platform.switches[rng.below(switches)]);
    if (d > 0 && rng.below(3) == 0) {
      join(device.name, fmt::format("d{}", rng.below(d)));
    }
    platform.devices.push_back(device);
  }
  if (features.host) {
    RuntimeSpec& runtime = platform.runtime;
    runtime.run_overhead_ns = static_cast<TimeNs>(rng.below(2) * rng.below(3000));
    runtime.dispatch_ns = static_cast<TimeNs>(rng.below(2) * rng.below(300));
    runtime.asynchronous = rng.below(3) != 0;
    runtime.queue_depth = 1 + static_cast<int>(rng.below(8));
    runtime.dispatch_threads = 1 + static_cast<int>(rng.below(3));
    runtime.inter_op_workers = rng.below(3) == 0 ? 3 : 1;
  }
  platform.runtime.streams = 4;
  return platform;
}

inline RandomCase random_case(uint64_t seed, const RandomFeatures& features, size_t most_tasks) {
  Rng rng(seed);
  RandomCase result;
  result.platform = random_platform(rng, features);
  const size_t devices = result.platform.devices.size();
  const size_t tasks = 1 + rng.below(most_tasks);
  const bool tiny_costs = rng.below(4) == 0;  // many events at one instant
  ExecGraphBuilder builder;
  result.costs = CostTable(tasks, devices);
  for (size_t t = 0; t < tasks; ++t) {
    ExecGraphBuilder::Task task;
    task.cost_row = static_cast<uint32_t>(t);
    task.workspace_bytes = static_cast<Bytes>(rng.below(2) * rng.below(500));
    task.resident_bytes = static_cast<Bytes>(rng.below(2) * rng.below(500));
    builder.add_task(task);
    for (size_t d = 0; d < devices; ++d) {
      result.costs.at(static_cast<uint32_t>(t), DeviceId(d)).time_ns =
          static_cast<TimeNs>(rng.below(tiny_costs ? 3 : 2000));
    }
  }
  for (size_t t = 0; t < tasks; ++t) {
    const size_t items = rng.below(3);
    for (size_t i = 0; i < items; ++i) {
      const DataId data =
          builder.add_data(TaskId(t), static_cast<Bytes>(rng.below(4) == 0 ? 0 : rng.below(3000)),
                           rng.below(8) == 0);
      for (size_t readers = rng.below(4); readers > 0 && t + 1 < tasks; --readers) {
        builder.add_edge(data, TaskId(t + 1 + rng.below(std::min<size_t>(tasks - t - 1, 20))));
      }
    }
  }
  auto graph = builder.build();
  REQUIRE(graph.ok());
  result.graph = std::move(graph).value();
  result.schedule.order.resize(devices);
  for (size_t t = 0; t < tasks; ++t) {
    const DeviceId device(rng.below(devices));
    result.schedule.placements.push_back({device, static_cast<TimeNs>(t), 0});
    result.schedule.order[device.index()].emplace_back(t);
  }
  return result;
}

// Places each ready task at random, holding some back until something else has finished.
class RandomPolicy final : public OnlineScheduler {
 public:
  std::string_view name() const override { return "random"; }
  Status begin(const SchedulingProblem& problem) override {
    rng_ = Rng(problem.seed);
    devices_ = problem.platform.devices.size();
    held_.clear();
    return ok_status();
  }
  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    held_.insert(held_.end(), newly_ready.begin(), newly_ready.end());
    size_t running = 0;
    for (size_t d = 0; d < devices_; ++d) {
      running += view.unfinished_tasks(DeviceId(d));
    }
    std::vector<TaskId> keep;
    for (const TaskId task : held_) {
      if ((running > 0 || !decisions.empty()) && rng_.below(4) == 0) {
        keep.push_back(task);
      } else {
        decisions.push_back({task, DeviceId(rng_.below(devices_))});
      }
    }
    held_ = keep;
  }

 private:
  Rng rng_{0};
  size_t devices_ = 0;
  std::vector<TaskId> held_;
};

}  // namespace dfsim
