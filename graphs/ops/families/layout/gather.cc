// Gather, scatter, embedding lookups, one-hot.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/op_families.h"
#include "graphs/ops/rules.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

Status infer_gather(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& indices = context.shape(1);
  if (!x.has_rank() || !indices.has_rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("axis", 0), x.rank()));
  Dims dims(x.dims().begin(), x.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), x.dims().begin() + axis + 1, x.dims().end());
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

// For each index of the axes in front: one block of the source per picked index.
void fold_gather(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& out = context.output_shape(0);
  const auto indices = context.ints(1);
  const auto axis = context.axis(context.attributes().int_or("axis", 0), x.rank());
  if (!indices || !axis.ok() || !out.is_static() || out.elements().overflowed() ||
      out.elements().value() > kMaxConstElements) {
    return;
  }
  const std::vector<int64_t> extents = x.extents();
  const int64_t block = row_major_strides(extents)[static_cast<size_t>(*axis)];
  const int64_t length = extents[static_cast<size_t>(*axis)];
  int64_t rows = 1;
  for (int i = 0; i < *axis; ++i) {
    rows *= extents[static_cast<size_t>(i)];
  }
  std::vector<int64_t> sources;
  for (int64_t row = 0; row < rows; ++row) {
    for (const int64_t index : *indices) {
      const int64_t picked = index < 0 ? index + length : index;
      if (picked < 0 || picked >= length) {
        return;
      }
      for (int64_t k = 0; k < block; ++k) {
        sources.push_back((row * length + picked) * block + k);
      }
    }
  }
  fold_by_index(context, 0, out.extents(), sources);
}

Status infer_gather_elements(InferContext& context) {
  context.set_output(0, context.dtype(0), context.shape(1));
  return ok_status();
}

Status infer_gather_nd(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& indices = context.shape(1);
  if (!x.has_rank() || !indices.has_rank() || indices.rank() == 0 ||
      !indices[indices.rank() - 1].known()) {
    return ok_status();
  }
  const int64_t batch = context.attributes().int_or("batch_dims", 0);
  const int64_t depth = indices[indices.rank() - 1].extent();
  if (batch < 0 || batch > x.rank() || depth > x.rank() - batch) {
    return context.error(
        fmt::format("batch_dims {} and index depth {} do not fit an input of shape {}", batch,
                    depth, format_shape(x)));
  }
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), x.dims().begin() + static_cast<std::ptrdiff_t>(batch + depth),
              x.dims().end());
  context.set_output(0, context.dtype(0), Shape(std::move(dims)));
  return ok_status();
}

Status infer_one_hot(InferContext& context) {
  const Shape& indices = context.shape(0);
  const auto depth = context.ints(1);
  if (!indices.has_rank()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const int axis,
                         context.axis(context.attributes().int_or("axis", -1), indices.rank() + 1));
  Dims dims = indices.dims();
  const bool known = depth && depth->size() == 1 && (*depth)[0] >= 0;
  dims.insert(dims.begin() + axis, known ? Dim((*depth)[0]) : Dim::unknown());
  context.set_output(0, context.dtype(2), Shape(std::move(dims)));
  return ok_status();
}

// Reads only the rows that are picked.
void work_gather(WorkContext& context) { work_copy(context); }

// The target is updated in place where a runtime can; its copy is counted, as ONNX's semantics ask:
// the data is read and written once, the updates and indices are read.
void work_scatter(WorkContext& context) {
  const std::string reduction = context.op().attributes.string_or("reduction", "none");
  if (reduction != "none" && context.has_input(2)) {
    context.add_flops(context.input(2).shape.elements());
  }
}

// TensorScatter is meant to update a cache in place: only the update moves.
void work_tensor_scatter(WorkContext& context) {
  context.set_input_bytes(0, Count());
  context.set_written_bytes(context.input(1).bytes());
}

// clang-format off
constexpr OpDef kGatherOps[] = {
    {.op_type = "Gather", .op_class = OpClass::kGather, .infer = infer_gather, .work = work_gather,
     .fold = fold_gather, .required_inputs = 2, .factors = factors_gather},
    {.op_type = "GatherElements", .op_class = OpClass::kGather, .infer = infer_gather_elements,
     .work = work_gather, .fold = fold_gather_elements, .required_inputs = 2, .factors = factors_gather_elements},
    {.op_type = "GatherND", .op_class = OpClass::kGather, .infer = infer_gather_nd,
     .work = work_gather, .fold = fold_gather_nd, .required_inputs = 2, .factors = factors_gather_nd},
    {.op_type = "GatherND", .op_class = OpClass::kGather, .infer = infer_gather_nd,
     .work = work_gather, .required_inputs = 2, .domain = kMicrosoft, .factors = factors_gather_nd},
    {.op_type = "Scatter", .op_class = OpClass::kGather, .infer = infer_same_as_first,
     .work = work_scatter, .fold = fold_scatter_elements, .required_inputs = 3, .factors = factors_scatter_elements},
    {.op_type = "ScatterElements", .op_class = OpClass::kGather, .infer = infer_same_as_first,
     .work = work_scatter, .fold = fold_scatter_elements, .required_inputs = 3, .factors = factors_scatter_elements},
    {.op_type = "ScatterND", .op_class = OpClass::kGather, .infer = infer_same_as_first,
     .work = work_scatter, .fold = fold_scatter_nd, .required_inputs = 3, .factors = factors_scatter_nd},
    {.op_type = "TensorScatter", .op_class = OpClass::kGather, .infer = infer_same_as_first,
     .work = work_tensor_scatter, .fold = fold_tensor_scatter, .required_inputs = 2},
    {.op_type = "OneHot", .op_class = OpClass::kGather, .infer = infer_one_hot, .fold = fold_one_hot,
     .required_inputs = 3, .factors = factors_one_hot},
};
// clang-format on

constexpr WorkNote kGatherNotes[] = {
    {work_gather, "reads what it returns"},
    {work_scatter, "reads and writes the whole target; 1 per update with a reduction"},
    {work_tensor_scatter, "none; reads and writes the update only"},
};

}  // namespace

OpFamily gather_op_defs() { return {kGatherOps, kGatherNotes}; }

}  // namespace dfsim::inline graphs
