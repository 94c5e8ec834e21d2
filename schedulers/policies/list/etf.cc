// ETF (Hwang, Chow, Anger, Lee 1989, doi:10.1137/0218016): at each step the ready task and device
// of earliest start; ties by higher static level.
#include "schedulers/planning/ranks.h"
#include "schedulers/policies/list/pair_list.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

StatusOr<Schedule> plan_etf(const TaskView& view) {
  const std::vector<double> level = static_level(view);
  return plan_by_pairs(
      view, [](TaskId, size_t) { return 0.0; }, [&](TaskId task) { return -level[task.index()]; });
}

}  // namespace

StaticPtr make_etf(const PolicyOptions&) { return static_policy("etf", plan_etf); }

}  // namespace dfsim::inline schedulers::policies
