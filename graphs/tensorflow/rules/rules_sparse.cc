// Segments, partitions, sparse matrices, counts and tables of lookups. How many rows many of them
// give depends on the data: those count as the most possible, and say so.
#include <algorithm>
#include <numeric>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

// The shape with its first `axes` replaced by `rows`.
std::vector<int64_t> with_rows(const Shape& shape, int axes, int64_t rows) {
  std::vector<int64_t> extents = shape.extents();
  extents.erase(extents.begin(), extents.begin() + std::min(axes, shape.rank()));
  extents.insert(extents.begin(), rows);
  return extents;
}

bool is_extent(std::optional<int64_t> value) {
  return value && *value >= 0 && *value <= kMaxExtent;
}

// One more than the largest, of indices that are known.
std::optional<int64_t> range_of(const NodeContext& node, size_t input) {
  const auto ids = node.ints(input);
  if (!ids || ids->empty()) {
    return std::nullopt;
  }
  return *std::max_element(ids->begin(), ids->end()) + 1;
}

// data, (indices of rows,) segment ids (, their number): a row for each segment. `axes` of the data
// count as rows.
void reduce_segments(NodeContext& node, std::string_view target, size_t ids, int axes) {
  const bool given = node.has_input(ids + 1);
  const auto count = given ? node.integer(ids + 1) : range_of(node, ids);
  if (given && !is_extent(count)) {
    node.unresolved("the number of segments is not known before the run");
    return;
  }
  std::vector<TensorId> inputs;
  for (size_t i = 0; i <= ids; ++i) {
    inputs.push_back(node.plain(i));
  }
  const int64_t most = node.rank(ids) == 1 ? node.shape(ids)[0].extent() : 0;
  node.set_known(target, std::move(inputs),
                 {{with_rows(node.shape(0), axes, count.value_or(most)), DType::kUnknown, !count}});
}

void segments(NodeContext& node, std::string_view target) {
  if (node.rank(1) > node.rank(0)) {
    node.error("its segment ids have more axes than its data");
    return;
  }
  reduce_segments(node, target, 1, std::max(1, node.rank(1)));
}

void sparse_segments(NodeContext& node, std::string_view target) {
  reduce_segments(node, target, 2, 1);
}

// data, partition of each row: as many outputs as partitions, each of which may get all rows.
void partition_rows(NodeContext& node, std::string_view target) {
  const int64_t partitions = node.attr_int("num_partitions", 1);
  const int axes = std::max(1, node.rank(1));
  constexpr int64_t kMostPartitions = 4096;
  if (partitions < 1 || partitions > kMostPartitions || node.rank(0) < axes) {
    node.error("its number of partitions or the ranks of its inputs are out of range");
    return;
  }
  const int64_t rows = node.shape(1).elements().value();
  const auto ids = node.ints(1);
  std::vector<KnownOutput> outputs;
  for (int64_t i = 0; i < partitions; ++i) {
    const int64_t own = ids ? std::count(ids->begin(), ids->end(), i) : rows;
    outputs.push_back({with_rows(node.shape(0), axes, own), DType::kUnknown, !ids});
  }
  node.set_known(target, {node.plain(0), node.plain(1)}, outputs);
}

// Lists of indices, then as many of data: rows put where the indices say.
void stitch_rows(NodeContext& node, std::string_view target) {
  const size_t half = node.input_count() / 2;
  Count all(0);
  int64_t largest = 0;
  bool known = true;
  for (size_t i = 0; i < half; ++i) {
    all += node.shape(i).elements();
    const auto range = range_of(node, i);
    known = known && (range || node.shape(i).elements().value() == 0);
    largest = std::max(largest, range.value_or(0));
  }
  const int64_t rows = known ? largest : all.value();
  const size_t first = node.input_count() - half;
  node.set_known(target, node.all_plain(),
                 {{with_rows(node.shape(first), node.rank(0), rows), node.dtype(first), !known}});
}

// values, number of bins, weights.
void count_bins(NodeContext& node, std::string_view target) {
  const auto bins = node.integer(1);
  if (!is_extent(bins)) {
    node.unresolved("the number of bins is not known before the run");
    return;
  }
  std::vector<int64_t> shape{*bins};
  if (node.type() == "DenseBincount" && node.rank(0) == 2) {
    shape.insert(shape.begin(), node.shape(0)[0].extent());
  }
  node.set_known(target, {node.plain(0), node.plain(2)}, {{shape, node.dtype(2)}});
}

// indices [nnz, 2], values [nnz], shape [2], b [k, n].
void sparse_matmul(NodeContext& node, std::string_view target) {
  const auto shape = node.ints(2);
  if (!shape || shape->size() != 2 || node.rank(3) != 2) {
    node.unresolved("the shape of its sparse operand is not known before the run");
    return;
  }
  const int64_t rows = (*shape)[node.attr_bool("adjoint_a", false) ? 1 : 0];
  const int64_t columns = node.shape(3)[node.attr_bool("adjoint_b", false) ? 0 : 1].extent();
  node.set_known(target, {node.plain(1), node.plain(0), node.plain(3)},
                 {{{rows, columns}, node.dtype(3)}});
}

// indices, shape, values, default.
void sparse_to_dense(NodeContext& node, std::string_view target) {
  const auto shape = node.ints(1);
  if (!shape || !std::all_of(shape->begin(), shape->end(), is_extent)) {
    node.unresolved("its shape is not known before the run");
    return;
  }
  node.set_known(target, {node.plain(2), node.plain(0)}, {{*shape, node.dtype(2)}});
}

// indices [nnz, rank], shape, new shape: other indices, and the new shape with -1 worked out.
void sparse_reshape(NodeContext& node, std::string_view target) {
  if (node.rank(0) != 2 || node.rank(2) != 1) {
    node.error("expected indices of rank 2 and shapes of rank 1");
    return;
  }
  const int64_t rank = node.shape(2)[0].extent();
  node.set_known(target, {node.plain(0)},
                 {{{node.shape(0)[0].extent(), rank}, DType::kInt64}, {{rank}, DType::kInt64}});
  const auto old = node.ints(1);
  auto shape = node.ints(2);
  if (!old || !shape) {
    return;
  }
  const auto product = [](const std::vector<int64_t>& list) {
    return std::accumulate(list.begin(), list.end(), Count(1),
                           [](Count all, int64_t extent) { return all * Count(std::abs(extent)); });
  };
  const int64_t known = product(*shape).value();  // an unknown extent counts as 1
  const auto unknown = std::find(shape->begin(), shape->end(), -1);
  if (unknown != shape->end() && known > 0) {
    *unknown = product(*old).value() / known;
  }
  node.set(1, node.emitter().add_ints(*shape));
}

// indices [nnz, rank], values, shape, default: rows without an element get the default.
void fill_empty_rows(NodeContext& node, std::string_view target) {
  const auto shape = node.ints(2);
  if (node.rank(0) != 2 || !shape || shape->empty() || !is_extent(shape->front())) {
    node.unresolved("its number of rows is not known before the run");
    return;
  }
  const int64_t rows = shape->front();
  const int64_t elements = node.shape(0)[0].extent();
  node.set_known(target, {node.plain(0), node.plain(1)},
                 {{{elements + rows, node.shape(0)[1].extent()}, DType::kInt64, true},
                  {{elements + rows}, node.dtype(1), true},
                  {{rows}, DType::kBool},
                  {{elements}, DType::kInt64}});
}

// Elements of x that y lacks, and their places.
void list_difference(NodeContext& node, std::string_view target) {
  const int64_t most = node.shape(0).elements().value();
  node.set_known(target, {node.plain(0), node.plain(1)},
                 {{{most}, DType::kUnknown, true}, {{most}, DType::kInt32, true}});
}

// sorted [rows, n], values [rows, m].
void search_sorted(NodeContext& node, std::string_view target) {
  const DType wide = node.attr_dtype("out_type");
  node.set_known(target, {node.plain(0), node.plain(1)},
                 {{node.shape(1).extents(), wide == DType::kUnknown ? DType::kInt32 : wide}});
}

void bucketize(NodeContext& node, std::string_view target) {
  node.set_known(target, {node.plain(0)}, {{node.shape(0).extents(), DType::kInt32}});
}

// A table of lookups is a resource: a scalar, here.
void table_handle(NodeContext& node, std::string_view /*target*/) {
  node.set(0, node.emitter().add_constant({DType::kInt64, {}, {0}, {}}, node.name()));
}

// table, keys, default value.
void look_up(NodeContext& node, std::string_view target) {
  const Shape keys = node.shape(1);
  if (!keys.is_static()) {
    node.unresolved("the shape of its keys is not known");
    return;
  }
  node.set_known(target, {node.plain(1)}, {{keys.extents(), node.dtype(2)}});
}

void table_size(NodeContext& node, std::string_view target) {
  node.set_known(target, {}, {{{}, DType::kInt64}});
}

// clang-format off
constexpr TfRule kSparseRules[] = {
    {.type = "SegmentSum", .translate = segments, .target = "SegmentSum", .required_inputs = 2},
    {.type = "SegmentMean", .translate = segments, .target = "SegmentMean", .required_inputs = 2},
    {.type = "SegmentMax", .translate = segments, .target = "SegmentMax", .required_inputs = 2},
    {.type = "SegmentMin", .translate = segments, .target = "SegmentMin", .required_inputs = 2},
    {.type = "SegmentProd", .translate = segments, .target = "SegmentProd", .required_inputs = 2},
    {.type = "SegmentSumV2", .translate = segments, .target = "SegmentSumV2", .required_inputs = 3},
    {.type = "SegmentMaxV2", .translate = segments, .target = "SegmentMaxV2", .required_inputs = 3},
    {.type = "SegmentMinV2", .translate = segments, .target = "SegmentMinV2", .required_inputs = 3},
    {.type = "SegmentProdV2", .translate = segments, .target = "SegmentProdV2", .required_inputs = 3},
    {.type = "UnsortedSegmentSum", .translate = segments, .target = "UnsortedSegmentSum", .required_inputs = 3},
    {.type = "UnsortedSegmentMax", .translate = segments, .target = "UnsortedSegmentMax", .required_inputs = 3},
    {.type = "UnsortedSegmentMin", .translate = segments, .target = "UnsortedSegmentMin", .required_inputs = 3},
    {.type = "UnsortedSegmentProd", .translate = segments, .target = "UnsortedSegmentProd", .required_inputs = 3},
    {.type = "SparseSegmentSum", .translate = sparse_segments, .target = "SparseSegmentSum",
     .required_inputs = 3},
    {.type = "SparseSegmentMean", .translate = sparse_segments, .target = "SparseSegmentMean",
     .required_inputs = 3},
    {.type = "SparseSegmentSqrtN", .translate = sparse_segments, .target = "SparseSegmentSqrtN",
     .required_inputs = 3},
    {.type = "SparseSegmentSumWithNumSegments", .translate = sparse_segments,
     .target = "SparseSegmentSumWithNumSegments", .required_inputs = 4},
    {.type = "SparseSegmentMeanWithNumSegments", .translate = sparse_segments,
     .target = "SparseSegmentMeanWithNumSegments", .required_inputs = 4},
    {.type = "SparseSegmentSqrtNWithNumSegments", .translate = sparse_segments,
     .target = "SparseSegmentSqrtNWithNumSegments", .required_inputs = 4},
    {.type = "DynamicPartition", .translate = partition_rows, .target = "DynamicPartition",
     .required_inputs = 2},
    {.type = "DynamicStitch", .translate = stitch_rows, .target = "DynamicStitch",
     .required_inputs = 2},
    {.type = "ParallelDynamicStitch", .translate = stitch_rows, .target = "ParallelDynamicStitch",
     .required_inputs = 2},
    {.type = "Bincount", .translate = count_bins, .target = "Bincount", .required_inputs = 3},
    {.type = "DenseBincount", .translate = count_bins, .target = "DenseBincount", .required_inputs = 3},
    {.type = "SparseTensorDenseMatMul", .translate = sparse_matmul, .target = "SparseTensorDenseMatMul",
     .required_inputs = 4},
    {.type = "SparseToDense", .translate = sparse_to_dense, .target = "SparseToDense",
     .required_inputs = 4},
    {.type = "SparseReshape", .translate = sparse_reshape, .target = "SparseReshape",
     .required_inputs = 3},
    {.type = "SparseFillEmptyRows", .translate = fill_empty_rows, .target = "SparseFillEmptyRows",
     .required_inputs = 4},
    {.type = "ListDiff", .translate = list_difference, .target = "ListDiff", .required_inputs = 2},
    {.type = "SearchSorted", .translate = search_sorted, .target = "SearchSorted",
     .required_inputs = 2},
    {.type = "LowerBound", .translate = search_sorted, .target = "LowerBound",
     .required_inputs = 2},
    {.type = "UpperBound", .translate = search_sorted, .target = "UpperBound",
     .required_inputs = 2},
    {.type = "Bucketize", .translate = bucketize, .target = "Bucketize"},
    {.type = "HashTableV2", .translate = table_handle, .required_inputs = 0, .tolerant = true},
    {.type = "MutableHashTableV2", .translate = table_handle, .required_inputs = 0, .tolerant = true},
    {.type = "LookupTableFindV2", .translate = look_up, .target = "LookupTableFindV2",
     .required_inputs = 3, .tolerant = true},
    {.type = "LookupTableSizeV2", .translate = table_size, .target = "LookupTableSizeV2",
     .tolerant = true},
};
// clang-format on

}  // namespace

std::span<const TfRule> sparse_tf_rules() { return kSparseRules; }

}  // namespace dfsim::inline graphs
