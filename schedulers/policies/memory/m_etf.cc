// m-ETF (Jeon et al., Baechi, SoCC 2020, doi:10.1145/3419111.3421302): ETF that skips devices
// without enough memory left, on the fastest devices that are about equal
// (schedulers/policies/memory/equal_devices.h). Ties by higher static level, as in ETF.
#include "schedulers/planning/ranks.h"
#include "schedulers/policies/list/pair_list.h"
#include "schedulers/policies/memory/memory_ledger.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_m_etf(const TaskView& view) {
  const std::vector<double> level = static_level(view);
  MemoryLedger memory(view);
  const EqualDevices devices(view);
  return plan_by_pairs(
      view, [](TaskId, size_t) { return 0.0; }, [&](TaskId task) { return -level[task.index()]; },
      &memory, &devices);
}

}  // namespace

StaticPtr make_m_etf(const PolicyOptions&) { return static_policy("m-etf", plan_m_etf); }

}  // namespace dfsim::inline schedulers::policies
