// Reads cores and nodes from /sys and the allowed processors from the scheduler, and deals them
// out to processes. Where /sys says nothing (containers), each processor counts as a core of one
// node.
#include "study/measuring/cpu_topology.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr int kMostCpus = 8192;

std::vector<int> allowed_cpus() {
  std::vector<int> allowed;
  cpu_set_t* set = CPU_ALLOC(kMostCpus);
  if (set != nullptr) {
    const size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
    CPU_ZERO_S(bytes, set);
    if (::sched_getaffinity(0, bytes, set) == 0) {
      for (int cpu = 0; cpu < kMostCpus; ++cpu) {
        if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set)) {
          allowed.push_back(cpu);
        }
      }
    }
    CPU_FREE(set);
  }
  if (allowed.empty()) {
    const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    for (int cpu = 0; cpu < count; ++cpu) {
      allowed.push_back(cpu);
    }
  }
  return allowed;
}

int number_in(const std::string& path, int otherwise) {
  std::ifstream file(path);
  int number = 0;
  return file >> number ? number : otherwise;
}

// The kernel links each processor to its node: /sys/devices/system/cpu/cpu3/node0.
int node_of(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > 4 && name.starts_with("node") &&
        name.find_first_not_of("0123456789", 4) == std::string::npos) {
      return std::stoi(name.substr(4));
    }
  }
  return 0;
}

// One thread per core first, the cores of all nodes in turn.
std::vector<int> spread_order(const std::vector<Cpu>& cpus) {
  std::map<int, int> threads_of_core;
  std::map<std::pair<int, int>, int> place_on_node;   // of (node, thread of its core)
  std::vector<std::tuple<int, int, int, int>> order;  // thread of core, place on node, node, id
  for (const Cpu& cpu : cpus) {
    const int thread = threads_of_core[cpu.core]++;
    order.emplace_back(thread, place_on_node[{cpu.node, thread}]++, cpu.node, cpu.id);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> ids;
  for (const auto& entry : order) {
    ids.push_back(std::get<3>(entry));
  }
  return ids;
}

// Consecutive parts of `order`, one per process, which start again when they run out.
std::vector<std::vector<int>> dealt(const std::vector<int>& order, int processes, int threads) {
  std::vector<std::vector<int>> parts(static_cast<size_t>(processes));
  size_t at = 0;
  for (std::vector<int>& part : parts) {
    for (int i = 0; i < std::min(threads, static_cast<int>(order.size())); ++i) {
      part.push_back(order[at++ % order.size()]);
    }
  }
  return parts;
}

}  // namespace

std::vector<Cpu> usable_cpus() {
  std::vector<Cpu> cpus;
  for (const int id : allowed_cpus()) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}", id);
    const int package = number_in(folder + "/topology/physical_package_id", 0);
    const int core = number_in(folder + "/topology/core_id", -1);
    // Without a known core, one that no other processor has.
    cpus.push_back(
        {id, core < 0 ? kMostCpus * 1024 + id : package * kMostCpus + core, node_of(folder)});
  }
  std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
    return std::tuple(a.node, a.core, a.id) < std::tuple(b.node, b.core, b.id);
  });
  return cpus;
}

int cores_of(const std::vector<Cpu>& cpus) {
  std::set<int> cores;
  for (const Cpu& cpu : cpus) {
    cores.insert(cpu.core);
  }
  return static_cast<int>(cores.size());
}

int nodes_of(const std::vector<Cpu>& cpus) {
  std::set<int> nodes;
  for (const Cpu& cpu : cpus) {
    nodes.insert(cpu.node);
  }
  return static_cast<int>(nodes.size());
}

const std::vector<std::string>& placement_names() {
  static const std::vector<std::string> kNames = {"free", "compact", "spread", "node"};
  return kNames;
}

StatusOr<std::vector<std::vector<int>>> place_processes(const std::vector<Cpu>& cpus,
                                                        const std::string& placement, int processes,
                                                        int threads) {
  if (placement == "free") {
    return std::vector<std::vector<int>>(static_cast<size_t>(processes));
  }
  if (placement == "compact") {
    std::vector<int> order;
    for (const Cpu& cpu : cpus) {
      order.push_back(cpu.id);
    }
    return dealt(order, processes, threads);
  }
  if (placement == "spread") {
    return dealt(spread_order(cpus), processes, threads);
  }
  if (placement == "node") {
    std::map<int, std::vector<int>> by_node;
    for (const Cpu& cpu : cpus) {
      by_node[cpu.node].push_back(cpu.id);
    }
    std::vector<std::vector<int>> nodes;
    for (auto& [node, ids] : by_node) {
      nodes.push_back(std::move(ids));
    }
    std::vector<std::vector<int>> parts;
    for (int i = 0; i < processes; ++i) {
      parts.push_back(nodes[static_cast<size_t>(i) % nodes.size()]);
    }
    return parts;
  }
  return invalid_input(unknown_name_message("placement", placement, placement_names()));
}

}  // namespace dfsim::inline study
