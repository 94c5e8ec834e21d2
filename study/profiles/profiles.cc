// The use cases of `dfsim profiles`: each reads measurements with an importer and keeps count of
// the rows that it leaves out.
#include "study/profiles/profiles.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/text.h"
#include "datasets/profiles/profile_io.h"
#include "opmodel/train/profile_model.h"
#include "opmodel/train/row_bounds.h"
#include "study/chain/model_source.h"

namespace dfsim::inline study {
namespace {

std::vector<std::string> devices_of_rows(const Profile& profile) {
  std::set<std::string> devices;
  for (const ProfileRow& row : profile.rows()) {
    devices.insert(profile.text(row.device));
  }
  return {devices.begin(), devices.end()};
}

// Returns how many rows the model completed.
StatusOr<size_t> complete_from_model(const std::string& path, Profile* profile) {
  ModelOptions ran;
  ran.path = path;
  DFSIM_ASSIGN_OR_RETURN(const ImportedModel model, import_model(ran));
  const size_t completed = complete_from_graph(model.graph, profile);
  if (completed == 0) {
    return invalid_input(
        fmt::format("{}: none of its nodes has the name and type of an op of the profile; give the "
                    "model that ran, as the runtime wrote it (optimized_model_filepath)",
                    path));
  }
  return completed;
}

}  // namespace

StatusOr<ProfileImport> import_measurements(const ProfileSource& source) {
  ProfileImport result;
  DFSIM_ASSIGN_OR_RETURN(
      result.profile, import_profiles(source.format, source.files, source.origin, &result.drops));
  if (!source.optimized_model.empty()) {
    DFSIM_ASSIGN_OR_RETURN(result.completed,
                           complete_from_model(source.optimized_model, &result.profile));
  }
  result.devices = devices_of_rows(result.profile);
  return result;
}

ProfileCheck check_profile(const std::string& path, const std::string& device) {
  ProfileCheck check;
  check.path = path;
  auto profile = read_profile(path, &check.drops);
  if (!profile.ok()) {
    check.problem = profile.status().message();
    return check;
  }
  drop_impossible(*profile, row_bounds(""), path, &check.drops);
  check.rows = static_cast<int64_t>(profile->size());
  check.devices = devices_of_rows(*profile);
  if (!device.empty() && check.devices != std::vector<std::string>{device}) {
    check.problem = fmt::format("{}: rows of {}, expected only {}", path,
                                printable(join(check.devices, ", "), 200), device);
  } else if (check.drops.total() > 0) {
    check.problem = fmt::format("{}: {} rows cannot be used ({})", path, check.drops.total(),
                                check.drops.summary());
  }
  return check;
}

StatusOr<ProfileSummary> summarize_profiles(const ProfileSource& source) {
  ProfileSummary summary;
  DFSIM_ASSIGN_OR_RETURN(const Profile profile, import_profiles(source.format, source.files,
                                                                source.origin, &summary.drops));
  summary.stats = profile_stats(profile);
  return summary;
}

}  // namespace dfsim::inline study
