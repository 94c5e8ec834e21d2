// Portfolio: the best plan of several policies, made in parallel threads. The members default to
// all that take near-linear time. Ties go to the member that is listed first.
#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "base/cancellation.h"
#include "schedulers/planning/task_view.h"
#include "schedulers/policies.h"
#include "schedulers/registry.h"

namespace dfsim::inline schedulers::policies {
namespace {

// Strong ones first; best-single-device is what saves the day when communication dominates.
constexpr const char* kMembers[] = {
    "heft",  "peft",  "lookahead", "cpop",  "dls",           "etf", "ppts",
    "ippts", "hlfet", "minmin",    "donfl", "critical-path", "mct", "best-single-device"};

class Portfolio final : public StaticScheduler {
 public:
  explicit Portfolio(PolicyOptions options) : options_(std::move(options)) {
    if (options_.portfolio.empty()) {
      options_.portfolio.assign(std::begin(kMembers), std::end(kMembers));
    }
  }

  std::string_view name() const override { return "portfolio"; }

  StatusOr<Schedule> plan(const SchedulingProblem& problem) override {
    DFSIM_RETURN_IF_ERROR(check_problem(problem));
    const PolicyRegistry registry;
    std::vector<const PolicyInfo*> members;
    for (const std::string& name : options_.portfolio) {
      DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* member, registry.find(name));
      if (member->name == "portfolio") {
        return invalid_input("portfolio: it cannot contain itself; name other policies");
      }
      members.push_back(member);
    }
    std::vector<std::optional<StatusOr<Schedule>>> plans(members.size());
    run_all(problem, members, plans);
    std::optional<size_t> best;
    for (size_t i = 0; i < plans.size(); ++i) {
      if (plans[i]->ok() && (!best.has_value() || (*plans[i])->planned_makespan_ns <
                                                      (*plans[*best])->planned_makespan_ns)) {
        best = i;
      }
    }
    return std::move(*plans[best.value_or(0)]);
  }

 private:
  void run_all(const SchedulingProblem& problem, const std::vector<const PolicyInfo*>& members,
               std::vector<std::optional<StatusOr<Schedule>>>& plans) const {
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i = next++; i < members.size(); i = next++) {
        plans[i] = plan_with(*members[i], problem, options_);
      }
    };
    // Small graphs are planned faster than threads are started.
    constexpr size_t kTasksWorthThreads = 500;
    size_t threads = options_.threads > 0 ? static_cast<size_t>(options_.threads)
                                          : std::max(1U, std::thread::hardware_concurrency());
    threads =
        problem.graph.task_count() < kTasksWorthThreads ? 1 : std::min(threads, members.size());
    run_on_threads(threads, work);
  }

  PolicyOptions options_;
};

}  // namespace

StaticPtr make_portfolio(const PolicyOptions& options) {
  return std::make_unique<Portfolio>(options);
}

}  // namespace dfsim::inline schedulers::policies
