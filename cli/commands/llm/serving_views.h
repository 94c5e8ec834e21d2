// Output of dfsim llm serve, search and validate, and the options that they share.
#pragma once

#include <optional>
#include <string>

#include "base/json/json_tree.h"
#include "cli/option_table.h"
#include "serving/search/deployment_search.h"
#include "serving/serve.h"
#include "serving/step_timeline.h"
#include "serving/validation/fit_serving.h"
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

// "12.3 (10.1 to 15)".
std::string estimate_text(const Estimate& estimate);
std::string percent_text(double share);  // "12.3 %"
JsonTree estimate_json(const Estimate& estimate);

// A simulated server and what it was.
struct ServeView {
  ServeResult result;
  std::string model;
  std::string system;
  std::string framework;
  std::string layout;                // "2 x (tp 4)"
  std::string workload;              // "64 users, 1024 to 1024 prompt and 512 to 512 output tokens"
  std::optional<StepTimeline> step;  // a typical decode step; with --html
};
std::string serve_text(const ServeView& view);
std::string serve_json(const ServeView& view);
std::string serve_series_csv(const ServeResult& result);

std::string search_text(const DeploymentSearch& search, size_t top);
std::string search_json(const DeploymentSearch& search);
std::string search_csv(const DeploymentSearch& search);

std::string serving_validation_text(const ServingValidation& validation);
std::string serving_validation_json(const ServingValidation& validation);
std::string serving_fit_text(const ServingFitReport& report);
std::string serving_fit_json(const ServingFitReport& report);

}  // namespace dfsim::cli
