// Operators that only TensorFlow has: special functions, parts of complex numbers, colours and
// warps of images, factorisations, segments, sparse matrices, counts, tables of lookups, strings.
// The importer has worked out the shapes of most of them (tensorflow/rules/rules_sparse.cc,
// rules_special.cc).
#include <algorithm>
#include <bit>

#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

Status infer_population_count(InferContext& context) {
  context.set_output(0, DType::kUInt8, context.shape(0));
  return ok_status();
}

// Per element of input 0.
void work_per_datum(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements(), context.flops_per_element());
}

// Only the rows that the indices (input 1) name are read and added.
void work_gathered_rows(WorkContext& context) {
  const Shape& data = context.input(0).shape;
  const int64_t rows = data.rank() > 0 ? std::max<int64_t>(1, data[0].extent()) : 1;
  const Count row(data.elements().value() / rows);
  const Count read = context.input(1).shape.elements() * row;
  context.set_input_bytes(0, dtype_bytes(context.input(0).dtype, read));
  context.add_flops(read);
}

// Each row goes to one partition, although each of these may get all.
void work_partition(WorkContext& context) { context.set_written_bytes(context.input(0).bytes()); }

// One multiply-add per element of the sparse matrix (input 0) and column of the result.
void work_sparse_product(WorkContext& context) {
  const Shape& y = context.first_output().shape;
  context.add_macs(context.input(0).shape.elements() *
                   Count(y.rank() > 0 ? y[y.rank() - 1].extent() : 1));
}

// A bisection of input 0 per element of input 1.
void work_search(WorkContext& context) {
  const Shape& sorted = context.input(0).shape;
  const int64_t length = sorted.rank() > 0 ? sorted[sorted.rank() - 1].extent() : 1;
  const int steps = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(length, 1)));
  context.add_flops(context.input(1).shape.elements(), 2 * steps);
}

// 4 neighbours, a product and a sum each, and the place where they are.
void work_warp(WorkContext& context) {
  context.add_flops(context.first_output().shape.elements(), 8);
}

// Exponentials of all logits, and a search per sample.
void work_sampling(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements(), 10);
  context.add_flops(context.first_output().shape.elements(), 10);
}

// The extents of the matrices that input 0 stacks, the smaller one first.
struct MatrixSize {
  int64_t least = 1;
  int64_t most = 1;
};

MatrixSize matrix_size(const WorkContext& context) {
  const Shape& x = context.input(0).shape;
  if (x.rank() < 2) {
    return {};
  }
  const int64_t rows = x[x.rank() - 2].extent();
  const int64_t columns = x[x.rank() - 1].extent();
  return {std::min(rows, columns), std::max(rows, columns)};
}

// n^3 / 3 multiply-adds per matrix.
void work_lower_upper(WorkContext& context) {
  const Count all = context.input(0).shape.elements() * Count(matrix_size(context).least);
  context.add_macs(Count(all.value() / 3));
}

// 2 m n^2 multiply-adds per matrix: reflections, then their product.
void work_orthogonal(WorkContext& context) {
  context.add_macs(context.input(0).shape.elements() * Count(2 * matrix_size(context).least));
}

// About 10 m n^2 multiply-adds per matrix (Golub and Van Loan 2013, section 8.6).
void work_eigenvalues(WorkContext& context) {
  context.add_macs(context.input(0).shape.elements() * Count(10 * matrix_size(context).least));
}

// clang-format off
constexpr OpDef kTfTableOps[] = {
    {.op_type = "Conj", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "PopulationCount", .op_class = OpClass::kElementwise,
     .infer = infer_population_count, .work = work_per_element, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "CumulativeLogsumexp", .op_class = OpClass::kReduce,
     .infer = infer_same_as_first, .work = work_per_element, .flops_per_element = 4, .domain = kTensorFlow},
    {.op_type = "BesselI0", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "BesselI0e", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "BesselI1", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "BesselI1e", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "BesselJ0", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "BesselJ1", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "BesselK0", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "BesselK0e", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "BesselY0", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "Expint", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "Dawsn", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "FresnelCos", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "FresnelSin", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "Ndtri", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "Spence", .op_class = OpClass::kElementwise, .infer = infer_same_as_first,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "Igamma", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 40, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Igammac", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 40, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Zeta", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 40, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Polygamma", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 40, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "NextAfter", .op_class = OpClass::kElementwise, .infer = infer_broadcast,
     .work = work_per_element, .flops_per_element = 2, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Real", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "Imag", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "Angle", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 20, .domain = kTensorFlow},
    {.op_type = "Complex", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_copy, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "AdjustContrastv2", .op_class = OpClass::kElementwise,
     .infer = infer_given_shape, .work = work_per_element, .flops_per_element = 3, .domain = kTensorFlow},
    {.op_type = "AdjustHue", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 10, .domain = kTensorFlow},
    {.op_type = "AdjustSaturation", .op_class = OpClass::kElementwise,
     .infer = infer_given_shape, .work = work_per_element, .flops_per_element = 10, .domain = kTensorFlow},
    {.op_type = "RGBToHSV", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 10, .domain = kTensorFlow},
    {.op_type = "HSVToRGB", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 10, .domain = kTensorFlow},
    {.op_type = "ImageProjectiveTransformV2", .op_class = OpClass::kDataMovement,
     .infer = infer_given_shape, .work = work_warp, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "ImageProjectiveTransformV3", .op_class = OpClass::kDataMovement,
     .infer = infer_given_shape, .work = work_warp, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "ScaleAndTranslate", .op_class = OpClass::kDataMovement,
     .infer = infer_given_shape, .work = work_warp, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "InvertPermutation", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "Multinomial", .op_class = OpClass::kReduce, .infer = infer_given_shape,
     .work = work_sampling, .domain = kTensorFlow},
    {.op_type = "StatelessMultinomial", .op_class = OpClass::kReduce,
     .infer = infer_given_shape, .work = work_sampling, .domain = kTensorFlow},
    {.op_type = "RandomShuffle", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "LinSpace", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 2, .domain = kTensorFlow},
    {.op_type = "MatrixDeterminant", .op_class = OpClass::kOpaque, .infer = infer_given_shape,
     .work = work_lower_upper, .domain = kTensorFlow},
    {.op_type = "LogMatrixDeterminant", .op_class = OpClass::kOpaque,
     .infer = infer_given_shape, .work = work_lower_upper, .domain = kTensorFlow},
    {.op_type = "Lu", .op_class = OpClass::kOpaque, .infer = infer_given_shape,
     .work = work_lower_upper, .domain = kTensorFlow},
    {.op_type = "Qr", .op_class = OpClass::kOpaque, .infer = infer_given_shape,
     .work = work_orthogonal, .domain = kTensorFlow},
    {.op_type = "Svd", .op_class = OpClass::kOpaque, .infer = infer_given_shape,
     .work = work_eigenvalues, .domain = kTensorFlow},
    {.op_type = "SelfAdjointEigV2", .op_class = OpClass::kOpaque, .infer = infer_given_shape,
     .work = work_eigenvalues, .domain = kTensorFlow},
    {.op_type = "Eig", .op_class = OpClass::kOpaque, .infer = infer_given_shape,
     .work = work_eigenvalues, .domain = kTensorFlow},
    {.op_type = "SegmentSum", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SegmentMean", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SegmentMax", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SegmentMin", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SegmentProd", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SegmentSumV2", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SegmentMaxV2", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SegmentMinV2", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SegmentProdV2", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "UnsortedSegmentSum", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "UnsortedSegmentMax", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "UnsortedSegmentMin", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "UnsortedSegmentProd", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SparseSegmentSum", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_gathered_rows, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "SparseSegmentMean", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_gathered_rows, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "SparseSegmentSqrtN", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_gathered_rows, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "SparseSegmentSumWithNumSegments", .op_class = OpClass::kGather,
     .infer = infer_given_shape, .work = work_gathered_rows, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "SparseSegmentMeanWithNumSegments", .op_class = OpClass::kGather,
     .infer = infer_given_shape, .work = work_gathered_rows, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "SparseSegmentSqrtNWithNumSegments", .op_class = OpClass::kGather,
     .infer = infer_given_shape, .work = work_gathered_rows, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "DynamicPartition", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_partition, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "DynamicStitch", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_copy, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "ParallelDynamicStitch", .op_class = OpClass::kGather,
     .infer = infer_given_shape, .work = work_copy, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Bincount", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "DenseBincount", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "SparseTensorDenseMatMul", .op_class = OpClass::kGather,
     .infer = infer_given_shape, .work = work_sparse_product, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "SparseToDense", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_copy, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SparseReshape", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 4, .domain = kTensorFlow},
    {.op_type = "SparseFillEmptyRows", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_copy, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "ListDiff", .op_class = OpClass::kSort, .infer = infer_given_shape,
     .work = work_search, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "SearchSorted", .op_class = OpClass::kSort, .infer = infer_given_shape,
     .work = work_search, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "LowerBound", .op_class = OpClass::kSort, .infer = infer_given_shape,
     .work = work_search, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "UpperBound", .op_class = OpClass::kSort, .infer = infer_given_shape,
     .work = work_search, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "Bucketize", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 8, .domain = kTensorFlow},
    {.op_type = "LookupTableFindV2", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_datum, .flops_per_element = 10, .domain = kTensorFlow},
    {.op_type = "LookupTableSizeV2", .op_class = OpClass::kConstant, .infer = infer_given_shape,
     .work = work_none, .required_inputs = 0, .domain = kTensorFlow},
    {.op_type = "StringLower", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "StringUpper", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "StringStrip", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "RegexReplace", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "StaticRegexReplace", .op_class = OpClass::kElementwise,
     .infer = infer_given_shape, .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "Substr", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "AsString", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "StringToNumber", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "StringToHashBucketFast", .op_class = OpClass::kElementwise,
     .infer = infer_given_shape, .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "StringToHashBucketStrong", .op_class = OpClass::kElementwise,
     .infer = infer_given_shape, .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "StringToHashBucket", .op_class = OpClass::kElementwise,
     .infer = infer_given_shape, .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "StringJoin", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
};
// clang-format on

constexpr WorkNote kTfTableNotes[] = {
    {work_per_datum, "so many per element of the first input"},
    {work_gathered_rows, "1 per element of the rows that the indices name"},
    {work_partition, "each row is written once"},
    {work_sparse_product, "MACs = elements of the sparse matrix x columns of the result"},
    {work_search, "2 log2(n) per element that is looked for"},
    {work_warp, "8 per output element"},
    {work_sampling, "10 per logit and per sample"},
    {work_lower_upper, "MACs = n^3 / 3 per matrix"},
    {work_orthogonal, "MACs = 2 m n^2 per matrix"},
    {work_eigenvalues, "MACs = 10 m n^2 per matrix"},
};

}  // namespace

OpFamily tensorflow_tables_op_defs() { return {kTfTableOps, kTfTableNotes}; }

}  // namespace dfsim::inline graphs
