#include "report/trace_file.h"

#include "base/io/text_file.h"
#include "report/perfetto_trace.h"

namespace dfsim::inline report {
namespace {

class JsonTraceFile : public TraceFile {
 public:
  JsonTraceFile(std::string path, const ChromeTrace::Subject& subject)
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

class PerfettoTraceFile : public TraceFile {
 public:
  PerfettoTraceFile(TextWriter writer, const ChromeTrace::Subject& subject)
      : writer_(std::move(writer)),
        trace_(PerfettoTrace::create(subject, [this](std::string_view piece) { write(piece); })) {}

  SimListener* listener() override { return trace_.get(); }
  Status close() override {
    trace_->finish();
    DFSIM_RETURN_IF_ERROR(written_);
    return writer_.close();
  }

 private:
  // The run cannot be told that the disk is full: the first error is kept for the end.
  void write(std::string_view piece) {
    if (written_.ok()) {
      written_ = writer_.append(piece);
    }
  }

  TextWriter writer_;
  Status written_;
  std::unique_ptr<PerfettoTrace> trace_;
};

bool is_perfetto(std::string_view path) {
  if (path.ends_with(".gz")) {
    path.remove_suffix(3);
  }
  return path.ends_with(".pftrace") || path.ends_with(".perfetto-trace");
}

}  // namespace

StatusOr<std::unique_ptr<TraceFile>> TraceFile::open(const std::string& path,
                                                     const ChromeTrace::Subject& subject) {
  std::unique_ptr<TraceFile> file;
  if (is_perfetto(path)) {
    DFSIM_ASSIGN_OR_RETURN(TextWriter writer, TextWriter::open(path));
    file = std::make_unique<PerfettoTraceFile>(std::move(writer), subject);
  } else {
    file = std::make_unique<JsonTraceFile>(path, subject);
  }
  return file;
}

}  // namespace dfsim::inline report
