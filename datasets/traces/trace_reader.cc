#include "datasets/traces/trace_reader.h"

namespace dfsim {

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> kFormats = {
      {"kineto", "PyTorch profiler (Kineto), CUDA, ROCm, MTIA and CPU"},
      {"onnxruntime", "ONNX Runtime profile (enable_profiling)"},
      {"tensorflow", "TensorFlow 1 timeline.py"},
      {"dfsim", "dfsim predict --trace"},
      {"chrome", "Trace Event Format of any other program"},
  };
  return kFormats;
}

StatusOr<Trace> read_trace(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(JsonStream stream, JsonStream::open(path));
  return read_chrome_trace(path, std::move(stream));
}

}  // namespace dfsim
