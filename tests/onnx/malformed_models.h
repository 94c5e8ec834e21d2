// Generates the files of tests/malformed/onnx: `test_onnx "[generate]"` writes them.
#pragma once

#include <map>
#include <string>

namespace dfsim {

// File name -> bytes; each file under 2 KB.
std::map<std::string, std::string> malformed_models();

}  // namespace dfsim
