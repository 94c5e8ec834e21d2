// Operators that only TensorFlow has: linear algebra, diagonals, Fourier transforms, crops and
// patches of images, suppression over classes. The importer has worked out their shapes and puts
// them into attributes (tensorflow/rules/rules_numeric.cc).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {

Status infer_given_shape(InferContext& context) {
  for (size_t i = 0; i < context.output_count(); ++i) {
    const std::string suffix = i == 0 ? "" : std::to_string(i);
    const auto* extents = context.attributes().get_ints("shape" + suffix);
    if (extents == nullptr) {
      return context.error(fmt::format("has no attribute 'shape{}'", suffix));
    }
    for (const int64_t extent : *extents) {
      if (extent < 0 || extent > kMaxExtent) {
        return context.error(fmt::format("attribute 'shape{}' has the extent {}", suffix, extent));
      }
    }
    const auto code = context.attributes().get_int("dtype" + suffix);
    context.set_output(i, code ? dtype_from_onnx(*code) : context.dtype(0), Shape::of(*extents));
    if (context.attributes().int_or("at_most" + suffix, 0) != 0) {
      context.mark_data_dependent(i);
    }
  }
  return ok_status();
}

namespace {

// Boxes [N, M, 4], their scores and classes [N, M], how many are valid [N]; M is padded.
Status infer_combined_suppression(InferContext& context) {
  const Shape& boxes = context.shape(0);
  const Dim most(std::max<int64_t>(0, context.attributes().int_or("most", 0)));
  if (boxes.rank() < 1) {
    return ok_status();
  }
  context.set_output(0, context.dtype(0), Shape({boxes[0], most, Dim(4)}));
  context.set_output(1, context.dtype(1), Shape({boxes[0], most}));
  context.set_output(2, context.dtype(1), Shape({boxes[0], most}));
  context.set_output(3, DType::kInt32, Shape({boxes[0]}));
  return ok_status();
}

// Every score is looked at, and each box of each class meets those of the class that stay.
void work_combined_suppression(WorkContext& context) {
  const Count scores = context.input(1).shape.elements();
  const Count kept(std::max<int64_t>(1, context.op().attributes.int_or("most_per_class", 1)));
  context.add_flops(scores * kept, 20);
}

// The extent of the last axis of input 0 (of a matrix: its side).
int64_t last_extent(const WorkContext& context) {
  const Shape& x = context.input(0).shape;
  return x.rank() > 0 ? x[x.rank() - 1].extent() : 1;
}

// n^3 / 3 multiply-adds per matrix.
void work_cholesky(WorkContext& context) {
  const Count n(last_extent(context));
  context.add_macs(Count((context.input(0).shape.elements() * n).value() / 3));
}

// n^3 multiply-adds per matrix.
void work_matrix_inverse(WorkContext& context) {
  context.add_macs(context.input(0).shape.elements() * Count(last_extent(context)));
}

// Factors the matrix (n^3 / 3), then n per element of the right side, twice.
void work_matrix_solve(WorkContext& context) {
  const Count n(last_extent(context));
  context.add_macs(Count((context.input(0).shape.elements() * n).value() / 3) +
                   context.first_output().shape.elements() * n);
}

// n / 2 per element of the right side.
void work_triangular_solve(WorkContext& context) {
  context.add_macs(
      Count((context.first_output().shape.elements() * Count(last_extent(context))).value() / 2));
}

// 5 n log2(n) per transform of n samples; half of that when one side is real.
void work_transform_rows(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  const Shape& y = context.first_output().shape;
  const int rank = static_cast<int>(context.op().attributes.int_or("axes", 1));
  const bool real = context.op().attributes.int_or("real", 0) != 0;
  const Count samples(std::max(x.elements().value(), y.elements().value()));
  int64_t levels = 0;
  for (int i = 0; i < rank && i < x.rank(); ++i) {
    const int axis = x.rank() - 1 - i;
    const int64_t length = std::max(x[axis].extent(), y[axis].extent());
    levels += std::bit_width(static_cast<uint64_t>(std::max<int64_t>(length, 2) - 1));
  }
  context.add_flops(samples * Count(levels), real ? 2.5 : 5);
}

// 4 neighbours, a product and a sum each; the nearest one is only copied.
void work_crop_and_resize(WorkContext& context) {
  if (context.op().attributes.string_or("mode", "bilinear") == "bilinear") {
    context.add_flops(context.first_output().shape.elements(), 8);
  }
  context.set_input_bytes(
      0, std::min(context.input(0).bytes().value(), 4 * context.first_output().bytes().value()));
}

// clang-format off
constexpr OpDef kTfNumericOps[] = {
    {.op_type = "CropAndResize", .op_class = OpClass::kDataMovement, .infer = infer_given_shape,
     .work = work_crop_and_resize, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "CombinedNonMaxSuppression", .op_class = OpClass::kSort,
     .infer = infer_combined_suppression, .work = work_combined_suppression, .required_inputs = 2,
     .domain = kTensorFlow},
    {.op_type = "FourierTransform", .op_class = OpClass::kOpaque, .infer = infer_given_shape,
     .work = work_transform_rows, .domain = kTensorFlow},
    {.op_type = "Cholesky", .op_class = OpClass::kOpaque, .infer = infer_same_as_first,
     .work = work_cholesky, .domain = kTensorFlow},
    {.op_type = "MatrixInverse", .op_class = OpClass::kOpaque, .infer = infer_same_as_first,
     .work = work_matrix_inverse, .domain = kTensorFlow},
    {.op_type = "MatrixSolve", .op_class = OpClass::kOpaque, .infer = infer_given_shape,
     .work = work_matrix_solve, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "MatrixTriangularSolve", .op_class = OpClass::kOpaque, .infer = infer_given_shape,
     .work = work_triangular_solve, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "MatrixDiag", .op_class = OpClass::kDataMovement, .infer = infer_given_shape,
     .domain = kTensorFlow},
    {.op_type = "MatrixDiagPart", .op_class = OpClass::kDataMovement, .infer = infer_given_shape,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "MatrixSetDiag", .op_class = OpClass::kDataMovement, .infer = infer_same_as_first,
     .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "ExtractImagePatches", .op_class = OpClass::kDataMovement,
     .infer = infer_given_shape, .work = work_copy, .domain = kTensorFlow},
    {.op_type = "StringLength", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 1, .domain = kTensorFlow},
};
// clang-format on

constexpr WorkNote kTfNumericNotes[] = {
    {work_crop_and_resize, "8 per output element (nearest: none); reads at most 4 per element"},
    {work_combined_suppression, "20 per pair of a box and one of its class that stays"},
    {work_transform_rows, "5 n log2(n) per transform, half of that with real samples"},
    {work_cholesky, "MACs = n^3 / 3 per matrix"},
    {work_matrix_inverse, "MACs = n^3 per matrix"},
    {work_matrix_solve, "MACs = n^3 / 3 per matrix, n per element of the right side"},
    {work_triangular_solve, "MACs = n / 2 per element of the right side"},
};

}  // namespace

OpFamily tensorflow_numeric_op_defs() { return {kTfNumericOps, kTfNumericNotes}; }

}  // namespace dfsim::inline graphs
