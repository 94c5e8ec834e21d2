// The readers behind trace_reader.h, one file each. Each gives a finished trace (finish_trace), or
// one line of error.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "datasets/traces/json_stream.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

// What a stream repaired, as warnings. Trace::events must be counted.
void warn_of_repairs(const JsonStream& stream, Trace* trace);
// The error for a trace without a span: "PATH: 7 nodes, but no span that can be used; 7 nodes
// without a duration".
Status nothing_usable(const Trace& trace, std::string_view what);

// The Chrome family from an open stream.
StatusOr<Trace> read_chrome_trace(const std::string& path, JsonStream stream);
// A result of rocprofv3; simdjson's bytes behind the text are added.
StatusOr<Trace> read_rocprof_trace(const std::string& path, std::string json);
// PyTorch's execution trace; the stream's list is "nodes".
StatusOr<Trace> read_execution_trace(const std::string& path, JsonStream stream);
// Chakra's execution trace as JSON; the stream's list is "workload_graph".
StatusOr<Trace> read_chakra_json(const std::string& path, JsonStream stream);

// Binary formats, from the whole content. The recognisers look at the first messages only.
bool is_chakra_trace(std::string_view content);
StatusOr<Trace> read_chakra_trace(const std::string& path, std::string_view content);
bool is_step_stats(std::string_view content);
StatusOr<Trace> read_step_stats(const std::string& path, std::string_view content);
bool is_xplane(std::string_view content);
StatusOr<Trace> read_xplane(const std::string& path, std::string_view content);
bool is_perfetto_trace(std::string_view content);
StatusOr<Trace> read_perfetto_trace(const std::string& path, std::string_view content);

// A database of Nsight Systems: from its file, or from its content.
bool is_sqlite(std::string_view head);
StatusOr<Trace> read_nsys_file(const std::string& path);
StatusOr<Trace> read_nsys_content(const std::string& path, std::string content);

// Folders. A MindSpore profile is one with the profiler's files, or one of those files.
bool is_mindspore_profile(const std::string& path);
StatusOr<Trace> read_mindspore_profile(const std::string& path);
// A folder with a CTF "metadata" file, or one with such folders below.
bool is_ctf_folder(const std::string& path);
StatusOr<Trace> read_ctf_trace(const std::string& folder);

}  // namespace dfsim::inline datasets
