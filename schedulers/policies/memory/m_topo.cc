// m-TOPO (Jeon et al., Baechi, SoCC 2020, doi:10.1145/3419111.3421302): devices are filled one
// after the other in topological order, each up to an equal share of all memory (of all time, when
// the tasks take no memory), so that neighbours stay together and no memory overflows. The devices
// are the fastest that are about equal; the others come last
// (schedulers/policies/memory/equal_devices.h).
#include <algorithm>
#include <numeric>
#include <vector>

#include "schedulers/policies/memory/equal_devices.h"
#include "schedulers/policies/memory/memory_ledger.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_m_topo(const TaskView& view) {
  double total_memory = 0;
  double total_time = 0;
  for (size_t i = 0; i < view.tasks(); ++i) {
    total_memory += static_cast<double>(view.graph().resident_bytes(TaskId(i)));
    total_time += view.mean_ns(TaskId(i));
  }
  const bool by_memory = total_memory > 0;
  const EqualDevices equal(view);
  std::vector<size_t> devices(view.devices());
  std::iota(devices.begin(), devices.end(), size_t{0});
  std::stable_partition(devices.begin(), devices.end(),
                        [&](size_t d) { return equal.contains(d); });
  const double share = (by_memory ? total_memory : total_time) / static_cast<double>(equal.count());
  PlanBuilder builder(view, Slot::kAppend);
  MemoryLedger memory(view);
  size_t current = 0;
  double filled = 0;
  for (size_t i = 0; i < view.tasks(); ++i) {
    const TaskId task(i);
    const double weight =
        by_memory ? static_cast<double>(view.graph().resident_bytes(task)) : view.mean_ns(task);
    // A task goes where its middle falls, so that shares are rounded both up and down.
    if (filled + weight / 2 > share && current + 1 < equal.count()) {
      ++current;
      filled = 0;
    }
    filled += weight;
    size_t device = SIZE_MAX;
    for (size_t k = 0; k < view.devices() && device == SIZE_MAX; ++k) {
      const size_t d = devices[k < equal.count() ? (current + k) % equal.count() : k];
      device = view.feasible(task, d) && memory.fits(task, d) ? d : SIZE_MAX;
    }
    if (device == SIZE_MAX) {
      return memory.does_not_fit(task);
    }
    memory.place(task, device);
    builder.place_on(task, DeviceId(device));
  }
  return builder.finish();
}

}  // namespace

StaticPtr make_m_topo(const PolicyOptions&) { return static_policy("m-topo", plan_m_topo); }

}  // namespace dfsim::inline schedulers::policies
