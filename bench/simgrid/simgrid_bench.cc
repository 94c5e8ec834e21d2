// BM_SimGrid*: the workload of BM_SimulateFairLinks* on SimGrid: the same tasks in the same order
// on the same devices, the same data over links shared by max-min fairness (CM02 without its TCP
// effects). Activities are created when they start, which is the fastest way to use SimGrid.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

#include "bench/layered_workload.h"

namespace dfsim::bench {
namespace {

namespace sg4 = simgrid::s4u;

constexpr double kSpeed = 1e9;  // flop/s of a host: one flop is one nanosecond

// One engine per process, made once; each run takes place later on its clock.
class SimGrid {
 public:
  static SimGrid& get() {
    static SimGrid* const instance = new SimGrid;
    return *instance;
  }
  void run() { engine_.run(); }
  sg4::Host* host(size_t device) const { return hosts_[device]; }

 private:
  SimGrid() : engine_(&argc_, argv_) {
    for (const char* setting :
         {"network/model:CM02", "network/TCP-gamma:0", "network/bandwidth-factor:1",
          "network/latency-factor:1", "network/weight-S:0", "network/crosstraffic:0"}) {
      sg4::Engine::set_config(setting);
    }
    sg4::NetZone* const zone = sg4::create_full_zone("zone");
    for (size_t d = 0; d < kDevices; ++d) {
      hosts_.push_back(zone->create_host(fmt::format("d{}", d), kSpeed)->seal());
    }
    for (size_t from = 0; from < kDevices; ++from) {
      for (size_t to = 0; to < kDevices; ++to) {
        if (from != to) {
          const sg4::Link* const link =
              zone->create_link(fmt::format("l{}_{}", from, to), 1e9)->seal();
          zone->add_route(hosts_[from]->get_netpoint(), hosts_[to]->get_netpoint(), nullptr,
                          nullptr, {sg4::LinkInRoute(link)}, false);
        }
      }
    }
    zone->seal();
  }

  int argc_ = 2;
  char program_[12] = "dfsim_bench";
  char quiet_[32] = "--log=root.thres:error";
  char* argv_[3] = {program_, quiet_, nullptr};
  sg4::Engine engine_;
  std::vector<sg4::Host*> hosts_;
};

// One execution of the workload's plan.
class Run {
 public:
  explicit Run(const LayeredWorkload& workload)
      : workload_(workload),
        graph_(workload.task_graph.graph),
        inputs_left_(graph_.task_count()),
        position_(kDevices, 0),
        busy_(kDevices, false) {
    for (size_t t = 0; t < graph_.task_count(); ++t) {
      inputs_left_[t] = static_cast<uint32_t>(graph_.in_degree(TaskId(t)));
    }
  }

  size_t finished() const { return finished_; }
  void activity_finished(const sg4::Activity& activity) {
    const auto* exec = dynamic_cast<const sg4::Exec*>(&activity);
    auto* const job = exec != nullptr ? exec->get_data<Job>()
                                      : dynamic_cast<const sg4::Comm&>(activity).get_data<Job>();
    const Job done = *job;
    job->self = nullptr;
    free_jobs_.push_back(job);
    if (done.is_input) {
      input_arrived(done.task);
    } else {
      task_finished(done.task, device_of(done.task));
    }
    last_ = done.self;  // SimGrid still looks at it after this call
  }
  void start() {
    for (size_t d = 0; d < kDevices; ++d) {
      start_next(d);
    }
  }

 private:
  // The purpose of an activity; SimGrid leaves it to its user to keep it alive.
  struct Job {
    TaskId task;
    bool is_input = false;
    sg4::ActivityPtr self;
  };
  Job* new_job(TaskId task, bool is_input, sg4::ActivityPtr activity) {
    if (free_jobs_.empty()) {
      free_jobs_.push_back(&jobs_.emplace_back());
    }
    Job* const job = free_jobs_.back();
    free_jobs_.pop_back();
    *job = {task, is_input, std::move(activity)};
    return job;
  }
  size_t device_of(TaskId task) const {
    return workload_.schedule.placements[task.index()].device.index();
  }
  void start_next(size_t device) {
    const std::vector<TaskId>& order = workload_.schedule.order[device];
    if (busy_[device] || position_[device] == order.size()) {
      return;
    }
    const TaskId task = order[position_[device]];
    if (inputs_left_[task.index()] > 0) {
      return;
    }
    busy_[device] = true;
    ++position_[device];
    const TimeNs time = workload_.costs.time_ns(graph_.cost_row(task), DeviceId(device));
    sg4::ExecPtr exec = sg4::Exec::init()->set_flops_amount(static_cast<double>(time));
    exec->set_host(SimGrid::get().host(device));
    exec->set_data(new_job(task, false, exec));
    exec->start();
  }
  void task_finished(TaskId task, size_t device) {
    ++finished_;
    busy_[device] = false;
    for (const Edge& edge : graph_.out_edges(task)) {
      const size_t to = device_of(edge.to);
      if (to == device || graph_.edge_bytes(edge) == 0) {
        input_arrived(edge.to);
        continue;
      }
      sg4::CommPtr comm =
          sg4::Comm::sendto_init(SimGrid::get().host(device), SimGrid::get().host(to));
      comm->set_payload_size(static_cast<uint64_t>(graph_.edge_bytes(edge)));
      comm->set_data(new_job(edge.to, true, comm));
      comm->start();
    }
    start_next(device);
  }
  void input_arrived(TaskId task) {
    if (--inputs_left_[task.index()] == 0) {
      start_next(device_of(task));
    }
  }

  const LayeredWorkload& workload_;
  const ExecGraph& graph_;
  std::vector<uint32_t> inputs_left_;
  std::vector<size_t> position_;
  std::vector<bool> busy_;
  std::deque<Job> jobs_;
  std::vector<Job*> free_jobs_;
  sg4::ActivityPtr last_;
  size_t finished_ = 0;
};

// The run that SimGrid's callback, of which there is one per process, is about.
Run* current_run = nullptr;

void BM_SimGrid(benchmark::State& state, double ccr) {
  const auto tasks = static_cast<size_t>(state.range(0));
  const LayeredWorkload workload = layered_workload(tasks, ccr, LinkSharing::kFair);
  SimGrid::get();
  static const bool listening = [] {
    sg4::Activity::on_completion_cb(
        [](const sg4::Activity& activity) { current_run->activity_finished(activity); });
    return true;
  }();
  benchmark::DoNotOptimize(listening);
  for (auto _ : state) {
    Run run(workload);
    current_run = &run;
    run.start();
    SimGrid::get().run();
    if (run.finished() != tasks) {
      state.SkipWithError("SimGrid did not finish all tasks");
      return;
    }
  }
  state.counters["tasks/s"] = benchmark::Counter(static_cast<double>(tasks * state.iterations()),
                                                 benchmark::Counter::kIsRate);
}

void BM_SimGridLittleContention(benchmark::State& state) { BM_SimGrid(state, 0.01); }
BENCHMARK(BM_SimGridLittleContention)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_SimGridMuchContention(benchmark::State& state) { BM_SimGrid(state, 1.0); }
BENCHMARK(BM_SimGridMuchContention)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsim::bench
