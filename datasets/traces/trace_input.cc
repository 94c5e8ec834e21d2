// Opens what may be a trace: unpacks the first bytes, tells text from bytes, and maps or unpacks
// binary files, which readers need as a whole.
#include "datasets/traces/trace_input.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "base/io/text_file.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeadBytes = 4096;
// Inputs that are held as a whole while they are read.
constexpr int64_t kMaxWholeBytes = int64_t{4} << 30;

// The first bytes, unpacked; "" for a file that cannot be read.
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

// Text has no control characters but blanks; the first bytes of a message or a database do.
bool is_binary(std::string_view head) {
  return std::any_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && kBlanks.find(c) == std::string_view::npos;
  });
}

}  // namespace

void TraceInput::recognise(std::string_view head) {
  const std::string_view text = trim(head.starts_with("\xEF\xBB\xBF") ? head.substr(3) : head);
  if (text.starts_with('{') || text.starts_with('[')) {
    kind_ = Kind::kJson;
    head_ = text;
  } else {
    kind_ = is_binary(head) ? Kind::kBinary : Kind::kText;
    head_ = head;
  }
}

StatusOr<TraceInput> TraceInput::open(const std::string& path) {
  TraceInput input;
  input.path_ = path;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    input.kind_ = Kind::kFolder;
    return input;
  }
  // The readers open a file several times, and opening a pipe may wait for ever.
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return invalid_input(fmt::format("{}: is not a regular file; write the trace to a file", path));
  }
  bool packed = false;
  input.recognise(read_head(path, &packed));
  input.plain_file_ = !packed;
  if (input.kind_ == Kind::kBinary && packed) {
    DFSIM_RETURN_IF_ERROR(input.load());
  } else if (input.kind_ == Kind::kBinary) {
    DFSIM_ASSIGN_OR_RETURN(input.mapped_, MappedFile::open(path));
  }
  return input;
}

TraceInput TraceInput::of_content(std::string name, std::string content) {
  TraceInput input;
  input.path_ = std::move(name);
  input.in_memory_ = true;
  input.content_ = std::move(content);
  input.recognise(std::string_view(input.content_).substr(0, kHeadBytes));
  return input;
}

Status TraceInput::load() {
  if (!in_memory_ && !mapped_) {
    DFSIM_ASSIGN_OR_RETURN(content_, read_text_file(path_, kMaxWholeBytes));
    in_memory_ = true;
  }
  return ok_status();
}

std::string TraceInput::take_content() {
  return mapped_ ? std::string(mapped_->content()) : std::move(content_);
}

StatusOr<JsonStream> TraceInput::json(std::string_view list) {
  if (in_memory_ || mapped_) {
    return JsonStream::from_text(path_, take_content(), {std::string(list)});
  }
  DFSIM_ASSIGN_OR_RETURN(JsonStream stream, JsonStream::open(path_, {std::string(list)}));
  stream.set_progress(progress_);
  return stream;
}

}  // namespace dfsim::inline datasets
