// Platform: the machine to predict for. Data only: devices, memories, links, host, runtime.
//
// Loaded from YAML by hardware/platform_loader.h, or built in code by tests. All rates are per
// second in base units (FLOP/s, byte/s), sizes in bytes, times in nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/units.h"
#include "hardware/collective_timing.h"

namespace dfsim::inline hardware {

enum class DeviceType : uint8_t { kCpu, kGpu, kNpu };

std::string_view device_type_name(DeviceType type);

// The arithmetic that a device does, with its rates. `tf32` is a mode of fp32 matrix units.
struct PeakRate {
  DType dtype = DType::kUnknown;
  double flops_per_s = 0;         // vector (or only) units; 2 per multiply-add
  double matrix_flops_per_s = 0;  // matrix units; 0 = none for this dtype
};

// Where a figure of a file comes from: `figure` is its key ("default" = every other one), `source`
// what is cited, in words.
struct Citation {
  std::string figure;
  std::string source;
};

struct DeviceSpec {
  std::string name;    // unique in the platform: "gpu0"
  std::string model;   // "NVIDIA A100-SXM4-80GB"
  std::string vendor;  // that makes it, "" = not known; runtimes may be for some vendors only
  DeviceType type = DeviceType::kGpu;
  std::vector<PeakRate> peaks;
  double tf32_flops_per_s = 0;  // 0 = no such mode
  bool allow_tf32 = false;      // fp32 matmul and conv use it
  double memory_bytes_per_s = 0;
  // The rates that measurements reach over a long run, below the data sheet's `peaks` and
  // `memory_bytes_per_s`; 0, or a dtype that is missing = not measured
  // (hardware/sustained_rates.h).
  std::vector<PeakRate> sustained;
  double sustained_memory_bytes_per_s = 0;
  double board_power_w = 0;  // power limit of the board; 0 = not known
  double clock_hz = 0;       // that the printed fp32 peak of a GPU implies; 0 = not known
  Bytes memory_bytes = 0;
  Bytes l2_bytes = 0;             // last-level cache
  double cache_bytes_per_s = 0;   // its roof, all units together; 0 = not known
  int compute_units = 0;          // SMs, CUs, AI cores or CPU cores
  TimeNs launch_overhead_ns = 0;  // least device time of any kernel
  int queues = 1;                 // streams that can run at once
  int copy_engines = 2;           // copies in or out at once; 0 = no limit; CPUs have none
  double overlap_slowdown = 1.0;  // compute stretched by this while a copy or collective overlaps
  std::string cost_model;         // name of the trained model, "" = speed-of-light bound
  std::vector<Citation> citations;

  // Peak for arithmetic on `dtype`. `matrix` takes the faster of the matrix and the vector units;
  // without it only vector units count. A dtype without units of the wanted kind uses those of its
  // wider stand-ins, then units of the other kind; 0 when there are none at all.
  double peak_flops_per_s(DType dtype, bool matrix) const;
};

// The clock of a GPU that its fp32 peak implies, 0 where peak or units are not known; for other
// devices the figure means nothing. O(dtypes).
double implied_clock_hz(const DeviceSpec& device);

// kFifo: one transfer at a time, in order. kFair: max-min shares. kNone: no contention, every
// transfer gets the full bandwidth (the classical model of scheduling research).
enum class LinkSharing : uint8_t { kFifo, kFair, kNone };

std::string_view link_sharing_name(LinkSharing sharing);

// A point-to-point medium between two nodes (devices, the host or switches). hardware/route.h
// defines which links a transfer takes.
struct LinkSpec {
  std::string name;
  std::string from;  // node names
  std::string to;
  double bytes_per_s = 0;  // per direction
  TimeNs latency_ns = 0;
  bool full_duplex = true;
  LinkSharing sharing = LinkSharing::kFair;
  std::string source;  // what is cited for its figures, in words
};

// How a runtime hands out device memory: exactly what tensors need, from a caching allocator that
// keeps freed blocks (PyTorch), or from one arena planned ahead (ONNX Runtime).
enum class AllocatorKind : uint8_t { kExact, kCaching, kArena };

std::string_view allocator_kind_name(AllocatorKind kind);

// The framework whose rules of precision a runtime follows.
enum class Framework : uint8_t { kNone, kPytorch, kOnnxRuntime, kTensorRt, kTensorFlow };

std::string_view framework_name(Framework framework);

// Host time of dispatching by kind of operator, and what modes of the framework add.
struct DispatchCosts {
  std::vector<std::pair<std::string, TimeNs>> by_class;  // op class; others: RuntimeSpec's
  TimeNs autograd_ns = 0;     // a training step's forward pass: per operator
  double backward_share = 1;  // of the forward dispatch: an operator of the backward pass
  TimeNs autocast_ns = 0;     // mixed precision: per operator
  TimeNs update_ns = -1;      // an update of weights; -1 = as other operators
};

// How a framework executes. Data, not a branch in the engine.
struct RuntimeSpec {
  std::string name = "none";
  std::string description;
  std::string source_file;
  Framework framework = Framework::kNone;
  std::optional<DeviceType> device;  // the only type of device that it runs on; nullopt: any
  std::vector<std::string> vendors;  // whose devices it runs on; empty: those of any
  bool trains = true;                // it executes training steps, too
  DispatchCosts dispatch;
  TimeNs gap_ns = 0;            // the device idles so long between two kernels
  TimeNs dispatch_ns = 0;       // host time to dispatch one op that runs on the device
  TimeNs view_dispatch_ns = 0;  // host time for an op that only makes a view
  TimeNs run_overhead_ns = 0;   // host time once per run
  bool asynchronous = true;     // the host runs ahead of the device
  int queue_depth = 1024;       // launches in flight at most
  int dispatch_threads = 1;
  int inter_op_workers = 1;
  int streams = 1;                   // device queues it uses; at most the device's own count
  std::vector<std::string> fusions;  // names of fusion rules, in order
  bool fold_constants = true;
  AllocatorKind allocator = AllocatorKind::kExact;
  Bytes allocation_bytes = 1;  // sizes are rounded up to a multiple of this
  std::vector<Citation> citations;
};

// Tasks that a device runs at once under a runtime: workers of a CPU's pool, or queues. At least 1.
int queues_in_use(const DeviceSpec& device, const RuntimeSpec& runtime);

// The host's memory: a node of its own ("host"), or that of a CPU device of the platform.
struct HostSpec {
  std::string node = "host";
  Bytes memory_bytes = 0;     // 0 = as much as needed
  double dispatch_speed = 1;  // of one thread, over the one that dispatch times are measured on
  std::string source;
};

struct Platform {
  std::string name;
  std::string description;
  std::string source_file;
  std::vector<std::string> aliases;
  std::vector<DeviceSpec> devices;
  std::vector<std::string> switches;
  std::vector<LinkSpec> links;
  // Measured times of calls of the communication library. Where several fit a group of devices and
  // an operation, the first counts; where none does, the links' figures.
  std::vector<CollectiveTiming> collectives;
  HostSpec host;
  RuntimeSpec runtime;

  const DeviceSpec& device(DeviceId id) const { return devices[id.index()]; }
};

}  // namespace dfsim::inline hardware
