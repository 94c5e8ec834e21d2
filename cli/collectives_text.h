// Prints how long collectives take on a platform, for `dfsim hardware NAME`.
#pragma once

#include <string>

#include "hardware/platform.h"

namespace dfsim::cli {

// A table of the fits and what is cited for them, each source once.
std::string collectives_text(const Platform& platform);

}  // namespace dfsim::cli
