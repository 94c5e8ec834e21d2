// libFuzzer target of the ONNX importer and of all that reads its graphs before the simulator: no
// input may crash, hang or grow memory.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graphs/onnx/importer.h"
#include "tests/fuzz/model_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  dfsim::check_model(dfsim::import_onnx_bytes(bytes, {}));
  return 0;
}
