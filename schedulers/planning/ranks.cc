// One pass over the tasks in reverse topological order per rank. fold_successors() has what all
// of them share: the maximum over successors of a value plus communication.
#include "schedulers/planning/ranks.h"

#include <algorithm>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <limits>

namespace dfsim::inline schedulers {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// max over successors j of min over q of (value(j, q) + (q != p ? mean c : 0)), for every p, for
// one task. Two passes over q per successor: the least value, then the choice between staying and
// the least, so that a row costs O(successors * devices).
template <typename Value>
void fold_successors(const TaskView& view, TaskId task, const Value& value, double* out) {
  const size_t devices = view.devices();
  for (const Edge& edge : view.graph().out_edges(task)) {
    double least = kInfinity;
    for (size_t q = 0; q < devices; ++q) {
      if (view.feasible(edge.to, q)) {
        least = std::min(least, value(edge.to, q));
      }
    }
    const double moved = least + view.mean_comm_ns(edge);
    for (size_t p = 0; p < devices; ++p) {
      const double stay = view.feasible(edge.to, p) ? value(edge.to, p) : kInfinity;
      out[p] = std::max(out[p], std::min(stay, moved));
    }
  }
}

}  // namespace

std::vector<double> upward_rank(const TaskView& view) {
  std::vector<double> rank(view.tasks());
  for (size_t i = view.tasks(); i-- > 0;) {
    double longest = 0;
    for (const Edge& edge : view.graph().out_edges(TaskId(i))) {
      longest = std::max(longest, view.mean_comm_ns(edge) + rank[edge.to.index()]);
    }
    rank[i] = view.mean_ns(TaskId(i)) + longest;
  }
  return rank;
}

std::vector<double> downward_rank(const TaskView& view) {
  std::vector<double> rank(view.tasks(), 0.0);
  for (size_t i = 0; i < view.tasks(); ++i) {
    const double done = rank[i] + view.mean_ns(TaskId(i));
    for (const Edge& edge : view.graph().out_edges(TaskId(i))) {
      rank[edge.to.index()] = std::max(rank[edge.to.index()], done + view.mean_comm_ns(edge));
    }
  }
  return rank;
}

std::vector<double> static_level(const TaskView& view) {
  std::vector<double> level(view.tasks());
  for (size_t i = view.tasks(); i-- > 0;) {
    double longest = 0;
    for (const Edge& edge : view.graph().out_edges(TaskId(i))) {
      longest = std::max(longest, level[edge.to.index()]);
    }
    level[i] = view.mean_ns(TaskId(i)) + longest;
  }
  return level;
}

std::vector<double> optimistic_cost_table(const TaskView& view) {
  const size_t devices = view.devices();
  std::vector<double> table(view.tasks() * devices, 0.0);
  const auto value = [&](TaskId j, size_t q) {
    return table[j.index() * devices + q] + static_cast<double>(view.time_ns(j, q));
  };
  for (size_t i = view.tasks(); i-- > 0;) {
    fold_successors(view, TaskId(i), value, table.data() + i * devices);
  }
  return table;
}

std::vector<double> predict_cost_matrix(const TaskView& view) {
  const size_t devices = view.devices();
  std::vector<double> table(view.tasks() * devices, 0.0);
  const auto own = [&](TaskId task, size_t q) {
    return view.feasible(task, q) ? static_cast<double>(view.time_ns(task, q)) : view.mean_ns(task);
  };
  for (size_t i = view.tasks(); i-- > 0;) {
    const TaskId task(i);
    double* row = table.data() + i * devices;
    if (view.graph().out_degree(task) == 0) {
      for (size_t p = 0; p < devices; ++p) {
        row[p] = own(task, p);
      }
      continue;
    }
    const auto value = [&](TaskId j, size_t q) {
      return table[j.index() * devices + q] + static_cast<double>(view.time_ns(j, q)) +
             own(task, q);
    };
    fold_successors(view, task, value, row);
  }
  return table;
}

std::vector<double> row_means(const TaskView& view, const std::vector<double>& table) {
  const size_t devices = view.devices();
  std::vector<double> means(view.tasks());
  for (size_t i = 0; i < view.tasks(); ++i) {
    double sum = 0;
    size_t count = 0;
    for (size_t p = 0; p < devices; ++p) {
      if (view.feasible(TaskId(i), p)) {
        sum += table[i * devices + p];
        ++count;
      }
    }
    means[i] = sum / static_cast<double>(count);
  }
  return means;
}

void raise_above_successors(const ExecGraph& graph, std::vector<double>& priority) {
  for (size_t i = priority.size(); i-- > 0;) {
    for (const Edge& edge : graph.out_edges(TaskId(i))) {
      priority[i] = std::max(priority[i], priority[edge.to.index()]);
    }
  }
}

std::vector<TaskId> by_priority(const std::vector<double>& priority) {
  struct Entry {
    double priority;
    uint32_t task;
  };
  std::vector<Entry> entries(priority.size());
  for (size_t i = 0; i < priority.size(); ++i) {
    entries[i] = {priority[i], static_cast<uint32_t>(i)};
  }
  // Compared without branches: which of two is larger is a coin toss to the processor.
  boost::sort::pdqsort_branchless(
      entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return static_cast<int>(a.priority > b.priority) |
               (static_cast<int>(a.priority == b.priority) & static_cast<int>(a.task < b.task));
      });
  std::vector<TaskId> tasks(entries.size());
  std::ranges::transform(entries, tasks.begin(), [](const Entry& e) { return TaskId(e.task); });
  return tasks;
}

}  // namespace dfsim::inline schedulers
