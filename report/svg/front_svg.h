// Drawing of a search over deployments.
#pragma once

#include <string>

#include "serving/search/deployment_search.h"

namespace dfsim::inline report {

// Tokens per second and user against tokens per second and GPU: a point per deployment and load,
// the Pareto front as a line with the name of each of its deployments where the deployment changes.
// Points outside the limits are hollow.
std::string front_svg(const DeploymentSearch& search, const std::string& title);

}  // namespace dfsim::inline report
