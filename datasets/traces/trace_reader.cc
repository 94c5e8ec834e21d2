#include "datasets/traces/trace_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "base/io/mapped_file.h"
#include "base/io/text_file.h"
#include "base/text.h"
#include "datasets/tables/numbers.h"
#include "datasets/traces/readers.h"

namespace dfsim::inline datasets {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeadBytes = 4096;
// Formats that are held as a whole while they are read.
constexpr int64_t kMaxWholeBytes = int64_t{4} << 30;

enum class Family { kChrome, kRocprof, kExecutionTrace, kChakraJson, kSqlite, kBinary, kText };

// What a file is by its first bytes; of kBinary the messages say more.
Family recognise(std::string_view head) {
  if (is_sqlite(head)) {
    return Family::kSqlite;
  }
  std::string_view text = head.starts_with("\xEF\xBB\xBF") ? head.substr(3) : head;
  text = trim(text);
  if (!text.starts_with('{') && !text.starts_with('[')) {
    // The first bytes of a message are no text.
    const bool binary = std::any_of(head.begin(), head.end(), [](char c) {
      return static_cast<unsigned char>(c) < ' ' && kBlanks.find(c) == std::string_view::npos;
    });
    return binary ? Family::kBinary : Family::kText;
  }
  const auto has = [text](std::string_view part) { return text.find(part) != text.npos; };
  if (has("\"rocprofiler-sdk-tool\"")) {
    return Family::kRocprof;
  }
  if (has("\"workload_graph\"")) {
    return Family::kChakraJson;
  }
  // A key of the top object: events of others may have such words too.
  if (has("\"nodes\"") && has("\"schema\"") && !has("\"traceEvents\"")) {
    return Family::kExecutionTrace;
  }
  return Family::kChrome;
}

std::string_view list_of(Family family) {
  return family == Family::kExecutionTrace ? "nodes"
         : family == Family::kChakraJson   ? "workload_graph"
                                           : JsonStream::kTraceEvents;
}

StatusOr<Trace> read_stream(const std::string& path, Family family, JsonStream stream) {
  switch (family) {
    case Family::kExecutionTrace:
      return read_execution_trace(path, std::move(stream));
    case Family::kChakraJson:
      return read_chakra_json(path, std::move(stream));
    default:
      return read_chrome_trace(path, std::move(stream));
  }
}

StatusOr<Trace> read_binary(const std::string& path, std::string_view content) {
  if (is_step_stats(content)) {
    return read_step_stats(path, content);
  }
  if (is_xplane(content)) {
    return read_xplane(path, content);
  }
  if (is_perfetto_trace(content)) {
    return read_perfetto_trace(path, content);
  }
  if (is_chakra_trace(content)) {
    return read_chakra_trace(path, content);
  }
  return invalid_input(
      fmt::format("{}: begins with '{}', which no trace format does that dfsim reads (see dfsim "
                  "analyze --help); is it an archive? Unpack it first",
                  path, printable(content.substr(0, 8))));
}

// The first bytes, unpacked; "" for what cannot be read, which the reader then says.
std::string read_head(const std::string& path, bool* packed) {
  std::string head(kHeadBytes, '\0');
  gzFile_s* const file = gzopen(path.c_str(), "rb");
  const int count = file == nullptr ? 0 : gzread(file, head.data(), kHeadBytes);
  *packed = file != nullptr && gzdirect(file) == 0;
  if (file != nullptr) {
    gzclose(file);
  }
  head.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return head;
}

StatusOr<Trace> read_folder(const std::string& path) {
  if (is_ctf_folder(path)) {
    return read_ctf_trace(path);
  }
  if (is_mindspore_profile(path)) {
    return read_mindspore_profile(path);
  }
  return invalid_input(
      fmt::format("{}: is a folder, expected a trace file, a CTF trace (a folder with a file "
                  "'metadata') or a MindSpore profile (one with framework_raw_N.csv)",
                  path));
}

}  // namespace

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> kFormats = {
      {"kineto", "PyTorch profiler (Kineto), CUDA, ROCm, MTIA and CPU"},
      {"pytorch-et", "PyTorch execution trace (ExecutionTraceObserver); has no times"},
      {"chakra", "Chakra execution trace, protobuf or JSON"},
      {"onnxruntime", "ONNX Runtime profile (enable_profiling)"},
      {"tensorflow", "TensorFlow 1 timeline.py"},
      {"stepstats", "TensorFlow RunMetadata or StepStats, protobuf"},
      {"xplane", "TensorFlow 2 and JAX profiler (*.xplane.pb)"},
      {"nsys", "Nsight Systems, nsys export --type sqlite"},
      {"rocprofv3", "rocprofv3 --output-format json"},
      {"ctf", "LTTng and other CTF traces (a folder)"},
      {"mindspore", "MindSpore profiler on Ascend (a folder)"},
      {"perfetto", "Perfetto track events; dfsim predict --trace x.pftrace"},
      {"dfsim", "dfsim predict --trace x.json"},
      {"chrome", "Trace Event Format of any other program"},
  };
  return kFormats;
}

StatusOr<Trace> read_trace(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return read_folder(path);
  }
  bool packed = false;
  const std::string head = read_head(path, &packed);
  const Family family = recognise(head);
  if (family == Family::kText && is_mindspore_profile(path)) {
    return read_mindspore_profile(path);
  }
  if (family == Family::kSqlite && !packed) {
    return read_nsys_file(path);
  }
  if (family == Family::kBinary && !packed) {
    DFSIM_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
    return read_binary(path, file.content());
  }
  if (family == Family::kRocprof || family == Family::kSqlite || family == Family::kBinary) {
    DFSIM_ASSIGN_OR_RETURN(std::string content, read_text_file(path, kMaxWholeBytes));
    return read_trace_content(path, std::move(content));
  }
  DFSIM_ASSIGN_OR_RETURN(JsonStream stream, JsonStream::open(path, list_of(family)));
  return read_stream(path, family, std::move(stream));
}

StatusOr<Trace> read_trace_content(const std::string& name, std::string content) {
  const Family family = recognise(std::string_view(content).substr(0, kHeadBytes));
  switch (family) {
    case Family::kRocprof:
      return read_rocprof_trace(name, std::move(content));
    case Family::kSqlite:
      return read_nsys_content(name, std::move(content));
    case Family::kBinary:
      return read_binary(name, content);
    default:
      return read_stream(name, family,
                         JsonStream::from_text(name, std::move(content), list_of(family)));
  }
}

void warn_of_repairs(const JsonStream& stream, Trace* trace) {
  const JsonStream::Repairs& repairs = stream.repairs();
  if (repairs.commas > 0) {
    trace->warn("commas too many", 0, repairs.commas);
  }
  if (repairs.strange_values > 0) {
    trace->warn("values between the events that are no events", 0, repairs.strange_values);
  }
  if (repairs.cut_off) {
    trace->warn_of_file("the file is cut off: " + repairs.cut_off_reason, trace->events);
  }
}

Status nothing_usable(const Trace& trace, std::string_view what) {
  std::string message =
      fmt::format("{}: {} {}, but no span that can be used", trace.path, trace.events, what);
  if (!trace.warnings.empty()) {
    const TraceWarning& first = trace.warnings.front();
    message += first.of_file ? fmt::format("; {}", first.text)
                             : fmt::format("; {} {}", first.count, first.text);
  }
  return invalid_input(message);
}

}  // namespace dfsim::inline datasets
