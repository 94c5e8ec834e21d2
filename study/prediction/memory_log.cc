#include "study/prediction/memory_log.h"

#include <algorithm>

namespace dfsim::inline study {
namespace {

// What one allocation is known by. A task's outputs are told apart by their data.
using Key = std::tuple<MemoryUse, DataId, TaskId, uint32_t>;

Key key_of(const MemoryEvent& event) { return {event.use, event.data, event.task, event.request}; }

}  // namespace

MemoryLog::MemoryLog(const Platform& platform, SimListener* next)
    : ForwardingListener(next), changes_(platform.devices.size()) {}

std::vector<DeviceMemoryLog> MemoryLog::devices() const {
  std::vector<DeviceMemoryLog> logs(changes_.size());
  for (size_t d = 0; d < changes_.size(); ++d) {
    DeviceMemoryLog& log = logs[d];
    size_t peak_at = 0;  // changes up to the peak
    for (size_t i = 0; i < changes_[d].size(); ++i) {
      const MemoryEvent& event = changes_[d][i].event;
      // Of one instant the highest and the last.
      const size_t points = log.timeline.size();
      const bool same = points > 0 && log.timeline.back().first == event.time_ns;
      const bool falling = points > 1 && log.timeline[points - 2].first == event.time_ns;
      if (same && (falling || event.in_use_bytes >= log.timeline.back().second)) {
        log.timeline.back().second = event.in_use_bytes;
      } else {
        log.timeline.emplace_back(event.time_ns, event.in_use_bytes);
      }
      if (event.in_use_bytes > log.peak_bytes) {
        log.peak_bytes = event.in_use_bytes;
        log.peak_ns = event.time_ns;
        peak_at = i + 1;
      }
    }
    std::map<Key, HeldMemory> held;
    for (size_t i = 0; i < peak_at; ++i) {
      const MemoryEvent& event = changes_[d][i].event;
      if (changes_[d][i].freed) {
        held.erase(key_of(event));
      } else {
        held[key_of(event)] = {event.use, event.data, event.task, event.bytes, event.time_ns};
      }
    }
    for (const auto& [key, memory] : held) {
      log.at_peak.push_back(memory);
    }
    std::stable_sort(log.at_peak.begin(), log.at_peak.end(),
                     [](const HeldMemory& a, const HeldMemory& b) { return a.bytes > b.bytes; });
  }
  return logs;
}

void MemoryLog::on_memory_allocated(const MemoryEvent& event) {
  if (event.device.valid()) {
    changes_[event.device.index()].push_back({event, false});
  }
  ForwardingListener::on_memory_allocated(event);
}

void MemoryLog::on_memory_freed(const MemoryEvent& event) {
  if (event.device.valid()) {
    changes_[event.device.index()].push_back({event, true});
  }
  ForwardingListener::on_memory_freed(event);
}

}  // namespace dfsim::inline study
