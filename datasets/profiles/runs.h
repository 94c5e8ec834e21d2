// Runs: measured latencies of whole networks (`dfsim validate`).
//
// One row per network, batch size, dims, device and runtime. CSV, plain or gzip, with a header;
// columns and their meaning: docs/reference/validation.md. Written by datasets/collect/ort_cpu.
// Invariants of a NetworkRun: time_ns > 0, batch > 0, ops_ns, ops and arena_bytes are -1 when they
// are not known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/units.h"

namespace dfsim::inline datasets {

struct NetworkRun {
  std::string network;  // name of the ONNX file without ".onnx"
  int64_t batch = 1;
  std::vector<std::string> dims;  // "sequence=128"
  // The runtime saw the file's open dimensions; otherwise they were frozen before.
  bool open_shapes = false;
  DType dtype = DType::kFloat32;
  std::string device;  // as hardware files name their device's model
  std::string runtime;
  std::string runtime_version;
  TimeNs time_ns = 0;     // median wall time, profiler off
  TimeNs spread_ns = -1;  // standard deviation of the runs
  int64_t samples = 0;
  TimeNs ops_ns = -1;      // sum of operator times, profiler on
  int64_t ops = -1;        // operators executed, views not counted
  Bytes arena_bytes = -1;  // peak of activations in the runtime's arena
  std::string date;
  std::string provenance;
  int64_t line = 0;  // in the file, for messages
};

// Errors: kNotFound; kInvalidInput with file and line: an unknown, repeated or missing column, a
// cell that cannot be read, no row at all. Nothing is left out silently.
StatusOr<std::vector<NetworkRun>> read_runs(const std::string& path);

}  // namespace dfsim::inline datasets
