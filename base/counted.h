// A count with its noun.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dfsim::inline base {

// "1 operator", "2 operators"; `plural` where an "s" is not enough: counted(2, "copy", "copies").
std::string counted(uint64_t count, std::string_view noun, std::string_view plural = {});

}  // namespace dfsim::inline base
