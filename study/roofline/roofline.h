// The roofline of a model on a device: what rate each operator reaches, and what it could reach at
// its arithmetic intensity. trajectory.h follows these points over a sweep.
//
// For work F (FLOPs), bytes Q and time t: rate P = F / t, intensity I = F / Q, roof R = min(peak,
// I x bandwidth), after Williams, Waterman, Patterson 2009 (doi:10.1145/1498765.1498785). Peaks are
// those of the hardware file, per dtype, of the matrix units for operators that can use them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "hardware/memory_levels.h"
#include "hardware/platform.h"
#include "opmodel/workload.h"
#include "study/chain/unknown_work.h"

namespace dfsim::inline study {

// A compute roof that some operator of the model lies under.
struct ComputeRoof {
  DType dtype = DType::kUnknown;
  bool matrix = false;
  double flops_per_s = 0;
};

struct RoofPoint {
  std::string name;   // operator, class or model
  uint32_t task = 0;  // of the workload, for operators of models
  std::string op_type;
  OpClass op_class = OpClass::kOpaque;
  DType dtype = DType::kUnknown;
  bool matrix = false;
  int64_t ops = 1;
  bool counted = false;  // FLOPs or bytes are what performance counters measured
  double flops = 0;
  double bytes = 0;
  double time_s = 0;
  double low_s = 0;  // 80 % interval of one operator; 0 for sums
  double high_s = 0;
  double roof_flops_per_s = 0;  // at its intensity; for sums: FLOPs over the sum of least times
  double bound_s = 0;           // time at the roof: least time for its FLOPs and bytes
  double compute_s = 0;         // FLOPs at the peak
  double memory_s = 0;          // least_memory_seconds() of its bytes
  double launch_s = 0;          // least time of that many kernels
  double conversion_s = 0;      // of time_s: changes of element type or layout
  double share = 0;             // of the summed time
  Bound bound = Bound::kNone;
  CostSource source = CostSource::kBoundOnly;  // of the most time, for sums

  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
  double flops_per_s() const { return time_s > 0 ? flops / time_s : 0; }
  double bytes_per_s() const { return time_s > 0 ? bytes / time_s : 0; }
  // Whether the time tells how near the roof the operator runs: a bound-only time is the roof
  // itself, and a prior's is an assumed share of it.
  bool explains() const { return source != CostSource::kBoundOnly && source != CostSource::kPrior; }
  // Fraction of the least time; over 1 above the roof.
  double efficiency() const { return time_s > 0 ? bound_s / time_s : 0; }
};

// Why points lie above the roof, counted.
struct AboveRoof {
  int64_t ops = 0;
  int64_t in_cache = 0;  // all their bytes fit into the last-level cache
  double share = 0;      // of the summed time
};

// Where a peak is from, as the hardware file says.
enum class PeakOrigin : uint8_t { kMeasured, kDataSheet, kOther };
std::string_view peak_origin_name(PeakOrigin origin);
// By the words of a source.
PeakOrigin peak_origin_of(const std::string& source);

// Whether the hardware file cites a measurement for the device's arithmetic peaks.
bool has_measured_peaks(const DeviceSpec& device);

struct RooflineReport {
  UnknownWork unknown;          // of a model; its work, time and shares are those of the rest
  double bound_only_share = 0;  // of the summed time
  std::string model;
  std::string hardware;
  std::string device;
  std::string device_model;
  std::string cost_model;
  int64_t batch = 1;
  bool measured = false;           // times are those of a trace or of runs
  double without_work = 0;         // of a trace: share of the time of operators of unknown work
  std::vector<ComputeRoof> roofs;  // highest first
  PeakOrigin peaks = PeakOrigin::kOther;
  std::string peaks_source;  // in the hardware file's words
  double bytes_per_s = 0;    // of the memory
  PeakOrigin bandwidth = PeakOrigin::kOther;
  std::vector<MemoryLevel> caches;  // with a bandwidth of their own, nearest to the units first
  RoofPoint network;
  std::vector<RoofPoint> classes;  // most time first
  std::vector<RoofPoint> ops;      // most time first
  AboveRoof above;
  bool bare_roofs = false;  // of the hardware file's `roofs`: no kernel is faster
  std::string scaling;      // how times were extrapolated over threads; "" = they were not
  // What a sweep set here: {"precision", "int8"}, {"threads", "4"}. Empty without a sweep.
  std::vector<std::pair<std::string, std::string>> at;
  std::string pool;  // how operators ran at once; "" = one after another
};

// The roofs of a device: its rates, raised to `roofs` of its hardware file where that has them.
struct DeviceRoofs {
  DeviceSpec device;
  std::vector<MemoryLevel> caches;  // nearest to the units first
  // The file has roofs of the units and the memory: then caches bound times, too.
  bool of_all_levels = false;
  std::string source;  // of those roofs, in the file's words
};

// Least seconds for moving `bytes` once: by the memory's bandwidth alone, or with
// `of_all_levels` at the slowest level, where each level moves what the caches before it cannot
// hold.
double least_memory_seconds(const DeviceRoofs& roofs, double bytes);

struct RooflineInput {
  const std::string& model_name;
  int64_t batch = 1;
  const Graph& executed;
  const Workload& workload;
  const CostTable& costs;
  const Platform& platform;
  DeviceId device;
  std::string_view cost_model;
  const DeviceRoofs& roofs;  // of that device
};

// Error (kInvalidInput): an operator that the device cannot run.
StatusOr<RooflineReport> make_roofline(const RooflineInput& input);

// A point of that work and time under the device's roofs.
RoofPoint roof_point(const DeviceRoofs& roofs, const OpDescriptor& op, double time_s);
// Places the point again from its FLOPs, bytes, dtype and time.
void place_under_roofs(const DeviceRoofs& roofs, RoofPoint* point);
// Fills everything but names and times from `ops`: roofs, shares, classes, the network, what is
// above the roof; sorts `ops`.
void finish_roofline(const DeviceRoofs& roofs, RooflineReport* roofline);

}  // namespace dfsim::inline study
