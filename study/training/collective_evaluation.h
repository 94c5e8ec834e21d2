// How far predicted collectives are from measured ones, and what hardware files should say instead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "hardware/collective_timing.h"
#include "hardware/platform.h"
#include "partition/collectives/protocol_fit.h"

namespace dfsim::inline study {

// Absolute errors of a group of rows.
struct CollectiveError {
  std::string operation;  // "all_reduce", "send_recv", or "all"
  int64_t devices = 0;    // 0 = all
  std::string priced;     // "fit", or "links" where the hardware file has none
  CollectiveMape mape;
};

struct CollectiveEvaluation {
  std::string hardware;
  std::string file;
  // By operation, then devices; the last one is all collectives, without send_recv.
  std::vector<CollectiveError> groups;
  size_t rows_across_nodes = 0;  // left out: the platform is one node
  std::vector<CollectiveTiming> fits;
  std::optional<CollectiveMape> held_out;  // of fits: each half of the rows by a fit to the other
};

// Tables as datasets/importers/collective_tables.h reads them, one or a folder's, against the first
// devices of the platform. With `fit` parameters are found for each operation and kind of link, and
// judged in place of the platform's. send_recv is one message over the links. Errors: kNotFound;
// kInvalidInput: no such columns, rows that cannot be read, more devices than there are, nothing
// within one node.
StatusOr<CollectiveEvaluation> evaluate_collectives(const std::string& path,
                                                    const Platform& platform, bool fit);

}  // namespace dfsim::inline study
