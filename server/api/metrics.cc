#include "server/api/metrics.h"

#include <fmt/format.h>

#include <array>

namespace dfsim::server {
namespace {

constexpr std::array<double, 9> kBucketSeconds = {0.005, 0.02, 0.05, 0.1, 0.25, 1, 5, 20, 60};

std::string metric_head(std::string_view name, std::string_view type, std::string_view help) {
  return fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

}  // namespace

void Metrics::begin() {
  const std::lock_guard lock(mutex_);
  ++in_flight_;
}

void Metrics::end(std::string_view route, int status, std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  const std::lock_guard lock(mutex_);
  --in_flight_;
  Route& entry = routes_[std::string(route)];
  entry.buckets.resize(kBucketSeconds.size());
  ++entry.by_status[status];
  ++entry.requests;
  entry.seconds += seconds;
  for (size_t b = 0; b < kBucketSeconds.size(); ++b) {
    entry.buckets[b] += seconds <= kBucketSeconds[b] ? 1 : 0;
  }
}

void Metrics::add_upload(uint64_t bytes, uint64_t kept_bytes) {
  const std::lock_guard lock(mutex_);
  uploaded_bytes_ += bytes;
  kept_bytes_ += kept_bytes;
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string out = metric_head("dfsim_requests_total", "counter",
                                "Finished requests; status 0: the client went away.");
  for (const auto& [name, route] : routes_) {
    for (const auto& [status, count] : route.by_status) {
      out += fmt::format("dfsim_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", name, status,
                         count);
    }
  }
  out += metric_head("dfsim_request_seconds", "histogram",
                     "Time from the header of a request to the end of its answer.");
  for (const auto& [name, route] : routes_) {
    for (size_t b = 0; b < kBucketSeconds.size(); ++b) {
      out += fmt::format("dfsim_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", name,
                         kBucketSeconds[b], route.buckets[b]);
    }
    out += fmt::format("dfsim_request_seconds_bucket{{route=\"{}\",le=\"+Inf\"}} {}\n", name,
                       route.requests);
    out += fmt::format("dfsim_request_seconds_sum{{route=\"{}\"}} {}\n", name, route.seconds);
    out += fmt::format("dfsim_request_seconds_count{{route=\"{}\"}} {}\n", name, route.requests);
  }
  out += metric_head("dfsim_requests_in_flight", "gauge", "Requests that are not finished.");
  out += fmt::format("dfsim_requests_in_flight {}\n", in_flight_);
  out += metric_head("dfsim_uploaded_bytes_total", "counter", "Bytes of uploaded models.");
  out += fmt::format("dfsim_uploaded_bytes_total {}\n", uploaded_bytes_);
  out += metric_head("dfsim_kept_bytes_total", "counter",
                     "Bytes of uploaded models that were stored: weights are not.");
  return out + fmt::format("dfsim_kept_bytes_total {}\n", kept_bytes_);
}

}  // namespace dfsim::server
