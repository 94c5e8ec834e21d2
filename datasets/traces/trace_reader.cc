#include "datasets/traces/trace_reader.h"

#include <zlib.h>

namespace dfsim {
namespace {

constexpr size_t kHeadBytes = 4096;

// The first bytes, unpacked; "" for what cannot be read, which the reader then says.
std::string read_head(const std::string& path) {
  std::string head(kHeadBytes, '\0');
  gzFile_s* const file = gzopen(path.c_str(), "rb");
  const int count = file == nullptr ? 0 : gzread(file, head.data(), kHeadBytes);
  if (file != nullptr) {
    gzclose(file);
  }
  head.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return head;
}

}  // namespace

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> kFormats = {
      {"kineto", "PyTorch profiler (Kineto), CUDA, ROCm, MTIA and CPU"},
      {"onnxruntime", "ONNX Runtime profile (enable_profiling)"},
      {"tensorflow", "TensorFlow 1 timeline.py"},
      {"rocprofv3", "rocprofv3 --output-format json"},
      {"dfsim", "dfsim predict --trace"},
      {"chrome", "Trace Event Format of any other program"},
  };
  return kFormats;
}

StatusOr<Trace> read_trace(const std::string& path) {
  if (read_head(path).find("\"rocprofiler-sdk-tool\"") != std::string::npos) {
    return read_rocprof_trace(path);
  }
  DFSIM_ASSIGN_OR_RETURN(JsonStream stream, JsonStream::open(path));
  return read_chrome_trace(path, std::move(stream));
}

}  // namespace dfsim
