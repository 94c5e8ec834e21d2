#include "cli/commands.h"

#include <array>

namespace dfsim::cli {

void register_commands(Registrar& registrar) {
  // The order of `dfsim --help`.
  constexpr std::array kCommands = {
      register_analyze,  register_calibrate, register_compare,  register_diff,
      register_evaluate, register_generate,  register_hardware, register_inspect,
      register_ops,      register_partition, register_predict,  register_profiles,
      register_replay,   register_report,    register_roofline, register_train,
      register_tune,     register_validate,  register_version,
  };
  for (const auto& register_command : kCommands) {
    register_command(registrar);
  }
}

}  // namespace dfsim::cli
