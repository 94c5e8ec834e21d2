// libFuzzer target of the TensorFlow importer, GraphDef in text form: no input may crash, hang or
// grow memory.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graphs/tensorflow/importer.h"
#include "tests/fuzz/model_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  dfsim::check_model(
      dfsim::import_tensorflow_bytes(bytes, dfsim::TensorFlowFormat::kGraphDefText, {}));
  return 0;
}
