// Builds a trace of PyTorch's profiler event by event.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "datasets/traces/trace_reader.h"

namespace dfsim {

class KinetoEvents {
 public:
  KinetoEvents& add(std::string_view category, std::string_view name, int pid, int tid, double ts,
                    double dur, const std::string& args = "") {
    return raw(fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},)"
                           R"("dur":{},"args":{{{}}}}})",
                           category, name, pid, tid, ts, dur, args));
  }
  KinetoEvents& raw(const std::string& event) {
    text_ += text_.empty() ? "" : ",";
    text_ += event;
    return *this;
  }
  KinetoEvents& op(std::string_view name, double ts, double dur, int id, int tid = 1,
                   const std::string& args = "") {
    return add("cpu_op", name, 1, tid, ts, dur,
               fmt::format(R"("External id":{}{}{})", id, args.empty() ? "" : ",", args));
  }
  KinetoEvents& call(std::string_view name, double ts, double dur) {
    return add("cuda_runtime", name, 1, 1, ts, dur, fmt::format(R"("correlation":{})", ++last_));
  }
  // A call of `call_dur` and the work that it launches.
  KinetoEvents& launched(std::string_view category, std::string_view name, int stream,
                         double call_ts, double call_dur, double ts, double dur, int id) {
    const std::string args = fmt::format(R"("External id":{},"correlation":{})", id, ++last_);
    add("cuda_runtime", category == "kernel" ? "cudaLaunchKernel" : "cudaMemcpyAsync", 1, 1,
        call_ts, call_dur, args);
    return add(category, name, 0, stream, ts, dur,
               fmt::format(R"({},"device":0,"bytes":1000)", args));
  }
  KinetoEvents& kernel(std::string_view name, double call_ts, double ts, double dur, int id,
                       int stream = 7) {
    return launched("kernel", name, stream, call_ts, 1, ts, dur, id);
  }
  Trace trace(std::string_view device = "") const {
    const std::string head =
        device.empty() ? "" : fmt::format(R"("deviceProperties":[{{"name":"{}"}}],)", device);
    auto read = read_trace_content(
        "t", fmt::format(R"({{"schemaVersion":1,{}"traceEvents":[{}]}})", head, text_));
    REQUIRE(read.ok());
    return std::move(read).value();
  }

 private:
  std::string text_;
  int last_ = 0;
};

}  // namespace dfsim
