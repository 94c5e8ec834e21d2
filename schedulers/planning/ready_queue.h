// ReadyQueue: tasks whose predecessors have all been placed, highest priority first.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "graphs/ir/exec_graph.h"

namespace dfsim::inline schedulers {

// Counts unplaced predecessors. `on_ready` is called for each task whose last one is placed.
class DependencyCounter {
 public:
  explicit DependencyCounter(const ExecGraph& graph) : graph_(graph), pending_(graph.task_count()) {
    for (const Edge& edge : graph.edges()) {
      ++pending_[edge.to.index()];
    }
  }
  template <typename OnReady>
  void start(OnReady&& on_ready) const {
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i] == 0) {
        on_ready(TaskId(i));
      }
    }
  }
  // Asks the caches for what done() will count down.
  void fetch_ahead(TaskId task) const {
    for (const Edge& edge : graph_.out_edges(task)) {
      __builtin_prefetch(&pending_[edge.to.index()]);
    }
  }
  template <typename OnReady>
  void done(TaskId task, OnReady&& on_ready) {
    for (const Edge& edge : graph_.out_edges(task)) {
      if (--pending_[edge.to.index()] == 0) {
        on_ready(edge.to);
      }
    }
  }

 private:
  const ExecGraph& graph_;
  std::vector<uint32_t> pending_;
};

// A max-heap of (priority, task); ties: smaller id first. Deterministic.
class TaskHeap {
 public:
  struct Entry {
    double priority;
    TaskId task;
    bool operator<(const Entry& other) const {
      return priority != other.priority ? priority < other.priority : task > other.task;
    }
  };
  void push(double priority, TaskId task) { heap_.push({priority, task}); }
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  const Entry& top() const { return heap_.top(); }
  Entry pop() {
    const Entry entry = heap_.top();
    heap_.pop();
    return entry;
  }

 private:
  std::priority_queue<Entry> heap_;
};

// Calls `place(task)` for every task, always the one of highest priority whose predecessors have
// been placed. O((tasks + edges) log tasks).
template <typename Place>
void for_each_ready(const ExecGraph& graph, const std::vector<double>& priority, Place&& place) {
  DependencyCounter counter(graph);
  TaskHeap heap;
  const auto push = [&](TaskId task) { heap.push(priority[task.index()], task); };
  counter.start(push);
  while (!heap.empty()) {
    const TaskId task = heap.pop().task;
    place(task);
    counter.done(task, push);
  }
}

}  // namespace dfsim::inline schedulers
