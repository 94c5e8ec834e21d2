#include "report/trace/kineto_json.h"
#include "base/json/json_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string kineto_quoted(const std::string& text) { return Json(text).compact_text(); }

// Categories of PyTorch's profiler.
std::string_view category_of(SpanKind kind) {
  constexpr std::array<std::string_view, kSpanKindCount> kNames = {
      "other",  "user_annotation", "python_function", "cpu_op",   "cuda_runtime",
      "kernel", "gpu_memcpy",      "gpu_memset",      "cuda_sync"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

std::string kineto_json(const Trace& trace) {
  std::string text = fmt::format("{{\"schemaVersion\":1,\"deviceProperties\":[{{\"name\":{}}}],",
                                 kineto_quoted(trace.device_name));
  text += "\"traceEvents\":[\n";
  for (size_t t = 0; t < trace.tracks.size(); ++t) {
    // Processes are told apart by their track's number: their names need not be numbers.
    text += fmt::format(
        R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}},)"
        "\n"
        R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}},)"
        "\n",
        t, kineto_quoted(trace.tracks[t].process), t, t, kineto_quoted(trace.tracks[t].name));
  }
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    std::string args;
    const auto add = [&args](std::string_view key, int64_t value) {
      if (value >= 0) {
        args += fmt::format("{}\"{}\":{}", args.empty() ? "" : ",", key, value);
      }
    };
    add("External id", span.external);
    add("correlation", span.correlation);
    add("bytes", span.bytes);
    if (is_device_work(span.kind)) {
      add("device", std::max<int64_t>(0, trace.track(span.track).device));
    }
    text +=
        fmt::format(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
                    R"("args":{{{}}}}}{})"
                    "\n",
                    category_of(span.kind), kineto_quoted(trace.text(span.name)),
                    span.track.index(), span.track.index(), span.start_us, span.duration_us(), args,
                    i + 1 < trace.spans.size() ? "," : "");
  }
  text += "]}\n";
  return text;
}

}  // namespace dfsim::inline report
