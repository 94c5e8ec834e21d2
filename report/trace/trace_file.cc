// Chooses the trace format by the file's name and keeps the first error of writing for the end,
// since a listener of the simulation cannot report one.
#include "report/trace/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/io/text_file.h"
#include "base/text.h"
#include "report/trace/chrome_trace.h"
#include "report/trace/perfetto_trace.h"

namespace dfsim::inline report {
namespace {

class JsonTraceFile final : public RunRecorder {
 public:
  JsonTraceFile(std::string path, const RunSubject& subject)
      : path_(std::move(path)), trace_(ChromeTrace::create(subject)) {}

  SimListener* listener() override { return trace_.get(); }
  Status close() override {
    DFSIM_ASSIGN_OR_RETURN(TextWriter writer, TextWriter::open(path_));
    DFSIM_RETURN_IF_ERROR(writer.append(trace_->finish()));
    return writer.close();
  }

 private:
  std::string path_;
  std::unique_ptr<ChromeTrace> trace_;
};

class PerfettoTraceFile final : public RunRecorder {
 public:
  PerfettoTraceFile(TextWriter writer, const RunSubject& subject)
      : writer_(std::move(writer)),
        trace_(PerfettoTrace::create(subject, [this](std::string_view piece) { write(piece); })) {}

  SimListener* listener() override { return trace_.get(); }
  Status close() override {
    trace_->finish();
    DFSIM_RETURN_IF_ERROR(written_);
    return writer_.close();
  }

 private:
  // The run's listener cannot report that the disk is full: the first error is kept for the end.
  void write(std::string_view piece) {
    if (written_.ok()) {
      written_ = writer_.append(piece);
    }
  }

  TextWriter writer_;
  Status written_;
  std::unique_ptr<PerfettoTrace> trace_;
};

}  // namespace

bool is_perfetto_file(std::string_view path) {
  if (path.ends_with(".gz")) {
    path.remove_suffix(3);
  }
  return path.ends_with(".pftrace") || path.ends_with(".perfetto-trace");
}

StatusOr<std::unique_ptr<RunRecorder>> open_trace_file(const std::string& path,
                                                       const RunSubject& subject) {
  std::unique_ptr<RunRecorder> file;
  if (is_perfetto_file(path)) {
    DFSIM_ASSIGN_OR_RETURN(TextWriter writer, TextWriter::open(path));
    file = std::make_unique<PerfettoTraceFile>(std::move(writer), subject);
  } else {
    file = std::make_unique<JsonTraceFile>(path, subject);
  }
  return file;
}

MakeRecorder trace_recorder(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  return [path](const RunSubject& subject) { return open_trace_file(path, subject); };
}

MakeRecorder trace_folder_recorder(const std::string& folder, bool names_machines, bool perfetto) {
  if (folder.empty()) {
    return {};
  }
  return [=](const RunSubject& subject) -> StatusOr<std::unique_ptr<RunRecorder>> {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return failed(fmt::format("{}: cannot be made a folder: {}", folder, error.message()));
    }
    const std::string prefix =
        subject.graph_name + (names_machines ? "." + subject.machine_name : "");
    std::string name = fmt::format("{}.{}.{}", printable(prefix, 120), subject.policy,
                                   perfetto ? "pftrace" : "json");
    // Names come from files: none may lead out of the folder.
    std::ranges::replace(name, '/', '_');
    return open_trace_file((std::filesystem::path(folder) / name).string(), subject);
  };
}

}  // namespace dfsim::inline report
