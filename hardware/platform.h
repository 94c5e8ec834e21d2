// Platform: the machine to predict for. Data only: devices, memories, links, host, runtime.
//
// Loaded from YAML by hardware/platform_loader.h, or built in code by tests. All rates are per
// second in base units (FLOP/s, byte/s), sizes in bytes, times in nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/units.h"

namespace dfsim {

enum class DeviceType : uint8_t { kCpu, kGpu, kNpu };

std::string_view device_type_name(DeviceType type);

// What arithmetic a device does at what rate. `tf32` is a mode of fp32 matrix units.
struct PeakRate {
  DType dtype = DType::kUnknown;
  double flops_per_s = 0;         // vector (or only) units; 2 per multiply-add
  double matrix_flops_per_s = 0;  // matrix units; 0 = none for this dtype
};

struct DeviceSpec {
  std::string name;   // unique in the platform: "gpu0"
  std::string model;  // "A100-SXM4-80GB"
  DeviceType type = DeviceType::kGpu;
  std::vector<PeakRate> peaks;
  double tf32_flops_per_s = 0;  // 0 = no such mode
  bool allow_tf32 = false;      // fp32 matmul and conv use it
  double memory_bytes_per_s = 0;
  Bytes memory_bytes = 0;
  Bytes l2_bytes = 0;             // last-level cache
  int compute_units = 0;          // SMs, CUs, AI cores or CPU cores
  TimeNs launch_overhead_ns = 0;  // least device time of any kernel
  int queues = 1;                 // streams that can run at once
  int copy_engines = 2;
  double overlap_slowdown = 1.0;  // compute stretched by this while a copy or collective overlaps
  std::string cost_model;         // name of the trained model, "" = speed-of-light bound

  // Peak for arithmetic on `dtype`; `matrix` picks matrix units where the dtype has them. A dtype
  // that is not listed falls back to the nearest listed one that can hold it; 0 when none can.
  double peak_flops_per_s(DType dtype, bool matrix) const;
};

enum class LinkSharing : uint8_t { kFifo, kFair };

// A point-to-point or shared medium between two nodes (devices, the host or switches).
struct LinkSpec {
  std::string name;
  std::string from;  // node names
  std::string to;
  double bytes_per_s = 0;  // per direction
  TimeNs latency_ns = 0;
  bool full_duplex = true;
  LinkSharing sharing = LinkSharing::kFair;
};

// How a framework executes. Data, not a branch in the engine.
struct RuntimeSpec {
  std::string name = "none";
  std::string description;
  TimeNs dispatch_ns = 0;      // host time to dispatch one op
  TimeNs run_overhead_ns = 0;  // host time once per run
  bool asynchronous = true;    // the host runs ahead of the device
  int queue_depth = 1024;      // launches in flight at most
  int dispatch_threads = 1;
  int inter_op_workers = 1;
  std::vector<std::string> fusions;  // names of fusion rules, in order
  bool fold_constants = true;
};

struct HostSpec {
  std::string node = "host";  // the node the host's memory hangs on
  Bytes memory_bytes = 0;
};

struct Platform {
  std::string name;
  std::string description;
  std::string source_file;
  std::vector<std::string> aliases;
  std::vector<DeviceSpec> devices;
  std::vector<std::string> switches;
  std::vector<LinkSpec> links;
  HostSpec host;
  RuntimeSpec runtime;

  const DeviceSpec& device(DeviceId id) const { return devices[id.index()]; }
};

}  // namespace dfsim
