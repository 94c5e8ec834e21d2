// Refuses command lines whose results would replace what the command reads.
#pragma once

#include "base/status.h"
#include "cli/option_table.h"

namespace dfsim::cli {

// Looks at the parsed values of a command's options. Error (kInvalidInput): an option names a file
// to write (writes_file()) that another one reads or writes, by whatever path. Touches no file.
Status check_outputs(const OptionTable& options);

}  // namespace dfsim::cli
