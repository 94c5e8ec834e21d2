#include <fmt/format.h>

#include "cli/commands.h"

namespace dfsim::cli {

void register_version(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand("version", "Print the version and exit");
  registrar.on_run(command, [] {
    fmt::print("dfsim {}\n", DFSIM_VERSION);
    return ok_status();
  });
}

}  // namespace dfsim::cli
