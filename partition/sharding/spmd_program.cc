#include "partition/sharding/spmd_program.h"

#include "partition/sharding/program_maker_internal.h"

namespace dfsim::inline partition {

StatusOr<SpmdProgram> make_spmd_program(const ShardedGraph& sharded, const DeviceMesh& mesh,
                                        const Platform& platform, const CostModel& model,
                                        CollectiveMode mode) {
  ProgramLayout layout;
  layout.groups = {{mesh.devices()}};
  layout.stage_of.assign(sharded.graph.op_count(), 0);
  return make_pipeline_program(sharded, mesh, layout, platform, model, mode);
}

StatusOr<SpmdProgram> make_pipeline_program(const ShardedGraph& sharded, const DeviceMesh& mesh,
                                            const ProgramLayout& layout, const Platform& platform,
                                            const CostModel& model, CollectiveMode mode) {
  return ProgramMaker(sharded, mesh, layout, platform, mode).run(model);
}

}  // namespace dfsim::inline partition
