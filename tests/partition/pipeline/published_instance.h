// The graphs of Tarnawski et al. 2020 (NeurIPS, arXiv:2006.16423) as inputs of stage_split.h.
#pragma once

#include <string>

#include "partition/pipeline/stage_graph.h"

namespace dfsim {

struct PublishedInstance {
  StageGraph graph;
  StageLimits limits;
};

// Forward nodes of one colour, with their backward nodes, are one node. Colours of backward nodes
// alone (the losses) follow the forward nodes that they read; their other edges are reversed. Nodes
// on a cycle become one node. A failed requirement means that the file has another format.
PublishedInstance read_published(const std::string& path);

}  // namespace dfsim
