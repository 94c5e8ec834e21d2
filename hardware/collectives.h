// `collectives:` of a hardware file: what a communication library's calls take, fitted.
//
// They are no part of Platform: only partitioning asks for them, by collectives_of().
#pragma once

#include <string>
#include <vector>

#include "hardware/platform.h"
#include "hardware/sources.h"
#include "hardware/yaml/yaml_fields.h"

namespace dfsim::inline hardware {

// One of a library's ways to move data: with little latency at a fraction of the links' rate, or at
// the full rate after a longer start.
struct CollectiveProtocol {
  double start_ns = 0;
  double step_ns = 0;
  double bytes_per_s = 0;
};

// What collectives take among devices whose slowest route runs over links of these names; a call
// takes the least of its protocols (partition/collectives/measured_collectives.h).
struct CollectiveFit {
  std::string over;       // pattern of link names: "nvlink*"
  std::string operation;  // one of collective_operations(); "" = any
  std::vector<CollectiveProtocol> protocols;
  std::string source;  // what is cited, in words
};

// all_reduce, reduce_scatter, all_gather, all_to_all, broadcast.
std::vector<std::string> collective_operations();

// Reads the key from a hardware file whose links are in `platform`. Errors go into `fields`:
// unknown operations, names of no link, no protocol, figures out of range.
std::vector<CollectiveFit> read_collectives(YamlFields& fields, const SourceTable& sources,
                                            const Platform& platform);

// What the file that the platform was loaded from says, the first that fits first; none for
// platforms made in code. Each file is read once per process, so that the reference stays valid;
// its errors were the loader's. Thread-safe.
const std::vector<CollectiveFit>& collectives_of(const Platform& platform);

}  // namespace dfsim::inline hardware
