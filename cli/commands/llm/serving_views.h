// Output of dfsim llm serve, search and validate, and the options that they share.
#pragma once

#include <string>

#include "cli/option_table.h"
#include "serving/search/deployment_search.h"
#include "serving/serve.h"
#include "serving/validation/validate_serving.h"

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

std::string serve_text(const ServeResult& result);
std::string serve_json(const ServeResult& result);
std::string serve_series_csv(const ServeResult& result);
std::string search_text(const DeploymentSearch& search, size_t top);
std::string search_json(const DeploymentSearch& search);
std::string search_csv(const DeploymentSearch& search);
std::string serving_validation_text(const ServingValidation& validation);
std::string serving_validation_json(const ServingValidation& validation);

}  // namespace dfsim::cli
