#include "graphs/training/training_parts.h"

namespace dfsim::inline graphs {

TrainingPass training_pass(const Op& op) {
  const auto pass = op.attributes.get_int(kPassAttribute);
  return pass && *pass >= 0 && *pass <= static_cast<int64_t>(TrainingPass::kUpdate)
             ? static_cast<TrainingPass>(*pass)
             : TrainingPass::kForward;
}

}  // namespace dfsim::inline graphs
