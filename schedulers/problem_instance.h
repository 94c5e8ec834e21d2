// ProblemInstance: a scheduling problem that owns its parts: graph, costs, platform, communication
// model. `dfsim compare` compares policies on these; sources are task graphs (here) and lowered
// models (cli/).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/taskgraph/task_graph.h"
#include "graphs/taskgraph/triplet_cluster.h"
#include "schedulers/scheduler.h"

namespace dfsim::inline schedulers {

struct ProblemInstance {
  std::string graph_name;
  std::string hardware_name;
  ExecGraph graph;
  CostTable costs;
  Platform platform;
  std::unique_ptr<CommModel> comm;
  // The graph's file gives times without a unit: kNsPerFileUnit inside is shown as one.
  bool unitless = false;
  // data_bytes are nanoseconds of delay, not bytes.
  bool delays = false;
  // For DL models: where operator times come from ("" = the graph's file), host time to dispatch
  // each task (empty = the runtime's), and that small tasks stay where their data is.
  std::string cost_model;
  std::vector<TimeNs> dispatch_ns;
  bool group_small_tasks = false;

  SchedulingProblem problem(uint64_t seed = 0) const {
    return {graph, costs, platform, *comm, seed};
  }
};

struct TaskGraphMachine {
  size_t processors = 0;  // identical processors; 0 = as many as the file names
  // Of each link when the file gives bytes but no rate: 1 Gbit/s Ethernet.
  double bytes_per_s = 125e6;
  std::optional<TaskGraphLinks> links = std::nullopt;  // none = as the file says
};

// The platform is the file's own device table, or `processors` identical devices, each two joined
// by a link of the file's or the caller's kind. Errors (kInvalidInput): the file says neither how
// many devices there are nor the caller; or both, and they differ; over 1024 devices, or over 128
// with links that carry one transfer at a time.
StatusOr<ProblemInstance> make_instance(TaskGraph task_graph, const TaskGraphMachine& machine);

// The task graph on a cluster of TripletRun: a task takes the longer of its work at the device's
// speed and its data at the device's bandwidth. Each two devices have a link of their own, unless
// `links` says otherwise with one transfer at a time in each direction. Errors (kInvalidInput): a
// graph that gives times, not demands; a time above 10^18 ns; devices that no link joins.
StatusOr<ProblemInstance> make_instance(TaskGraph task_graph, const TripletCluster& cluster,
                                        std::optional<TaskGraphLinks> links = std::nullopt);

// The task graph on a given platform: a graph with one column runs equally fast on all devices;
// columns are matched to devices by name, then by order when the counts are equal. Data moves over
// the platform's links. Error (kInvalidInput): columns and devices cannot be matched; edges are
// delays, which say nothing about links.
StatusOr<ProblemInstance> make_instance(TaskGraph task_graph, Platform platform);

}  // namespace dfsim::inline schedulers
