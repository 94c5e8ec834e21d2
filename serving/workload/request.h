// One request to a language-model server, as a client sends it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace dfsim::inline serving {

// Invariant: both token counts are at least 1. `prefix_hashes` names the prompt's content block by
// block (as the Mooncake traces do): equal leading hashes mean an equal beginning of the prompt,
// which a prefix cache reuses. Empty: the prompt shares nothing.
struct RequestSpec {
  int64_t id = 0;         // position in the workload, from 0
  TimeNs arrival_ns = 0;  // when the client sends it
  int64_t prompt_tokens = 1;
  int64_t output_tokens = 1;
  std::vector<uint64_t> prefix_hashes;
  int64_t tokens_per_hash = 0;  // > 0 when there are hashes
};

}  // namespace dfsim::inline serving
