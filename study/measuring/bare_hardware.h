// A hardware file of this machine from its roofs alone, without ONNX Runtime.
#pragma once

#include <string>
#include <string_view>

#include "study/measuring/roofs.h"

namespace dfsim::inline study {

// The text of the file: this processor with `roofs.threads` cores at its typical rates, as nothing
// says that its neighbours will rest while a model runs. `dfsim_version` names the tool.
std::string bare_hardware(const HostRoofs& roofs, std::string_view cost_model,
                          std::string_view dfsim_version);

}  // namespace dfsim::inline study
