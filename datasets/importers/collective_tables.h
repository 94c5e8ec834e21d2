// Tables of measured collectives: those of aiconfigurator's NCCL runs and of Vidur's network
// profiles.
//
// aiconfigurator (Apache-2.0): op_name, nccl_dtype, num_gpus, message_size in elements, latency in
// ms. Vidur (MIT): collective, num_workers, devices_per_node, size in bytes, and
// time_stats.OPERATION.median in ms; ranks beyond devices_per_node are on other nodes. Both may be
// gzipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace dfsim::inline datasets {

struct MeasuredCollective {
  std::string operation;  // as hardware files name it, or "send_recv"
  int64_t devices = 0;    // at least 2
  bool one_node = true;
  Bytes bytes = 0;  // of the full buffer
  double time_ns = 0;
};

// The rows of one table, in its order. Errors: kNotFound; kInvalidInput: columns of neither table,
// cells that cannot be read, no rows.
StatusOr<std::vector<MeasuredCollective>> read_collective_table(const std::string& path);

// `path` itself, or the tables (.csv, .csv.gz) in this folder and below, by name. Errors:
// kNotFound, kInvalidInput (none there).
StatusOr<std::vector<std::string>> find_collective_tables(const std::string& path);

}  // namespace dfsim::inline datasets
