// Arrival and finish estimates that online policies share, over the inputs of one ready task at
// a time.
#include "schedulers/policies/online/online_base.h"

#include <algorithm>

namespace dfsim::inline schedulers::policies {

Status OnlineBase::begin(const SchedulingProblem& problem) {
  DFSIM_RETURN_IF_ERROR(check_problem(problem));
  own_inputs_.emplace(problem.graph);
  return begin_checked(problem, *own_inputs_);
}

Status OnlineBase::begin_checked(const SchedulingProblem& problem, const TaskInputs& inputs) {
  inputs_ = &inputs;
  view_.emplace(problem);
  return prepare();
}

void OnlineBase::look_at(const OnlineView& view, TaskId task) {
  task_ = task;
  sources_.clear();
  for (const TaskInputs::Input& input : inputs_->of(task)) {
    if (input.bytes == 0) {
      continue;
    }
    const DeviceId device = view.device_of(input.from);
    const auto known = std::ranges::find(sources_, device, &Source::device);
    if (known == sources_.end()) {
      sources_.push_back({device, input.bytes});
    } else {
      known->bytes += input.bytes;
    }
  }
  // Data that decisions about the successors will read: in large graphs it is far away by then.
  for (const Edge& edge : view_->graph().out_edges(task)) {
    inputs_->fetch(edge.to);
    __builtin_prefetch(view_->times(edge.to));
  }
}

TimeNs OnlineBase::fetch_ns(size_t device) const {
  TimeNs slowest = 0;
  for (const Source& source : sources_) {
    if (source.device.index() != device) {
      slowest = std::max(slowest, view_->problem().comm.transfer_ns(source.device, DeviceId(device),
                                                                    source.bytes));
    }
  }
  return slowest;
}

const std::vector<TimeNs>& OnlineBase::fetch_all_ns() {
  const CommModel& comm = view_->problem().comm;
  fetch_ns_.assign(view_->devices(), 0);
  for (const Source& source : sources_) {
    for (size_t d = 0; d < fetch_ns_.size(); ++d) {
      fetch_ns_[d] =
          std::max(fetch_ns_[d], comm.transfer_ns(source.device, DeviceId(d), source.bytes));
    }
  }
  return fetch_ns_;
}

Bytes OnlineBase::memory_need(const OnlineView& view, size_t device) const {
  const ExecGraph& graph = view_->graph();
  Bytes need = graph.resident_bytes(task_) + graph.workspace_bytes(task_);
  DataId last;
  for (const Edge& edge : graph.out_edges(task_)) {
    need += edge.data == last ? 0 : graph.edge_bytes(edge);
    last = edge.data;
  }
  for (const TaskInputs::Input& input : inputs_->of(task_)) {
    need += view.has_data(input.data, DeviceId(device)) ? 0 : input.bytes;
  }
  return need;
}

}  // namespace dfsim::inline schedulers::policies
