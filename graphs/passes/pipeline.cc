// The table of passes, made from passes.inc, and the loop that runs a runtime's stages. Passes
// of a stage take turns until none changes anything, or a limit of rounds is reached, because
// one fusion may make another one possible.
#include "graphs/passes/pipeline.h"

#include <algorithm>

#include "base/text.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMostPassRounds = 10;

constexpr Pass kPasses[] = {
#define DFSIM_PASS(name, function, description) {name, description, function},
#include "graphs/passes/passes.inc"
#undef DFSIM_PASS
};

StatusOr<const Pass*> find_pass(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kPasses), std::end(kPasses),
                                         [&](const Pass& pass) { return pass.name == name; });
  if (found != std::end(kPasses)) {
    return found;
  }
  std::vector<std::string> valid;
  for (const Pass& pass : kPasses) {
    valid.emplace_back(pass.name);
  }
  return invalid_input(unknown_name_message("fusion rule", name, std::move(valid)));
}

void run_pass(const Pass& pass, EditableGraph& graph, PassEffect* effect) {
  const auto before = static_cast<int64_t>(graph.living());
  const uint64_t edits = graph.edits();
  pass.run(graph);
  effect->changed |= graph.edits() != edits;
  effect->ops_added += static_cast<int64_t>(graph.living()) - before;
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

PassStages pass_stages(const std::vector<std::string>& fusions) {
  PassStages stages;
  bool open = false;
  for (const std::string& name : fusions) {
    if (name.empty()) {
      open = false;
      continue;
    }
    if (!open) {
      stages.emplace_back();
      open = true;
    }
    stages.back().push_back(name);
  }
  return stages;
}

Status check_passes(const PassStages& stages) {
  for (const std::vector<std::string>& stage : stages) {
    for (const std::string& name : stage) {
      DFSIM_RETURN_IF_ERROR(find_pass(name).status());
    }
  }
  return ok_status();
}

StatusOr<PipelineResult> run_passes(const Graph& graph, const PassStages& stages,
                                    const OpenDims& open) {
  EditableGraph edited(graph, open);
  PipelineResult result;
  for (const std::vector<std::string>& stage : stages) {
    const size_t first = result.effects.size();
    std::vector<const Pass*> passes;
    for (const std::string& name : stage) {
      DFSIM_ASSIGN_OR_RETURN(const Pass* pass, find_pass(name));
      passes.push_back(pass);
      result.effects.push_back({name, false, 0});
    }
    uint64_t edits = edited.edits() + 1;
    for (int round = 0; round < kMostPassRounds && edits != edited.edits(); ++round) {
      edits = edited.edits();
      for (size_t i = 0; i < passes.size(); ++i) {
        run_pass(*passes[i], edited, &result.effects[first + i]);
      }
    }
  }
  DFSIM_ASSIGN_OR_RETURN(result.graph, edited.finish());
  return result;
}

}  // namespace dfsim::inline graphs
