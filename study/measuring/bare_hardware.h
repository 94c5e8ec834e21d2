// A hardware file of this machine from its roofs alone, without ONNX Runtime.
#pragma once

#include <string>
#include <string_view>

#include "study/measuring/roofs.h"

namespace dfsim::inline study {

// The model that such a file names: the measured CPU with the most measurements, whose times dfsim
// extrapolates to others (opmodel/model/laws/other_cpus.h).
inline constexpr std::string_view kNearestCpuModel = "epyc-genoa";

// The text of the file: this processor with `roofs.threads` cores at its typical rates, as nothing
// says that its neighbours will rest while a model runs. `dfsim_version` names the tool.
std::string bare_hardware(const HostRoofs& roofs, std::string_view dfsim_version);

}  // namespace dfsim::inline study
