// One function per subcommand, each in the file of its name.
#pragma once

#include "cli/option_table.h"

namespace dfsim::cli {

CommandSpec analyze_command();
CommandSpec calibrate_command();
CommandSpec compare_command();
CommandSpec diff_command();
CommandSpec evaluate_command();
CommandSpec generate_command();
CommandSpec hardware_command();
CommandSpec help_command();
CommandSpec inspect_command();
CommandSpec ops_command();
CommandSpec partition_command();
CommandSpec predict_command();
CommandSpec profiles_command();
CommandSpec replay_command();
CommandSpec report_command();
CommandSpec roofline_command();
CommandSpec train_command();
CommandSpec tune_command();
CommandSpec validate_command();
CommandSpec version_command();

}  // namespace dfsim::cli
