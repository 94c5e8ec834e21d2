// Validation: measured latencies of whole networks next to predicted ones (`dfsim validate`).
//
// The error of a run is taken apart: measured time = operators (with the profiler on) + host (the
// rest of the wall time). Operator time is compared by op type where the operators that ran are
// known: types that ran as often as predicted differ by the model of their times, the others by
// missing or wrong fusion. Shares are signed and of the measured time; they add up to the error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "study/chain/latency_interval.h"
#include "study/chain/unknown_work.h"

namespace dfsim::inline study {

// Operators of one type: how many, and their time together.
struct OpTypeTime {
  int64_t count = 0;
  TimeNs time_ns = 0;
};
using OpTypeTimes = std::map<std::string, OpTypeTime>;

struct ValidatedRun {
  std::string network;
  int64_t batch = 1;
  std::string dims;          // "sequence=128", without the batch
  bool open_shapes = false;  // the runtime saw the file's open dimensions
  std::string device;
  TimeNs measured_ns = 0;
  TimeNs spread_ns = -1;
  TimeNs measured_ops_ns = -1;  // -1 = not known, as below
  int64_t measured_ops = -1;
  Bytes measured_bytes = -1;   // peak of activations
  OpTypeTimes measured_types;  // empty = not known
  UnknownWork unknown;         // where it is not complete, the prediction is a lower limit
  TimeNs predicted_ns = 0;
  LatencyInterval interval;
  double interval_scale = 1;  // CostTable::interval_scale() that it has
  TimeNs predicted_ops_ns = 0;
  int64_t predicted_ops = 0;
  Bytes predicted_bytes = 0;
  OpTypeTimes predicted_types;

  double error() const;         // predicted / measured - 1
  double memory_error() const;  // 0 when not measured
  bool inside() const;          // the interval holds the measured time
  bool complete() const { return unknown.complete(); }
};

// Where an error comes from, each as a share of the measured time.
struct ErrorShares {
  bool known = false;        // operator times were measured
  bool types_known = false;  // and their types: without, all of it is in op_model
  double op_model = 0;
  double fusion = 0;
  double host = 0;
};
ErrorShares error_shares(const ValidatedRun& run);

// Statistics of absolute errors, as fractions; all 0 for no runs. Runs whose prediction is of a
// part of the network have no error: they are counted as `incomplete` and nowhere else.
struct ValidationSummary {
  size_t incomplete = 0;
  size_t runs = 0;
  size_t networks = 0;
  double mean = 0;
  double median = 0;
  double worst = 0;
  std::string worst_run;
  double bias = 0;    // sum of predictions / sum of times - 1
  double inside = 0;  // share of runs in their interval
  size_t memory_runs = 0;
  double memory_mean = 0;
};
ValidationSummary summarize(const std::vector<ValidatedRun>& runs);

// The width of intervals on a device, as measured runs suggest (interval_fit.h).
struct IntervalFit {
  std::string device;
  size_t runs = 0;
  size_t networks = 0;
  double scale = 1;  // for CostModel::interval_scale()
  // Share of the runs that are inside when the scale comes from the runs of all other networks.
  double inside = 0;
};

}  // namespace dfsim::inline study
