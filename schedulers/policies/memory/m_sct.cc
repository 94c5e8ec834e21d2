// m-SCT (Jeon et al., Baechi, SoCC 2020, doi:10.1145/3419111.3421302, after Hanen, Munier 2001):
// small communication times under memory limits. A linear relaxation picks for each task at most
// one favourite child (x < 0.5 on the edge); then ETF, where a device keeps itself free for the
// favourite child of its last task until that child's data could have reached another device. On
// the fastest devices that are about equal (schedulers/policies/memory/equal_devices.h).
//
// The relaxation: minimise w over starts s and x in [0,1]: s_j >= s_i + k_i + c_ij x_ij,
// w >= s_i + k_i, and over the successors of a task, and the predecessors, sum x >= count - 1.
#include <fmt/format.h>

#include <coin/Clp_C_Interface.h>
#include <algorithm>
#include <limits>
#include <memory>

#include "base/cancellation.h"
#include "schedulers/planning/ranks.h"
#include "schedulers/planning/ready_queue.h"
#include "schedulers/policies/memory/equal_devices.h"
#include "schedulers/policies/memory/memory_ledger.h"
#include "schedulers/static_policy.h"

namespace dfsim::inline schedulers::policies {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::max();

struct ModelDeleter {
  void operator()(Clp_Simplex* model) const { Clp_deleteModel(model); }
};

// Columns: s per task, x per edge, w. Rows: an order row per edge, an end row per task, an "all but
// one" row per task for its successors and one for its predecessors.
class Relaxation {
 public:
  explicit Relaxation(const TaskView& view)
      : view_(view), tasks_(view.tasks()), edges_(view.graph().edge_count()) {}

  // x per edge. Error: kFailed when the solver gives up.
  StatusOr<std::vector<double>> solve();

 private:
  void add_column(double lower, double upper, double cost) {
    starts_.push_back(static_cast<CoinBigIndex>(rows_.size()));
    lower_.push_back(lower);
    upper_.push_back(upper);
    cost_.push_back(cost);
  }
  void put(size_t row, double value) {
    rows_.push_back(static_cast<int>(row));
    values_.push_back(value);
  }
  void build();

  const TaskView& view_;
  size_t tasks_;
  size_t edges_;
  std::vector<CoinBigIndex> starts_;
  std::vector<int> rows_;
  std::vector<double> values_;
  std::vector<double> lower_;
  std::vector<double> upper_;
  std::vector<double> cost_;
  std::vector<double> row_lower_;
};

void Relaxation::build() {
  const ExecGraph& graph = view_.graph();
  double scale = 1;  // keeps coefficients near one
  for (size_t i = 0; i < tasks_; ++i) {
    scale = std::max(scale, view_.mean_ns(TaskId(i)));
  }
  row_lower_.assign(edges_ + 3 * tasks_, 0);
  const size_t ends = edges_;
  const size_t successors = edges_ + tasks_;
  const size_t predecessors = edges_ + 2 * tasks_;
  const std::span<const Edge> edges = graph.edges();
  for (size_t i = 0; i < tasks_; ++i) {
    const TaskId task(i);
    add_column(0, kNoLimit, 0);
    for (const uint32_t e : graph.in_edge_indices(task)) {
      put(e, 1);
    }
    for (const Edge& edge : graph.out_edges(task)) {
      put(static_cast<size_t>(&edge - edges.data()), -1);
    }
    put(ends + i, -1);
    row_lower_[ends + i] = view_.mean_ns(task) / scale;
    row_lower_[successors + i] = static_cast<double>(graph.out_degree(task)) - 1;
    row_lower_[predecessors + i] = static_cast<double>(graph.in_degree(task)) - 1;
  }
  for (size_t e = 0; e < edges_; ++e) {
    add_column(0, 1, 0);
    put(e, -view_.mean_comm_ns(edges[e]) / scale);
    put(successors + edges[e].from.index(), 1);
    put(predecessors + edges[e].to.index(), 1);
    row_lower_[e] = view_.mean_ns(edges[e].from) / scale;
  }
  add_column(0, kNoLimit, 1);
  for (size_t i = 0; i < tasks_; ++i) {
    put(ends + i, 1);
  }
  starts_.push_back(static_cast<CoinBigIndex>(rows_.size()));
}

StatusOr<std::vector<double>> Relaxation::solve() {
  build();
  const std::unique_ptr<Clp_Simplex, ModelDeleter> model(Clp_newModel());
  Clp_setLogLevel(model.get(), 0);
  const std::vector<double> row_upper(row_lower_.size(), kNoLimit);
  Clp_loadProblem(model.get(), static_cast<int>(cost_.size()), static_cast<int>(row_lower_.size()),
                  starts_.data(), rows_.data(), values_.data(), lower_.data(), upper_.data(),
                  cost_.data(), row_lower_.data(), row_upper.data());
  Clp_initialDualSolve(model.get());
  if (Clp_status(model.get()) != 0) {
    return failed(fmt::format("m-sct: the linear program was not solved (Clp status {})",
                              Clp_status(model.get())));
  }
  const double* solution = Clp_primalColumnSolution(model.get());
  return std::vector<double>(solution + tasks_, solution + tasks_ + edges_);
}

// Per task, the child it waits for, or none.
std::vector<TaskId> favourites(const TaskView& view, const std::vector<double>& x) {
  constexpr double kRounding = 0.5 - 1e-6;
  std::vector<TaskId> favourite(view.tasks());
  for (size_t e = 0; e < x.size(); ++e) {
    if (x[e] < kRounding) {
      favourite[view.graph().edges()[e].from.index()] = view.graph().edges()[e].to;
    }
  }
  return favourite;
}

class Planner {
 public:
  Planner(const TaskView& view, std::vector<TaskId> favourite)
      : view_(view),
        favourite_(std::move(favourite)),
        level_(static_level(view)),
        builder_(view, Slot::kAppend),
        memory_(view),
        equal_(view),
        last_(view.devices()),
        reserved_until_(view.devices(), 0) {}

  StatusOr<Schedule> plan();

 private:
  struct Ready {
    TaskId task;
    std::vector<TimeNs> data;
  };
  struct Choice {
    size_t index = SIZE_MAX;
    size_t device = 0;
    TimeNs start = std::numeric_limits<TimeNs>::max();
  };

  // One of the equal devices can run and hold it.
  bool fits_equal(TaskId task) const;
  TimeNs start(const Ready& ready, size_t device) const;
  Choice choose() const;
  void place(TaskId task, size_t device);

  const TaskView& view_;
  std::vector<TaskId> favourite_;
  std::vector<double> level_;
  PlanBuilder builder_;
  MemoryLedger memory_;
  EqualDevices equal_;
  std::vector<TaskId> last_;  // per device
  std::vector<TimeNs> reserved_until_;
  std::vector<Ready> ready_;
};

TimeNs Planner::start(const Ready& ready, size_t device) const {
  TimeNs available = builder_.available_ns(device);
  if (last_[device].valid()) {
    const TaskId child = favourite_[last_[device].index()];
    if (child.valid() && child != ready.task && !builder_.placed(child)) {
      available = std::max(available, reserved_until_[device]);
    }
  }
  return std::max(available, ready.data[device]);
}

bool Planner::fits_equal(TaskId task) const {
  for (size_t d = 0; d < view_.devices(); ++d) {
    if (equal_.contains(d) && view_.feasible(task, d) && memory_.fits(task, d)) {
      return true;
    }
  }
  return false;
}

Planner::Choice Planner::choose() const {
  cancellation_point();
  Choice best;
  for (size_t i = 0; i < ready_.size(); ++i) {
    const TaskId task = ready_[i].task;
    const bool by_equals = fits_equal(task);
    for (size_t d = 0; d < view_.devices(); ++d) {
      if (!view_.feasible(task, d) || !memory_.fits(task, d) ||
          (by_equals && !equal_.contains(d))) {
        continue;
      }
      const TimeNs begin = start(ready_[i], d);
      const auto better = [&] {
        if (best.index == SIZE_MAX || begin != best.start) {
          return begin < best.start;
        }
        const TaskId other = ready_[best.index].task;
        const double own = level_[task.index()];
        const double others = level_[other.index()];
        return own != others ? own > others : task < other;
      };
      if (better()) {
        best = {i, d, begin};
      }
    }
  }
  return best;
}

void Planner::place(TaskId task, size_t device) {
  memory_.place(task, device);
  builder_.place_on(task, DeviceId(device));
  last_[device] = task;
  reserved_until_[device] = 0;
  for (const Edge& edge : view_.graph().out_edges(task)) {
    if (edge.to == favourite_[task.index()]) {
      reserved_until_[device] =
          builder_.finish_ns(task) + static_cast<TimeNs>(view_.mean_comm_ns(edge));
    }
  }
}

StatusOr<Schedule> Planner::plan() {
  DependencyCounter counter(view_.graph());
  const auto push = [this](TaskId task) {
    Ready entry{task, std::vector<TimeNs>(view_.devices())};
    builder_.data_ready(task, entry.data);
    ready_.push_back(std::move(entry));
  };
  counter.start(push);
  while (!ready_.empty()) {
    const Choice choice = choose();
    if (choice.index == SIZE_MAX) {
      return memory_.does_not_fit(ready_.front().task);
    }
    const TaskId task = ready_[choice.index].task;
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(choice.index));
    place(task, choice.device);
    counter.done(task, push);
  }
  return builder_.finish();
}

StatusOr<Schedule> plan_m_sct(const TaskView& view) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<double> x, Relaxation(view).solve());
  return Planner(view, favourites(view, x)).plan();
}

}  // namespace

StaticPtr make_m_sct(const PolicyOptions&) { return static_policy("m-sct", plan_m_sct); }

}  // namespace dfsim::inline schedulers::policies
