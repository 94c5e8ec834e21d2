// All importers, and reading files with one that is chosen by name (importer.h).
#include "datasets/importers/importer_list.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/text.h"
#include "datasets/profiles/profile_io.h"

namespace dfsim::inline datasets {
namespace {

class DfsimImporter : public Importer {
 public:
  std::string_view name() const override { return "dfsim"; }
  std::string_view description() const override { return "dfsim's own profiles (CSV, JSON Lines)"; }
  Status import(const std::string& path, const ProfileImportOptions& /*options*/, Profile& profile,
                DropReport* drops) const override {
    DFSIM_ASSIGN_OR_RETURN(const Profile own, read_profile(path, drops));
    profile.append(own);
    return ok_status();
  }
};

}  // namespace

std::unique_ptr<Importer> make_dfsim_importer() { return std::make_unique<DfsimImporter>(); }

std::span<const std::unique_ptr<Importer>> importers() {
  static const std::array kImporters = {
#define DFSIM_IMPORTER(name) make_##name##_importer(),
#include "datasets/importers/importers.inc"
#undef DFSIM_IMPORTER
  };
  return kImporters;
}

StatusOr<const Importer*> find_importer(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& importer : importers()) {
    if (importer->name() == name) {
      return importer.get();
    }
    names.emplace_back(importer->name());
  }
  return not_found(unknown_name_message("profile format", name, names));
}

StatusOr<Profile> import_profiles(std::string_view format, std::span<const std::string> paths,
                                  const ProfileImportOptions& options, DropReport* drops) {
  DFSIM_ASSIGN_OR_RETURN(const Importer* const importer, find_importer(format));
  Profile profile;
  for (const std::string& path : paths) {
    const size_t before = profile.size();
    DropReport own;
    DFSIM_RETURN_IF_ERROR(importer->import(path, options, profile, &own));
    if (profile.size() == before) {
      const std::string why = own.entries().empty()
                                  ? "no row at all"
                                  : fmt::format("left out: {}; first: row {}: {}", own.summary(),
                                                own.entries()[0].row, own.entries()[0].message);
      return invalid_input(
          fmt::format("{}: no usable row of format {}: {}", path, importer->name(), why));
    }
    drops->merge(own);
  }
  return profile;
}

}  // namespace dfsim::inline datasets
