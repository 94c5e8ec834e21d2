// WorkerPool: a fixed number of threads and a bounded queue in front of them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dfsim::server {

class WorkerPool {
 public:
  WorkerPool(size_t threads, size_t waiting);
  // Waits for the jobs that run; those that wait are dropped.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False when as many jobs wait as may.
  bool start(std::function<void()> job);

 private:
  void work();

  const size_t most_waiting_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  size_t idle_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dfsim::server
