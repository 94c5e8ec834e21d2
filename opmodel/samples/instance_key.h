// Instances: ops of a network told apart by name and order, so that the same one is found again in
// a run with another batch size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dfsim::inline opmodel {

// A name without what the compiler numbers anew in each run: "-op123" at its end, and digits of its
// last component. "Default/layer1/Conv2D-op17" -> "Default/layer1/ConvD".
std::string lasting_name(std::string_view name);

// Identity of the `occurrence`th op of that name in a network, never 0.
uint64_t instance_key(std::string_view device_model, std::string_view network,
                      std::string_view name, int64_t occurrence);

}  // namespace dfsim::inline opmodel
