#include "schedulers/comm_model.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/text.h"
#include "hardware/route.h"

namespace dfsim {

namespace {

class PlatformComm final : public CommModel {
 public:
  PlatformComm(RouteTable routes, size_t devices) : routes_(std::move(routes)) {
    double latency_ns = 0;
    for (uint32_t from = 0; from < devices; ++from) {
      for (uint32_t to = 0; to < devices; ++to) {
        latency_ns += static_cast<double>(routes_.route(from, to).latency_ns);
        mean_ns_per_byte_ += routes_.route(from, to).ns_per_byte;
      }
    }
    if (devices > 1) {
      const auto pairs = static_cast<double>(devices * (devices - 1));
      mean_latency_ns_ = latency_ns / pairs;
      mean_ns_per_byte_ /= pairs;
    }
  }

  TimeNs transfer_ns(DeviceId from, DeviceId to, Bytes bytes) const override {
    return routes_.route(from.value(), to.value()).idle_ns(bytes);
  }
  TimeNs mean_transfer_ns(Bytes bytes) const override {
    if (bytes == 0) {
      return 0;
    }
    constexpr double kMost = 4e18;
    const double mean_ns = mean_latency_ns_ + static_cast<double>(bytes) * mean_ns_per_byte_;
    return static_cast<TimeNs>(std::llround(std::min(mean_ns, kMost)));
  }

 private:
  RouteTable routes_;
  double mean_latency_ns_ = 0;
  double mean_ns_per_byte_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<CommModel>> make_comm_model(const Platform& platform) {
  RouteTable routes(platform);
  for (uint32_t from = 0; from < platform.devices.size(); ++from) {
    for (uint32_t to = 0; to < platform.devices.size(); ++to) {
      if (!routes.route(from, to).reachable) {
        return invalid_input(fmt::format(
            "platform '{}': no links lead from device '{}' to '{}'; add a link or a switch between "
            "them",
            printable(platform.name), printable(platform.devices[from].name),
            printable(platform.devices[to].name)));
      }
    }
  }
  return std::unique_ptr<CommModel>(
      std::make_unique<PlatformComm>(std::move(routes), platform.devices.size()));
}

}  // namespace dfsim
