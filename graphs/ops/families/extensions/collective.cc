// Communication between the devices of a partitioned program (domain dfsim), inserted by
// partition/. Every device runs the same op on its own shard; `group` devices take part.
//
//   AllReduce      the reduction of all shards, on every device
//   ReduceScatter  the same, of which each device keeps its run of axis `dim`
//   AllGather      all shards joined along axis `dim`
//   AllToAll       split along `split_dim`, each part to its device, joined along `gather_dim`
//   HaloExchange   `before` and `after` elements of the neighbours' ends, `fill` at the outer ends
//   ShardSlice     each device's run of axis `dim` of a tensor that all have: no communication
//   KeepOnFirst    zero on every device but the first of the group: no communication
//   ShardIndices   indices into `extent` rows (negative ones from the end), counted in the device's
//                  own run of them; 0 for rows that it does not have: no communication
//   MaskRows       its input, zero where the second input's indices name rows that the device does
//                  not have; their dimensions begin at axis `dim`: no communication
#include <fmt/format.h>

#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

StatusOr<int64_t> group_of(const InferContext& context) {
  const int64_t group = context.attributes().int_or("group", 0);
  if (group < 1) {
    return context.error(fmt::format("group is {}; expected 1 or more", group));
  }
  return group;
}

// Divides axis `name` by the group, or multiplies it.
Status scale_axis(const InferContext& context, std::string_view name, bool divide, Dims* dims) {
  DFSIM_ASSIGN_OR_RETURN(const int64_t group, group_of(context));
  DFSIM_ASSIGN_OR_RETURN(const int axis, context.axis(context.attributes().int_or(name, 0),
                                                      static_cast<int>(dims->size())));
  Dim& dim = (*dims)[static_cast<size_t>(axis)];
  if (!dim.known()) {
    return ok_status();
  }
  if (divide && dim.extent() % group != 0) {
    return context.error(
        fmt::format("axis {} of {} does not divide by {} devices", axis, dim.extent(), group));
  }
  dim = Dim(divide ? dim.extent() / group : (Count(dim.extent()) * Count(group)).value());
  return ok_status();
}

Status infer_scaled(InferContext& context, bool divide) {
  if (!context.shape(0).has_rank()) {
    return ok_status();
  }
  Dims dims = context.shape(0).dims();
  DFSIM_RETURN_IF_ERROR(scale_axis(context, "dim", divide, &dims));
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}
Status infer_all_gather(InferContext& context) { return infer_scaled(context, false); }
Status infer_scatter(InferContext& context) { return infer_scaled(context, true); }

Status infer_all_to_all(InferContext& context) {
  if (!context.shape(0).has_rank()) {
    return ok_status();
  }
  Dims dims = context.shape(0).dims();
  DFSIM_RETURN_IF_ERROR(scale_axis(context, "split_dim", true, &dims));
  DFSIM_RETURN_IF_ERROR(scale_axis(context, "gather_dim", false, &dims));
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status infer_halo(InferContext& context) {
  if (!context.shape(0).has_rank()) {
    return ok_status();
  }
  Dims dims = context.shape(0).dims();
  DFSIM_ASSIGN_OR_RETURN(
      const int axis, context.axis(context.attributes().int_or("dim", 0), context.shape(0).rank()));
  const int64_t before = context.attributes().int_or("before", 0);
  const int64_t after = context.attributes().int_or("after", 0);
  if (before < 0 || after < 0 || before > kMaxExtent || after > kMaxExtent) {
    return context.error(fmt::format("the halo is {} and {}; expected 0 or more", before, after));
  }
  Dim& dim = dims[static_cast<size_t>(axis)];
  dim = dim.known() ? Dim(dim.extent() + before + after) : dim;
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// Each device adds up its share of the result: (group - 1) parts for each of n / group elements.
void work_reduction(WorkContext& context) {
  const int64_t group = std::max<int64_t>(1, context.op().attributes.int_or("group", 1));
  context.add_flops(context.input(0).shape.elements(),
                    static_cast<double>(group - 1) / static_cast<double>(group));
}

constexpr std::string_view kOurs = "dfsim";

// clang-format off
constexpr OpDef kCollectiveOps[] = {
    {.op_type = "AllReduce", .op_class = OpClass::kCollective, .infer = infer_same_as_first,
     .work = work_reduction, .domain = kOurs},
    {.op_type = "ReduceScatter", .op_class = OpClass::kCollective, .infer = infer_scatter,
     .work = work_reduction, .domain = kOurs},
    {.op_type = "AllGather", .op_class = OpClass::kCollective, .infer = infer_all_gather,
     .domain = kOurs},
    {.op_type = "AllToAll", .op_class = OpClass::kCollective, .infer = infer_all_to_all,
     .domain = kOurs},
    {.op_type = "HaloExchange", .op_class = OpClass::kCollective, .infer = infer_halo,
     .domain = kOurs},
    {.op_type = "ShardSlice", .op_class = OpClass::kDataMovement, .infer = infer_scatter,
     .work = work_copy, .domain = kOurs},
    {.op_type = "KeepOnFirst", .op_class = OpClass::kDataMovement, .infer = infer_same_as_first,
     .work = work_copy, .domain = kOurs},
    {.op_type = "ShardIndices", .op_class = OpClass::kDataMovement, .infer = infer_same_as_first,
     .work = work_copy, .domain = kOurs},
    {.op_type = "MaskRows", .op_class = OpClass::kDataMovement, .infer = infer_same_as_first,
     .work = work_copy, .domain = kOurs},
};
// clang-format on

constexpr WorkNote kCollectiveNotes[] = {
    {work_reduction, "(group - 1) / group per element"},
};

}  // namespace

OpFamily collective_op_defs() { return {kCollectiveOps, kCollectiveNotes}; }

}  // namespace dfsim::inline graphs
