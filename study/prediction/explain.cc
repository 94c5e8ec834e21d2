#include "study/prediction/explain.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "study/machines/explain_machine.h"

namespace dfsim::inline study {

void explain(const PredictionInput& input, const Prediction& prediction, const Progress& progress) {
  if (!progress.explains()) {
    return;
  }
  progress.decide("import", {{"model", prediction.model},
                             {"nodes", std::to_string(prediction.file_nodes)},
                             {"folded", std::to_string(prediction.folded_ops)},
                             {"unresolved", std::to_string(prediction.unresolved.size())},
                             {"executed", std::to_string(prediction.ops.size())}});
  progress.decide(
      "runtime",
      {{"name", prediction.runtime},
       {"passes", prediction.passes.empty() ? "none" : join(prediction.passes, ",")},
       {"precision", prediction.precision.empty() ? "as-in-file" : prediction.precision}});
  explain_machine(input.platform, prediction.cost_model, progress);
  // Sources by device and class, in alphabetical order.
  std::map<std::pair<std::string, std::string>, std::map<std::string, size_t>> sources;
  for (const PredictedOp& op : prediction.ops) {
    const std::string op_class(op_class_name(op.op_class));
    ++sources[{op.device, op_class}][std::string(source_name(op))];
  }
  for (const auto& [where, counts] : sources) {
    Progress::Facts facts = {{"device", where.first}, {"class", where.second}};
    for (const auto& [source, count] : counts) {
      facts.emplace_back(source, std::to_string(count));
    }
    progress.decide("operator times", facts);
  }
  progress.decide("cost cache", {{"operators", std::to_string(prediction.ops.size())},
                                 {"distinct", std::to_string(input.model.workload.rows.size())}});
}

}  // namespace dfsim::inline study
