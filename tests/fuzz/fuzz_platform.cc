// libFuzzer target of the hardware loader: no input may crash, hang or grow memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hardware/platform_loader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const dfsim::StatusOr<dfsim::Platform> platform = dfsim::parse_platform(text, "fuzz.yaml");
  if (platform.ok()) {
    // An accepted platform has the values that its users rely on.
    for (const dfsim::DeviceSpec& device : platform->devices) {
      const bool sane = device.memory_bytes_per_s > 0 && device.memory_bytes > 0 &&
                        device.launch_overhead_ns >= 0 && device.compute_units > 0;
      if (!sane) {
        std::abort();
      }
    }
  } else if (platform.status().message().empty()) {
    std::abort();
  }
  (void)dfsim::parse_runtime(text, "fuzz.yaml");
  return 0;
}
