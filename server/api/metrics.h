// Counts of requests, in the text format that Prometheus scrapes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dfsim::server {

// Any thread.
class Metrics {
 public:
  void begin();
  // `route` is a template such as /v1/models/{id}; status 0 = the client went away.
  void end(std::string_view route, int status, std::chrono::nanoseconds time);
  void add_upload(uint64_t bytes, uint64_t kept_bytes);
  std::string text() const;

 private:
  struct Route {
    std::map<int, uint64_t> by_status;
    std::vector<uint64_t> buckets;  // requests up to each of the limits
    double seconds = 0;
    uint64_t requests = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Route, std::less<>> routes_;
  uint64_t in_flight_ = 0;
  uint64_t uploaded_bytes_ = 0;
  uint64_t kept_bytes_ = 0;
};

}  // namespace dfsim::server
