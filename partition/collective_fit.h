// Collectives as measured: launch, steps and rates of a library (NCCL) on one node, fitted.
//
// A library has several protocols: one for little latency at a fraction of the links' rate, one for
// the full rate that takes longer to start. A call takes
//   launch + min over protocols (start + steps * step + volume / rate)
// steps: p - 1 (all-gather, reduce-scatter), 2 (p - 1) (all-reduce), a fraction of p - 1
// (all-to-all, whose messages go at once); volume: (p - 1) / p n, twice that for all-reduce. The
// parameters of a device are fitted to public measurements; `dfsim evaluate --collectives` says how
// far they are.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "hardware/platform.h"

namespace dfsim {

enum class CollectiveKind : uint8_t;

struct CollectiveProtocol {
  double start_ns = 0;
  double step_ns = 0;
  double bytes_per_s = 0;
};

struct CollectiveFit {
  std::string_view device_model;  // DeviceSpec::model
  std::string_view source;
  double launch_ns = 0;
  double all_to_all_steps = 1;  // of p - 1
  std::vector<CollectiveProtocol> protocols;
};

// The fit for nodes of these devices, or nullptr.
const CollectiveFit* find_collective_fit(const DeviceSpec& device);

// Nanoseconds for `ranks` devices of one node; 0 for a single one. A broadcast is priced as an
// all-gather, which moves as much.
double fitted_collective_ns(const CollectiveFit& fit, CollectiveKind kind, Bytes bytes,
                            int64_t ranks);

}  // namespace dfsim
