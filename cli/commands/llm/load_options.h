// The options of a load on a server, which dfsim llm serve and search share.
#pragma once

#include <cstdint>
#include <string>

#include "cli/option_table.h"
#include "serving/serve.h"

namespace dfsim::cli {

// --isl, --osl, --length-range, --sla, --seed.
struct LlmLoadOptions {
  int64_t isl = 1024;
  int64_t osl = 512;
  std::string range = "1,1";
  std::string sla;
  uint64_t seed = 1;
};
OptionTable llm_load_options(LlmLoadOptions& options);
// Errors: lengths and factors out of range.
Status set_lengths(const LlmLoadOptions& options, WorkloadOptions* workload);
// "ttft=500,tpot=30,e2e=10000", in ms; "" sets no limit. Errors: unknown names, no positive
// numbers.
StatusOr<ServiceLevel> parse_service_level(const std::string& text);

}  // namespace dfsim::cli
