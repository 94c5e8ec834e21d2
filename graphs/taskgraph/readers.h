// One function per task-graph format; read_task_graph() picks among them by content.
#pragma once

#include <string_view>

#include "base/json/json_stream.h"
#include "graphs/taskgraph/char_source.h"
#include "graphs/taskgraph/task_graph.h"

namespace dfsim::inline graphs::taskgraph {

// Kasahara's Standard Task Graph format: the number of tasks, then per task its number, time,
// number of predecessors and their numbers; '#' starts a comment. The count may or may not include
// the two dummy tasks at both ends. Edges carry no data.
StatusOr<TaskGraph> read_stg(CharSource source);
// Graphviz digraph with `Weight` on nodes (time) and edges (delay between processors).
StatusOr<TaskGraph> read_dot(CharSource source);
// WfCommons WfFormat 1.5: recorded workflows; seconds and bytes.
StatusOr<TaskGraph> read_wfformat(CharSource source);
// Pegasus DAX (XML): seconds and bytes.
StatusOr<TaskGraph> read_dax(CharSource source);
// dfsim's own JSON.
StatusOr<TaskGraph> read_own_json(CharSource source);

// The source as a strict stream with these lists; it must outlive the stream.
JsonStream json_stream(CharSource& source, std::vector<std::string> lists);

}  // namespace dfsim::inline graphs::taskgraph
