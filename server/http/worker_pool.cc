#include "server/http/worker_pool.h"

#include <utility>

namespace dfsim::server {

WorkerPool::WorkerPool(size_t threads, size_t waiting) : most_waiting_(waiting) {
  for (size_t t = 0; t < threads; ++t) {
    threads_.emplace_back([this] { work(); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

bool WorkerPool::start(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    // Jobs that idle threads are about to take do not wait.
    if (jobs_.size() >= most_waiting_ + idle_) {
      return false;
    }
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
    --idle_;
    if (ends_) {
      return;
    }
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace dfsim::server
