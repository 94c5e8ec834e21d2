#include <fmt/format.h>

#include "cli/commands/commands.h"

namespace dfsim::cli {

CommandSpec version_command() {
  return {.name = "version",
          .summary = "Print the version and exit",
          .examples = {{"dfsim version", "the same as dfsim --version"}},
          .run = [](const GlobalOptions&) {
            fmt::print("dfsim {}\n", DFSIM_VERSION);
            return ok_status();
          }};
}

}  // namespace dfsim::cli
