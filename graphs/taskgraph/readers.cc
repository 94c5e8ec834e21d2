// Asks each format of the table (formats.inc) whether a file starts as it does, and calls the
// reader of the one that says yes (task_graph.h).
#include "graphs/taskgraph/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace dfsim::inline graphs {
namespace {

using taskgraph::CharSource;
using taskgraph::TaskGraphFormat;

// `text` without leading blanks and '#' comment lines.
std::string_view first_content(std::string_view text) {
  while (!text.empty()) {
    if (std::isspace(static_cast<unsigned char>(text.front())) != 0) {
      text.remove_prefix(1);
    } else if (text.front() == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else {
      break;
    }
  }
  return text;
}

// The format of a file that starts with `prefix`; null if no reader knows it.
const TaskGraphFormat* recognise(std::string_view prefix) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (prefix.starts_with(kByteOrderMark)) {
    prefix.remove_prefix(kByteOrderMark.size());
  }
  const std::string_view start = first_content(prefix);
  if (start.empty()) {
    return nullptr;
  }
  for (const TaskGraphFormat& format : taskgraph::task_graph_formats()) {
    if (format.sniff(start)) {
      return &format;
    }
  }
  return nullptr;
}

StatusOr<TaskGraph> read_source(CharSource source, const std::string& path) {
  const TaskGraphFormat* format = recognise(source.prefix());
  if (format == nullptr) {
    std::vector<std::string> known;
    for (const TaskGraphFormat& each : taskgraph::task_graph_formats()) {
      known.emplace_back(each.looks_like);
    }
    return invalid_input(
        fmt::format("{}: starts with '{}', which is not a task graph; expected {}; see "
                    "docs/reference/task-graphs.md",
                    path, printable(source.prefix().substr(0, 24), 24), join(known, ", ")));
  }
  DFSIM_ASSIGN_OR_RETURN(TaskGraph task_graph, format->read(std::move(source)));
  if (task_graph.name.empty()) {
    task_graph.name = std::filesystem::path(path).stem().string();
  }
  return task_graph;
}

}  // namespace

std::span<const TaskGraphFormat> taskgraph::task_graph_formats() {
  static const std::array kFormats = {
#define DFSIM_TASK_GRAPH_FORMAT(name) name##_format(),
#include "graphs/taskgraph/formats.inc"
#undef DFSIM_TASK_GRAPH_FORMAT
  };
  return kFormats;
}

JsonStream taskgraph::json_stream(CharSource& source, std::vector<std::string> lists) {
  return JsonStream::from_source(
      source.path(), [&source](char* out, size_t size) { return source.read(out, size); },
      std::move(lists), JsonStream::Mode::kStrict);
}

StatusOr<TaskGraph> read_task_graph(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(CharSource source, CharSource::open(path));
  return read_source(std::move(source), path);
}

StatusOr<TaskGraph> parse_task_graph(std::string_view content, const std::string& path) {
  return read_source(CharSource::of(content, path), path);
}

bool looks_like_task_graph(const std::string& path) {
  auto source = CharSource::open(path);
  return source.ok() && recognise(source->prefix()) != nullptr;
}

}  // namespace dfsim::inline graphs
