// Seeds of data parallelism: the batch dimension of every input is cut along the axis, weights
// are whole everywhere.
#include <fmt/format.h>

#include "base/text.h"
#include "partition/plans/strategies.h"

namespace dfsim::inline partition {

StatusOr<std::vector<ShardingSeed>> data_parallel_seeds(const Graph& graph, const DeviceMesh& mesh,
                                                        AxisSet axis) {
  std::vector<ShardingSeed> seeds;
  int64_t batch = 0;
  for (const TensorId input : graph.inputs()) {
    const Tensor& tensor = graph.tensor(input);
    if (!tensor.shape.is_static() || tensor.shape.rank() == 0) {
      continue;
    }
    const int64_t extent = tensor.shape[0].extent();
    if (seeds.empty()) {
      batch = extent;
      if (batch % mesh.size(axis) != 0) {
        return invalid_input(fmt::format(
            "data parallel: the batch of input '{}' is {}, which does not divide by {} devices; "
            "choose another batch or fewer devices",
            printable(tensor.name), batch, mesh.size(axis)));
      }
    }
    if (extent == batch) {
      TensorSharding sharding = replicated(tensor.shape);
      sharding.dims[0] = axis;
      seeds.push_back({input, std::move(sharding)});
    }
  }
  if (seeds.empty()) {
    return invalid_input("data parallel: the model has no input with a batch dimension");
  }
  return seeds;
}

}  // namespace dfsim::inline partition
