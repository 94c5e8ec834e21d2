// compare(), and scheduling policies written in Python.
//
// A policy gets the whole problem as arrays and answers with a device and, if it likes, a priority
// per task. The plan is the list schedule of that answer: among the tasks whose predecessors are
// placed, the one of highest priority is placed next on its device, behind what is there. Without
// priorities tasks are placed in the order of their ids, which is topological. Python thus takes
// the lock once per plan, however many tasks there are.
#include <nanobind/ndarray.h>

#include <cmath>
#include <memory>
#include <queue>

#include "cli/study_commands.h"
#include "python/python_policy.h"
#include "schedulers/planning/plan_builder.h"

namespace dfsim::python {
namespace {

// An array of numpy that owns its values.
template <typename T>
nb::object numpy_array(std::vector<T> values, std::vector<size_t> shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept,
                          [](void* data) noexcept { delete static_cast<std::vector<T>*>(data); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner),
                  nb::rv_policy::reference);
}

// The problem as a policy sees it; python/dfsim/_policies.py documents the fields.
nb::dict problem_dict(const SchedulingProblem& problem) {
  const ExecGraph& graph = problem.graph;
  const TaskView view(problem);
  const size_t devices = view.devices();
  std::vector<int64_t> times;
  times.reserve(graph.task_count() * devices);
  nb::list names;
  for (size_t t = 0; t < graph.task_count(); ++t) {
    const TaskId task(static_cast<uint32_t>(t));
    const TimeNs* row = view.times(task);
    for (size_t d = 0; d < devices; ++d) {
      times.push_back(row[d] < 0 ? -1 : row[d]);
    }
    names.append(graph.name(task));
  }
  std::vector<int64_t> edges;
  std::vector<int64_t> bytes;
  for (const Edge& edge : graph.edges()) {
    edges.push_back(static_cast<int64_t>(edge.from.index()));
    edges.push_back(static_cast<int64_t>(edge.to.index()));
    bytes.push_back(graph.edge_bytes(edge));
  }
  // Latency is what a single byte takes; the rate is that of large transfers.
  constexpr Bytes kLarge = 1'000'000'000;
  std::vector<int64_t> latency;
  std::vector<double> rate;
  nb::list device_names;
  for (size_t from = 0; from < devices; ++from) {
    device_names.append(problem.platform.devices[from].name);
    for (size_t to = 0; to < devices; ++to) {
      const DeviceId a(static_cast<uint32_t>(from));
      const DeviceId b(static_cast<uint32_t>(to));
      latency.push_back(from == to ? 0 : problem.comm.transfer_ns(a, b, 1));
      rate.push_back(from == to ? 0
                                : static_cast<double>(problem.comm.transfer_ns(a, b, kLarge) -
                                                      latency.back()) /
                                      static_cast<double>(kLarge));
    }
  }
  nb::dict found;
  found["task_names"] = names;
  found["device_names"] = device_names;
  found["times_ns"] = numpy_array(std::move(times), {graph.task_count(), devices});
  found["edges"] = numpy_array(std::move(edges), {bytes.size(), 2});
  const size_t edge_count = bytes.size();
  found["edge_bytes"] = numpy_array(std::move(bytes), {edge_count});
  found["latency_ns"] = numpy_array(std::move(latency), {devices, devices});
  found["ns_per_byte"] = numpy_array(std::move(rate), {devices, devices});
  found["seed"] = problem.seed;
  return found;
}

// A device for each task and, perhaps, its priority.
struct PlanAnswer {
  std::vector<int64_t> devices;
  std::vector<double> priorities;
};

class PythonPolicy final : public StaticScheduler {
 public:
  PythonPolicy(std::string name, nb::handle policy, PythonProgress& progress)
      : name_(std::move(name)), policy_(policy), progress_(progress) {}

  std::string_view name() const override { return name_; }

  StatusOr<Schedule> plan(const SchedulingProblem& problem) override {
    DFSIM_RETURN_IF_ERROR(check_problem(problem));
    DFSIM_ASSIGN_OR_RETURN(const PlanAnswer answer, ask(problem));
    DFSIM_RETURN_IF_ERROR(check_answer(problem, answer));
    return list_schedule(problem, answer);
  }

 private:
  StatusOr<PlanAnswer> ask(const SchedulingProblem& problem) const {
    const nb::gil_scoped_acquire lock;
    try {
      const nb::object call = nb::module_::import_("dfsim._policies").attr("plan");
      const nb::object answer = call(policy_, problem_dict(problem));
      return PlanAnswer{nb::cast<std::vector<int64_t>>(answer[0]),
                        nb::cast<std::vector<double>>(answer[1])};
    } catch (nb::python_error& error) {
      return progress_.keep(error);
    }
  }

  Status check_answer(const SchedulingProblem& problem, const PlanAnswer& answer) const {
    const size_t tasks = problem.graph.task_count();
    const auto devices = static_cast<int64_t>(problem.platform.devices.size());
    if (answer.devices.size() != tasks) {
      return invalid_input(name_ + ": plan() gave " + std::to_string(answer.devices.size()) +
                           " devices, expected " + std::to_string(tasks) + ", one per task");
    }
    if (!answer.priorities.empty() && answer.priorities.size() != tasks) {
      return invalid_input(name_ + ": plan() gave " + std::to_string(answer.priorities.size()) +
                           " priorities, expected " + std::to_string(tasks) + ", one per task");
    }
    const TaskView view(problem);
    for (size_t t = 0; t < tasks; ++t) {
      const TaskId task(static_cast<uint32_t>(t));
      const int64_t device = answer.devices[t];
      if (device < 0 || device >= devices) {
        return invalid_input(name_ + ": plan() put task " + problem.graph.name(task) +
                             " on device " + std::to_string(device) + ", expected 0 to " +
                             std::to_string(devices - 1));
      }
      if (!view.feasible(task, static_cast<size_t>(device))) {
        return invalid_input(name_ + ": plan() put task " + problem.graph.name(task) +
                             " on device " + std::to_string(device) +
                             ", which cannot run it: its time there is -1");
      }
      if (!answer.priorities.empty() && std::isnan(answer.priorities[t])) {
        return invalid_input(name_ + ": the priority of task " + problem.graph.name(task) +
                             " is nan, expected a number");
      }
    }
    return ok_status();
  }

  static Schedule list_schedule(const SchedulingProblem& problem, const PlanAnswer& answer) {
    const TaskView view(problem);
    PlanBuilder builder(view, Slot::kAppend);
    const ExecGraph& graph = problem.graph;
    // Highest priority first, then the smaller id.
    using Ready = std::pair<double, int64_t>;
    std::priority_queue<Ready> ready;
    std::vector<size_t> missing(graph.task_count());
    const auto make_ready = [&](size_t t) {
      const double priority = answer.priorities.empty() ? 0 : answer.priorities[t];
      ready.emplace(priority, -static_cast<int64_t>(t));
    };
    for (size_t t = 0; t < graph.task_count(); ++t) {
      missing[t] = graph.in_degree(TaskId(static_cast<uint32_t>(t)));
      if (missing[t] == 0) {
        make_ready(t);
      }
    }
    while (!ready.empty()) {
      const auto t = static_cast<size_t>(-ready.top().second);
      ready.pop();
      const TaskId task(static_cast<uint32_t>(t));
      builder.place_on(task, DeviceId(static_cast<uint32_t>(answer.devices[t])));
      for (const Edge& edge : graph.out_edges(task)) {
        if (--missing[edge.to.index()] == 0) {
          make_ready(edge.to.index());
        }
      }
    }
    return builder.finish();
  }

  std::string name_;
  nb::handle policy_;
  PythonProgress& progress_;
};

nb::tuple compare_with(const std::vector<nb::bytes>& arguments, const nb::object& callback,
                       const std::vector<NamedPolicy>& policies) {
  PythonProgress progress(callback);
  const CommandResult result =
      run_command(program_of(cli::compare_command_with(registry_with(policies, progress))),
                  arguments, progress);
  return nb::make_tuple(result.text, verdict(result.status, !result.text.empty()));
}

}  // namespace

PolicyRegistry registry_with(const std::vector<NamedPolicy>& policies, PythonProgress& progress) {
  PolicyRegistry registry;
  for (const auto& [name, policy] : policies) {
    PolicyInfo info;
    info.name = name;
    info.summary = "written in Python";
    // A handle: copies are made without the interpreter's lock.
    info.make_static = [name = name, handle = nb::handle(policy),
                        &progress](const PolicyOptions& /*options*/) {
      return std::make_unique<PythonPolicy>(name, handle, progress);
    };
    check(registry.add(std::move(info)));
  }
  return registry;
}

void bind_policies(nb::module_& module) {
  module.def(
      "compare", &compare_with, nb::arg("arguments"), nb::arg("progress").none(),
      nb::arg("policies"),
      nb::sig("def compare(arguments: collections.abc.Sequence[bytes], progress: object | None, "
              "policies: collections.abc.Sequence[tuple[str, object]]) -> "
              "tuple[str, tuple[str, str] | None]"));
}

}  // namespace dfsim::python
