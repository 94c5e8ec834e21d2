// Prediction: everything `dfsim predict` says about one model on one machine, collected once.
//
// Text, JSON, CSV and the trace are all printed from this struct, so that they cannot disagree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "graphs/ir/import.h"
#include "graphs/passes/origins.h"
#include "hardware/platform.h"
#include "sim/repeat.h"
#include "sim/requests.h"
#include "sim/simulator.h"
#include "study/analysis/advice_list.h"
#include "study/chain/model_run.h"
#include "study/prediction/copy_log.h"
#include "study/prediction/dispatch_log.h"
#include "study/prediction/memory_log.h"
#include "study/prediction/verdict.h"

namespace dfsim::inline study {

struct PredictedOp {
  std::string name;
  std::string op_type;
  std::vector<OpOrigin> origins;  // the model's operators that it stands for; empty = itself
  OpClass op_class = OpClass::kOpaque;
  std::string device;
  uint32_t queue = 0;
  TimeNs start_ns = 0;
  TimeNs duration_ns = 0;
  int64_t macs = 0;   // of one run; of the whole step in training
  int64_t flops = 0;  // the same
  Bytes bytes = 0;
  DType dtype = DType::kUnknown;
  Bound bound = Bound::kNone;
  TimeNs bound_ns = 0;  // OpCost::bound_ns
  CostSource source = CostSource::kBoundOnly;
  bool known_work = true;  // false: only a launch is counted, see Prediction::unknown
  bool critical = false;   // on the critical path of Prediction
  WaitTimes wait_ns{};
  std::string shape;            // of the first output
  std::vector<uint32_t> reads;  // positions in Prediction::ops of the operators that it waits for
  DispatchRecord dispatch;      // the host's work on it; empty when nothing was noted
};

// A copy between the memories of two devices, or of the host and one.
struct PredictedCopy {
  std::string name;  // of the op or input whose result it is
  CopyKind kind = CopyKind::kDeviceToDevice;
  std::string from;
  std::string to;
  // The accelerator whose copy engine it holds, the one it goes to if both ends are one; and the
  // engine. "" and -1 between CPUs.
  std::string device;
  int engine = -1;
  Bytes bytes = 0;
  TimeNs start_ns = 0;
  TimeNs duration_ns = 0;
  TimeNs wait_ns = 0;  // for links and engines
};

// Memory of one device over the run, and the largest of what it held at the peak.
struct PredictedMemory {
  struct Held {
    std::string name;
    std::string_view use;  // tensor, copy, workspace or weights
    Bytes bytes = 0;
    TimeNs since_ns = 0;
  };
  std::string device;
  Bytes peak_bytes = 0;
  TimeNs peak_ns = 0;
  std::vector<std::pair<TimeNs, Bytes>> timeline;  // at most kMemoryPoints, peaks kept
  std::vector<Held> at_peak;                       // at most kHeldTensors
};
inline constexpr size_t kMemoryPoints = 500;
inline constexpr size_t kHeldTensors = 20;

// Where the time of an operator comes from; "unknown" where it has none.
std::string_view source_name(const PredictedOp& op);

// Time and count of one kind of op. Shares are of the summed device time.
struct Share {
  std::string name;
  size_t ops = 0;
  TimeNs time_ns = 0;
  double fraction = 0;
};

struct Prediction {
  // Where it is not complete, latency_ns is of the rest alone: a lower limit.
  UnknownWork unknown;
  // Share of the device time, without operators whose sizes are as large as data can make them.
  double bound_only_share = 0;
  // The hardware file says nothing about the host's speed (HostSpec::dispatch_speed).
  bool host_is_assumed = false;
  // Share of the latency: operators whose sizes only data tell, counted as large as they can be.
  double largest_share = 0;
  std::string model;
  std::string hardware;
  std::string hardware_description;
  std::string device_model;
  DeviceType device_type = DeviceType::kGpu;  // of that device
  std::string runtime;
  std::string cost_model;
  int64_t batch = 1;
  std::vector<BoundDim> dims;
  std::vector<std::string> open_dims;  // not known to the runtime when it optimises the graph
  TimeNs latency_ns = 0;
  LatencyInterval interval;     // of the latency, 80 %
  double throughput_per_s = 0;  // samples, not runs
  int64_t macs = 0;
  int64_t flops = 0;
  int64_t parameters = 0;
  Bytes weight_bytes = 0;
  Bytes input_bytes = 0;
  Bytes peak_activation_bytes = 0;
  Bytes peak_memory_bytes = 0;  // weights, inputs and activations at the worst moment
  Bytes memory_bytes = 0;       // what the device has; 0 = not known
  double achieved_flops_per_s = 0;
  double peak_flops_per_s = 0;  // of the dtype most FLOPs are done in
  DType main_dtype = DType::kUnknown;
  TimeNs device_busy_ns = 0;
  TimeNs host_busy_ns = 0;
  // The longest chain of operators that wait for each other's results, without transfers and host:
  // what no number of queues or equal devices can beat.
  TimeNs critical_path_ns = 0;
  size_t file_nodes = 0;
  size_t graph_ops = 0;
  size_t folded_ops = 0;            // computed once, before the first run, or dead
  int64_t fused_ops = 0;            // that many fewer after the runtime's passes, views included
  std::vector<std::string> passes;  // of the runtime that changed something
  size_t view_ops = 0;
  std::vector<Share> classes;  // by time, largest first
  std::vector<Share> bounds;
  std::vector<Share> sources;
  std::string precision;          // asked for and applied; "" = as the file has it
  std::string published_weights;  // format of a config.json's quantization_config, where it applies
  std::vector<Share> precisions;  // element types of arithmetic, by time
  std::vector<PredictedOp> ops;   // in order of start
  std::vector<PredictedCopy> copies;    // in order of start
  std::vector<PredictedMemory> memory;  // of devices that held anything
  // Of many requests and of repetitions, when they were asked for.
  std::optional<RequestOptions> request_options;
  RequestResult requests;
  std::optional<RepeatResult> repetition;
  std::vector<UnresolvedOpInfo> unresolved;
  std::vector<std::string> notes;
  AdviceList advice;         // on settings, when it was asked for
  Verdict verdict;           // what limits the run
  bool is_training = false;  // the latency is that of a training step

  // A setting that would make a model fit that does not, with its own prediction.
  struct Remedy {
    std::string kind;  // "batch", "precision", "recomputation", "partitioning" or "device"
    std::string action;
    TimeNs latency_ns = 0;
    double bound_only_share = 0;
    Bytes peak_memory_bytes = 0;
    Bytes memory_bytes = 0;
  };
  std::vector<Remedy> remedies;  // of a model that does not fit

  bool fits() const { return memory_bytes <= 0 || peak_memory_bytes <= memory_bytes; }
  // The latency is a lower limit rather than an estimate.
  bool is_limit() const { return !unknown.complete() || bound_only_share > kMuchBoundOnly; }
};

struct PredictionInput {
  const LoadedModel& model;
  const Platform& platform;
  std::string_view cost_model;  // its name
  const CostTable& costs;       // ModelRun::costs()
  const ExecGraph& tasks;       // ModelRun::tasks()
  const SimulatedModel& run;
  std::vector<CopyRecord> copies = {};          // of the run
  std::vector<DeviceMemoryLog> memory = {};     // of the run, by device
  std::vector<DispatchRecord> dispatches = {};  // of the run, by task
};

// Error: times that do not fit in 63 bits.
StatusOr<Prediction> make_prediction(const PredictionInput& input);

// The same without lists: no operators, copies, memory over time, shares and verdict. For thousands
// of predictions of which only the totals are wanted. O(tasks) without a string per task.
StatusOr<Prediction> make_totals(const PredictionInput& input);

// All of the verdict but `change`, from the rest of the prediction. O(copies).
Verdict make_verdict(const Prediction& prediction);

}  // namespace dfsim::inline study
