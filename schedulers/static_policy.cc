#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

class FunctionPolicy final : public StaticScheduler {
 public:
  FunctionPolicy(std::string_view name, PlanFunction plan) : name_(name), plan_(plan) {}

  std::string_view name() const override { return name_; }
  StatusOr<Schedule> plan(const SchedulingProblem& problem) override {
    DFSIM_RETURN_IF_ERROR(check_problem(problem));
    if (problem.graph.task_count() == 0) {
      Schedule empty;
      empty.order.resize(problem.platform.devices.size());
      return empty;
    }
    return plan_(TaskView(problem));
  }

 private:
  std::string_view name_;
  PlanFunction plan_;
};

}  // namespace

StaticPtr static_policy(std::string_view name, PlanFunction plan) {
  return std::make_unique<FunctionPolicy>(name, plan);
}

}  // namespace dfsim::inline schedulers::policies
