// One function per subcommand: CommandSpec predict_command(), in predict.cc.
#pragma once

#include "cli/option_table.h"

namespace dfsim::cli {

#define DFSIM_COMMAND(name) CommandSpec name##_command();
#include "cli/commands/commands.inc"
#undef DFSIM_COMMAND

}  // namespace dfsim::cli
