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
// alone (the losses) stand behind what they read of the forward pass, and otherwise against their
// edges; what then goes round in a circle is one node. A failed requirement: not such a file.
PublishedInstance read_published(const std::string& path);

}  // namespace dfsim
