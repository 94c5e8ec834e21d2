// The roofs of this machine: the highest rates of arithmetic per dtype and of each memory level
// that any code reaches, measured in seconds without other programs.
#pragma once

#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/units.h"
#include "study/progress.h"

namespace dfsim::inline study {

struct RoofOptions {
  int threads = 1;
  double seconds = 0.3;  // of each kernel on each level
};

struct MeasuredPeak {
  DType dtype = DType::kUnknown;
  double flops_per_s = 0;
  double typical_flops_per_s = 0;  // of the same kernel, in half of the runs
  std::string kernel;              // that reached it
};

struct MeasuredBandwidth {
  std::string level;  // "L1", "L2", ..., "memory"
  double bytes_per_s = 0;
  double typical_bytes_per_s = 0;  // of the same kernel, in half of the runs
  Bytes bytes = 0;  // of all caches of that level that the threads have; 0 for the memory
  std::string kernel;
};

struct HostRoofs {
  int threads = 1;
  std::vector<MeasuredPeak> peaks;            // fp64 first
  std::vector<MeasuredBandwidth> bandwidths;  // nearest to the units first, the memory last
  MeasuredPeak product;                       // of fp32 matrices; no rate = no kernel for it here
  std::vector<DType> without_kernel;          // matrix units of this processor have no kernel here
};

// Each kernel runs on all threads at once, each on a core of its own, again and again for the time;
// the best run counts, as with ERT and likwid-bench, so that other work on the machine does not
// lower a roof. The median of the runs is the typical rate: on a virtual machine whose neighbours
// use the other halves of its cores, it may be half of the best. Streams work on half of a cache,
// or on four times the last one. Errors: kFailed on processors without kernels, in builds without
// optimisation, and without memory for the vectors; kInvalidInput for more threads than cores that
// the process may use; Progress's.
StatusOr<HostRoofs> measure_roofs(const RoofOptions& options, const Progress& progress = {});

// {"schema": "dfsim.roofs/1", "threads": {"1": {...}}}, which datasets/collect/ort_cpu reads.
std::string roofs_json(const std::vector<HostRoofs>& roofs);

}  // namespace dfsim::inline study
