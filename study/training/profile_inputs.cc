// Loads the profiles of a command: finds each file's format, imports it, and keeps the rows that
// options ask for. A digest of every file goes into the model's manifest.
#include "study/training/profile_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/hash.h"
#include "base/io/file.h"
#include "base/text.h"
#include "datasets/importers/importer.h"
#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim::inline study {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxProfileBytes = int64_t{4} << 30;

// Digest of a file, or of all files of a folder with their names.
StatusOr<std::string> digest(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    DFSIM_ASSIGN_OR_RETURN(const std::string bytes, read_file(path, kMaxProfileBytes));
    return fmt::format("{:016x}", checksum64(bytes));
  }
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) {
      files.insert(entry.path().string());
    }
  }
  Hasher hasher;
  for (const std::string& file : files) {
    DFSIM_ASSIGN_OR_RETURN(const std::string bytes, read_file(file, kMaxProfileBytes));
    hasher.add(fs::path(file).filename().string()).add(checksum64(bytes));
  }
  return fmt::format("{:016x}", hasher.digest());
}

// Keeps the rows of which `text_of` (device, op type) is among `wanted`; all when that is empty.
Status keep_only(std::string_view kind, const std::vector<std::string>& wanted,
                 TextId ProfileRow::*text_of, LoadedProfiles* loaded) {
  if (wanted.empty()) {
    return ok_status();
  }
  Profile& profile = loaded->profile;
  std::set<std::string> present;
  std::vector<bool> keep(profile.size());
  for (size_t i = 0; i < profile.size(); ++i) {
    const std::string& text = profile.text(profile.row(i).*text_of);
    present.insert(text);
    keep[i] = std::find(wanted.begin(), wanted.end(), text) != wanted.end();
    loaded->other_devices += keep[i] ? 0 : 1;
  }
  for (const std::string& name : wanted) {
    if (!present.contains(name)) {
      return not_found(
          unknown_name_message(kind, printable(name), {present.begin(), present.end()}));
    }
  }
  profile.filter(keep);
  return ok_status();
}

// The meaning of "auto".
std::string guessed_format(const std::string& path) {
  std::error_code error;
  const bool mindspore = fs::is_directory(path, error) ||
                         fs::path(path).filename().string().starts_with("framework_raw_");
  return mindspore ? "mindspore" : "dfsim";
}

// "neusight:data.csv.gz" names its own format; a file of exactly that name wins.
std::pair<std::string, std::string> format_and_path(const ProfileInputs& inputs,
                                                    const std::string& file) {
  std::error_code error;
  const size_t colon = file.find(':');
  if (colon != std::string::npos && !fs::exists(file, error) &&
      find_importer(file.substr(0, colon)).ok()) {
    return {file.substr(0, colon), file.substr(colon + 1)};
  }
  return {inputs.format == "auto" ? guessed_format(file) : inputs.format, file};
}

}  // namespace

StatusOr<LoadedProfiles> load_profiles(const ProfileInputs& inputs) {
  LoadedProfiles loaded;
  ProfileImportOptions options;
  for (const std::string& file : inputs.files) {
    const auto [format, path] = format_and_path(inputs, file);
    const std::string one[] = {path};
    DFSIM_ASSIGN_OR_RETURN(const Profile profile,
                           import_profiles(format, one, options, &loaded.drops));
    DataSource source;
    source.file = fs::path(path).lexically_normal().filename().string();
    DFSIM_ASSIGN_OR_RETURN(source.checksum, digest(path));
    source.rows = static_cast<int64_t>(profile.size());
    loaded.sources.push_back(std::move(source));
    loaded.profile.append(profile);
  }
  DFSIM_RETURN_IF_ERROR(keep_only("device", inputs.only_devices, &ProfileRow::device, &loaded));
  DFSIM_RETURN_IF_ERROR(keep_only("op type", inputs.only_ops, &ProfileRow::op_type, &loaded));
  return loaded;
}

}  // namespace dfsim::inline study
