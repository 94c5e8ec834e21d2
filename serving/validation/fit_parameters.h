// The parameters of a framework's profile that may be fitted or set, by name.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "serving/serving_defaults.h"

namespace dfsim::inline serving {

// One number of a FrameworkProfile, by name: what may be fitted, and how far it may go.
struct FitParameter {
  std::string name;
  double ServingRuntime::*runtime = nullptr;  // exactly one of the three is set
  double FrontendModel::*frontend = nullptr;
  double FrameworkProfile::*profile = nullptr;
  double low = 0;
  double high = 1;
  double prior = 1;     // what is expected of it without measured deployments
  double spread = 0.1;  // how far it may reasonably be from that

  double& of(FrameworkProfile& of) const {
    return runtime != nullptr    ? of.runtime.*runtime
           : frontend != nullptr ? of.frontend.*frontend
                                 : of.*profile;
  }
  double of(const FrameworkProfile& of) const {
    return runtime != nullptr    ? of.runtime.*runtime
           : frontend != nullptr ? of.frontend.*frontend
                                 : of.*profile;
  }
};
const std::vector<FitParameter>& fit_parameters();

// Sets parameters by name: "step_us=300,comm_scale=1.1". Errors (kInvalidInput): an unknown name,
// with the nearest; a value out of the parameter's range.
Status set_parameters(const std::string& text, FrameworkProfile* profile);

}  // namespace dfsim::inline serving
