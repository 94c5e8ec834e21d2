// Recognises the format of a task graph by its first bytes and calls its reader (task_graph.h).
#include "graphs/taskgraph/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "base/text.h"

namespace dfsim::inline graphs {
namespace {

using taskgraph::CharSource;
using Reader = StatusOr<TaskGraph> (*)(CharSource);

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

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

Reader recognise(std::string_view prefix) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (prefix.starts_with(kByteOrderMark)) {
    prefix.remove_prefix(kByteOrderMark.size());
  }
  const std::string_view text = first_content(prefix);
  if (text.empty()) {
    return nullptr;
  }
  if (text.front() == '{') {
    if (contains(text, "\"dfsim-taskgraph\"")) {
      return taskgraph::read_own_json;
    }
    const bool workflow = contains(text, "\"schemaVersion\"") || contains(text, "\"workflow\"");
    return workflow ? taskgraph::read_wfformat : nullptr;
  }
  if (text.front() == '<') {
    return contains(text, "<adag") ? taskgraph::read_dax : nullptr;
  }
  if (std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    const bool plain = std::all_of(
        text.begin(), text.begin() + std::min<size_t>(text.size(), 256),
        [](char c) { return c > 0 && (c >= ' ' || c == '\n' || c == '\r' || c == '\t'); });
    return plain ? taskgraph::read_stg : nullptr;
  }
  const std::string start = to_lower(text.substr(0, 8));
  const bool dot = start.starts_with("digraph") || start.starts_with("strict") ||
                   start.starts_with("graph") || start.starts_with("//") || start.starts_with("/*");
  return dot ? taskgraph::read_dot : nullptr;
}

StatusOr<TaskGraph> read_source(CharSource source, const std::string& path) {
  const Reader reader = recognise(source.prefix());
  if (reader == nullptr) {
    return invalid_input(fmt::format(
        "{}: starts with '{}', which is no task graph; expected STG (a number), DOT (digraph), "
        "WfFormat or dfsim-taskgraph (JSON), or DAX (XML with <adag>); see "
        "docs/reference/task-graphs.md",
        path, printable(source.prefix().substr(0, 24), 24)));
  }
  DFSIM_ASSIGN_OR_RETURN(TaskGraph task_graph, reader(std::move(source)));
  if (task_graph.name.empty()) {
    task_graph.name = std::filesystem::path(path).stem().string();
  }
  return task_graph;
}

}  // namespace

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
