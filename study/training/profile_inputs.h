// Profiles of measured operators, as train and evaluate take them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "datasets/profiles/profile.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline study {

struct ProfileInputs {
  std::vector<std::string> files;
  std::string format = "auto";
  std::vector<std::string> only_devices;
  std::vector<std::string> only_ops;
  std::string device;
};

struct LoadedProfiles {
  Profile profile;
  DropReport drops;
  std::vector<DataSource> sources;
  int64_t other_devices = 0;  // rows left out by --only-device and --only-op
};

// Errors: those of the importers; kNotFound when --only-device or --only-op names none of the
// profile's.
StatusOr<LoadedProfiles> load_profiles(const ProfileInputs& inputs);

}  // namespace dfsim::inline study
