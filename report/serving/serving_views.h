// Text, JSON and CSV of simulated servers, searches over deployments, and comparisons with measured
// ones. Times are in milliseconds; an estimate is a value with its 80 % interval.
#pragma once

#include <optional>
#include <string>

#include "base/json/json_tree.h"
#include "serving/search/deployment_search.h"
#include "serving/serve.h"
#include "serving/step_timeline.h"
#include "serving/validation/fit_serving.h"
#include "serving/validation/validate_serving.h"

namespace dfsim::inline report {

// "12.3 (10.1 to 15)".
std::string estimate_text(const Estimate& estimate);
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

}  // namespace dfsim::inline report
