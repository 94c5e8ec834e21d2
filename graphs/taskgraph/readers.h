// The table of task-graph formats: one TaskGraphFormat each, which the format's own file defines
// and formats.inc lists. read_task_graph() picks among them by content.
#pragma once

#include <span>
#include <string_view>

#include "base/json/json_stream.h"
#include "graphs/taskgraph/char_source.h"
#include "graphs/taskgraph/task_graph.h"

namespace dfsim::inline graphs::taskgraph {

struct TaskGraphFormat {
  std::string_view name;        // as TaskGraph::format
  std::string_view looks_like;  // for messages: "STG (a number)"
  // Whether a file is of the format, from its first bytes without a byte order mark, leading blanks
  // and '#' comments; never empty. At most one format recognises a text.
  bool (*sniff)(std::string_view start) = nullptr;
  StatusOr<TaskGraph> (*read)(CharSource source) = nullptr;
};

// In the order of formats.inc.
std::span<const TaskGraphFormat> task_graph_formats();

#define DFSIM_TASK_GRAPH_FORMAT(name) TaskGraphFormat name##_format();
#include "graphs/taskgraph/formats.inc"
#undef DFSIM_TASK_GRAPH_FORMAT

// The source as a strict stream with these lists; it must outlive the stream.
JsonStream json_stream(CharSource& source, std::vector<std::string> lists);

}  // namespace dfsim::inline graphs::taskgraph
