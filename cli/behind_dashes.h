// The words behind a "--", for commands that take another program's command line.
#pragma once

#include "cli/option_table.h"

namespace dfsim::cli {

// The command whose words follow a "--" (CommandSpec::behind_dashes), which gets them; nullptr when
// there are no dashes or the command takes no such words. `argc` becomes the number of words in
// front of the dashes.
const CommandSpec* take_behind_dashes(const CommandSpec& root, int& argc, const char* const* argv);

}  // namespace dfsim::cli
