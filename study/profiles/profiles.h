// The use cases of measured operator times: convert other tools' files into a profile, check
// profiles, and summarise them. `dfsim profiles` prints the results.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "datasets/importers/importer.h"
#include "datasets/profiles/profile.h"
#include "datasets/profiles/profile_stats.h"

namespace dfsim::inline study {

// Files that import_profiles() reads, and what they do not say themselves.
struct ProfileSource {
  std::vector<std::string> files;
  std::string format = "dfsim";  // of importers()
  ProfileImportOptions origin;
  // The model as the runtime ran it; it completes the ops it names. "": none.
  std::string optimized_model;
};

struct ProfileImport {
  Profile profile;
  std::vector<std::string> devices;  // sorted
  size_t completed = 0;              // rows that the optimised model completed
  DropReport drops;
};

// Errors: those of import_profiles() and import_model(); a model that names no op of the profile.
StatusOr<ProfileImport> import_measurements(const ProfileSource& source);

struct ProfileCheck {
  std::string path;
  int64_t rows = 0;
  std::vector<std::string> devices;  // sorted
  DropReport drops;
  std::string problem;  // one line that says why the file fails; "": it does not
};

// Reads every row, and drops those that no device could have measured. With `device`, rows of
// others are a problem. O(rows).
ProfileCheck check_profile(const std::string& path, const std::string& device);

struct ProfileSummary {
  ProfileStats stats;
  DropReport drops;
};

// Errors: those of import_profiles().
StatusOr<ProfileSummary> summarize_profiles(const ProfileSource& source);

}  // namespace dfsim::inline study
