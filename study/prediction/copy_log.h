// CopyLog: the copies of a run, as operators: which data, from where to where, on which copy
// engine, when, how long they waited and took.
//
// The simulator makes a copy for each data item and device that needs it; how many there are, and
// when, depends on the placement, so they are not tasks of the graph but come out of the run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/ir/exec_graph.h"
#include "hardware/platform.h"
#include "sim/forwarding_listener.h"

namespace dfsim::inline study {

enum class CopyKind : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice, kHostToHost };
std::string_view copy_kind_name(CopyKind kind);  // "host to device"

// The host's side are its memory and CPU devices, the device's are accelerators.
struct CopyRecord {
  DataId data;
  uint32_t request = 0;
  DeviceId from;  // none = the host's memory
  DeviceId to;
  CopyKind kind = CopyKind::kDeviceToDevice;
  TransferPurpose purpose = TransferPurpose::kInput;
  Bytes bytes = 0;
  TimeNs requested_ns = 0;
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  TimeNs released_ns = 0;  // the engines are free again
  // Copy engine at each end, numbered from 0; -1 where the end has none. On an accelerator without
  // a limit: the smallest number that is not in use.
  int from_engine = -1;
  int to_engine = -1;
};

class CopyLog final : public ForwardingListener {
 public:
  // Passes everything on to `next`, when there is one. References outlive the log.
  explicit CopyLog(const Platform& platform, SimListener* next = nullptr)
      : ForwardingListener(next), platform_(platform) {}

  // After the run: in order of start, then of request. O(n log n).
  std::vector<CopyRecord> copies() const;

  void on_transfer_started(const TransferEvent& event) override;
  void on_transfer_finished(const TransferEvent& event) override;

 private:
  const Platform& platform_;
  std::map<uint64_t, TimeNs> started_;
  std::vector<CopyRecord> copies_;
};

}  // namespace dfsim::inline study
