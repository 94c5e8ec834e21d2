// Base of the online policies: the view of the problem, and estimates of arrival and finish.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "schedulers/planning/task_inputs.h"
#include "schedulers/planning/task_view.h"
#include "schedulers/policies.h"

namespace dfsim::inline schedulers::policies {

class OnlineBase : public OnlineScheduler {
 public:
  explicit OnlineBase(std::string_view name) : name_(name) {}

  std::string_view name() const final { return name_; }
  Status begin(const SchedulingProblem& problem) final;
  // The same for a caller who has passed check_problem() and gathered the inputs, which outlive the
  // run.
  Status begin_checked(const SchedulingProblem& problem, const TaskInputs& inputs);

 protected:
  // Called by begin() with a checked problem.
  virtual Status prepare() = 0;

  const TaskView& tasks() const { return *view_; }
  std::span<const TaskInputs::Input> inputs_of(TaskId task) const { return inputs_->of(task); }
  // Collects where the inputs of a ready task are; the calls below are about that task.
  void look_at(const OnlineView& view, TaskId task);
  // Time to fetch the inputs: the slowest source device, bytes summed per source, sources in
  // parallel (Lin et al. 2019).
  TimeNs fetch_ns(size_t device) const;
  // The same to every device.
  const std::vector<TimeNs>& fetch_all_ns();
  // Bytes that the task allocates on the device: resident, outputs, scratch, inputs not there yet.
  Bytes memory_need(const OnlineView& view, size_t device) const;

 private:
  struct Source {
    DeviceId device;
    Bytes bytes;
  };

  std::string_view name_;
  std::optional<TaskView> view_;
  std::optional<TaskInputs> own_inputs_;
  const TaskInputs* inputs_ = nullptr;
  TaskId task_;
  std::vector<Source> sources_;
  std::vector<TimeNs> fetch_ns_;
};

}  // namespace dfsim::inline schedulers::policies
