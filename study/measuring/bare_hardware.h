// A hardware file of this machine from its roofs alone, without ONNX Runtime.
#pragma once

#include <string>
#include <string_view>

#include "study/measuring/cpu_identity.h"
#include "study/measuring/roofs.h"

namespace dfsim::inline study {

// The text of the file of a platform `name`: this processor with `roofs.threads` cores at its
// typical rates, as nothing says that its neighbours will rest while a model runs. It names the
// model of the measured CPU nearest to `cpu`. `dfsim_version` names the tool.
std::string bare_hardware(std::string_view name, const HostRoofs& roofs, const CpuIdentity& cpu,
                          std::string_view dfsim_version);

}  // namespace dfsim::inline study
