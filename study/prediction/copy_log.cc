// Rebuilds copies from transfer events: which engine each used, when it left and when it
// arrived. Engines are numbered in the order in which they become free, which the simulator
// itself does not need to know.
#include "study/prediction/copy_log.h"

#include <algorithm>

namespace dfsim::inline study {
namespace {

bool is_accelerator(const Platform& platform, DeviceId device) {
  return device.valid() && platform.device(device).type != DeviceType::kCpu;
}

CopyKind kind_of(const Platform& platform, DeviceId from, DeviceId to) {
  if (is_accelerator(platform, from)) {
    return is_accelerator(platform, to) ? CopyKind::kDeviceToDevice : CopyKind::kDeviceToHost;
  }
  return is_accelerator(platform, to) ? CopyKind::kHostToDevice : CopyKind::kHostToHost;
}

// When the last byte has left: on a way without fair links the latencies come after that
// (docs/reference/simulator.md).
TimeNs released_ns(const Platform& platform, const TransferEvent& event, TimeNs start_ns) {
  TimeNs latency_ns = 0;
  for (const Hop& hop : event.hops) {
    const LinkSpec& link = platform.links[hop.link.index()];
    if (link.sharing == LinkSharing::kFair) {
      return event.time_ns;
    }
    latency_ns += link.latency_ns;
  }
  return std::max(start_ns, event.time_ns - latency_ns);
}

// The first engine of a device that is free; a device has as many as it ever needed.
int take_engine(std::vector<TimeNs>& free_ns, const CopyRecord& copy) {
  size_t engine = 0;
  while (engine < free_ns.size() && free_ns[engine] > copy.start_ns) {
    ++engine;
  }
  if (engine == free_ns.size()) {
    free_ns.push_back(0);
  }
  free_ns[engine] = copy.released_ns;
  return static_cast<int>(engine);
}

}  // namespace

std::string_view copy_kind_name(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return "host to device";
    case CopyKind::kDeviceToHost:
      return "device to host";
    case CopyKind::kDeviceToDevice:
      return "device to device";
    case CopyKind::kHostToHost:
      return "host to host";
  }
  return "";
}

std::vector<CopyRecord> CopyLog::copies() const {
  std::vector<CopyRecord> sorted = copies_;
  std::ranges::stable_sort(sorted, {}, [](const CopyRecord& copy) {
    return std::pair(copy.start_ns, copy.requested_ns);
  });
  std::vector<std::vector<TimeNs>> engines(platform_.devices.size());
  for (CopyRecord& copy : sorted) {
    if (is_accelerator(platform_, copy.from)) {
      copy.from_engine = take_engine(engines[copy.from.index()], copy);
    }
    if (is_accelerator(platform_, copy.to)) {
      copy.to_engine = take_engine(engines[copy.to.index()], copy);
    }
  }
  return sorted;
}

void CopyLog::on_transfer_started(const TransferEvent& event) {
  started_[event.id] = event.time_ns;
  ForwardingListener::on_transfer_started(event);
}

void CopyLog::on_transfer_finished(const TransferEvent& event) {
  CopyRecord copy;
  copy.data = event.data;
  copy.request = event.request;
  copy.from = event.from;
  copy.to = event.to;
  copy.kind = kind_of(platform_, event.from, event.to);
  copy.purpose = event.purpose;
  copy.bytes = event.bytes;
  copy.requested_ns = event.requested_ns;
  copy.start_ns = event.requested_ns;
  if (const auto started = started_.find(event.id); started != started_.end()) {
    copy.start_ns = started->second;
    started_.erase(started);
  }
  copy.end_ns = event.time_ns;
  copy.released_ns = released_ns(platform_, event, copy.start_ns);
  copies_.push_back(copy);
  ForwardingListener::on_transfer_finished(event);
}

}  // namespace dfsim::inline study
