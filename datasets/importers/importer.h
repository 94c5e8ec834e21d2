// Importers: other tools' measurements into a Profile. One file per format, listed in
// importer_list.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// What the caller knows better than the files. "" and 0 leave it to the importer.
struct ProfileImportOptions {
  std::string device;
  std::string runtime;
  std::string runtime_version;
  std::string network;
  int32_t batch = 0;
};

class Importer {
 public:
  virtual ~Importer() = default;
  virtual std::string_view name() const = 0;
  // One line for --help and the documentation.
  virtual std::string_view description() const = 0;
  // Appends the rows of one file (or folder, where the format is one) to `profile`; rows that
  // cannot be used are counted in `drops`. Errors: kNotFound, kInvalidInput (not this format).
  virtual Status import(const std::string& path, const ProfileImportOptions& options,
                        Profile& profile, DropReport* drops) const = 0;
};

// All importers in the order of --help; they live as long as the program.
std::span<const std::unique_ptr<Importer>> importers();
// Error: kNotFound with the valid names and the nearest one.
StatusOr<const Importer*> find_importer(std::string_view name);

// Reads `paths` with the named importer; "dfsim" reads our own files. Error: an importer's own, or
// kInvalidInput when no usable row is left.
StatusOr<Profile> import_profiles(std::string_view format, std::span<const std::string> paths,
                                  const ProfileImportOptions& options, DropReport* drops);

}  // namespace dfsim::inline datasets
