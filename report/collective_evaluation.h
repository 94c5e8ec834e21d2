// How far predicted collectives are from measured ones.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "hardware/platform.h"

namespace dfsim {

// Absolute errors of a group of rows.
struct CollectiveError {
  std::string operation;  // "all_reduce", or "all"
  int64_t devices = 0;    // 0 = all
  size_t small_rows = 0;  // up to 64 KiB
  double small_mape = 0;
  size_t large_rows = 0;
  double large_mape = 0;
};

struct CollectiveEvaluation {
  std::string hardware;
  std::string file;
  std::vector<CollectiveError> groups;  // by operation, then devices; the last one is all
};

// A table of aiconfigurator's NCCL runs (CSV, also .gz: op_name, nccl_dtype, num_gpus,
// message_size in elements, latency in ms) against the first devices of the platform. Errors:
// kNotFound; kInvalidInput: no such columns, rows that cannot be read, more devices than there are.
StatusOr<CollectiveEvaluation> evaluate_collectives(const std::string& path,
                                                    const Platform& platform);

std::string collective_evaluation_text(const CollectiveEvaluation& evaluation);
std::string collective_evaluation_json(const CollectiveEvaluation& evaluation);

}  // namespace dfsim
