#include "cli/profile_options.h"

#include <fmt/format.h>

#include "base/text.h"
#include "datasets/importers/importer.h"

namespace dfsim::cli {
namespace {

std::string importer_names() {
  std::vector<std::string> names;
  for (const auto& importer : importers()) {
    names.emplace_back(importer->name());
  }
  return join(names, ", ");
}

}  // namespace

void add_profile_options(CLI::App* command, ProfileInputs& inputs, bool positional) {
  command
      ->add_option(positional ? "profiles" : "--profiles", inputs.files,
                   "Profiles of measured operators: files or folders, as --format says; "
                   "FORMAT:FILE says it for one")
      ->required()
      ->option_text("FILE...");
  command
      ->add_option(
          "--format", inputs.format,
          fmt::format("Format of the profiles: auto (mindspore for folders and framework_raw "
                      "files, else dfsim), {}",
                      importer_names()))
      ->option_text("NAME")
      ->capture_default_str();
  command
      ->add_option("--only-device", inputs.only_devices,
                   "Use only the rows of this device, as the profile names it; may be repeated")
      ->option_text("NAME");
  command
      ->add_option("--only-op", inputs.only_ops,
                   "Use only the rows of this op type, as the profile names it; may be repeated")
      ->option_text("TYPE");
  command
      ->add_option("--device", inputs.device,
                   "The hardware file that all rows were measured on; default: the one whose "
                   "device model is the name in each row")
      ->option_text("FILE|NAME");
}

}  // namespace dfsim::cli
