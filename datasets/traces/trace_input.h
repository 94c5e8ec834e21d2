// TraceInput: a file, a folder or bytes in memory that may be a trace, as readers get it.
//
// Purpose: readers look at the first bytes, then choose how they want the rest: as a whole, as a
//   stream of JSON values, or by its path.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/io/mapped_file.h"
#include "base/json/json_stream.h"
#include "base/status.h"
#include "datasets/traces/trace_window.h"

namespace dfsim::inline datasets {

class TraceInput {
 public:
  enum class Kind : uint8_t { kFolder, kJson, kText, kBinary };

  // A file, plain or gzip, or a folder. A binary file is mapped, or unpacked as a whole; of others
  // only the first bytes are read. A file that cannot be read counts as kText: its reader reports
  // the cause. Error: a packed binary file that cannot be unpacked.
  static StatusOr<TraceInput> open(const std::string& path);
  // Gets the number of bytes of a JSON file that have been read.
  void set_progress(JsonStream::ReadProgress progress) { progress_ = std::move(progress); }
  // The part that readers keep which cut the trace themselves.
  void set_window(const TraceWindow& window) { window_ = window; }
  const TraceWindow& window() const { return window_; }
  // From a file's unpacked content; `name` stands for the path.
  static TraceInput of_content(std::string name, std::string content);

  const std::string& path() const { return path_; }
  Kind kind() const { return kind_; }
  // The first bytes, unpacked, of JSON from its first bracket on.
  std::string_view head() const { return head_; }
  bool head_has(std::string_view part) const { return head_.find(part) != std::string::npos; }
  // The path names a file that is not packed: a library may open it itself.
  bool is_plain_file() const { return plain_file_; }

  // The whole content. Empty until load() for files that are not binary.
  std::string_view content() const { return mapped_ ? mapped_->content() : content_; }
  // Reads the whole content where open() has not. Error: not readable, over 4 GiB.
  Status load();
  // Moves the content out; load() first.
  std::string take_content();
  // The values of the list `list` of a JSON file (json_stream.h). Takes the content along.
  StatusOr<JsonStream> json(std::string_view list);

 private:
  void recognise(std::string_view head);

  std::string path_;
  Kind kind_ = Kind::kText;
  std::string head_;
  bool plain_file_ = false;
  bool in_memory_ = false;
  JsonStream::ReadProgress progress_;
  TraceWindow window_;
  std::string content_;
  std::optional<MappedFile> mapped_;
};

}  // namespace dfsim::inline datasets
