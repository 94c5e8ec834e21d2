// Fused projections taken apart for tensor parallelism.
//
// Purpose: GPT-2 and many others compute queries, keys and values in one product of a weight
//   [K, 3 H] and split the result. A device cannot hold a contiguous part of its columns: it would
//   get queries alone. Megatron-LM (Shoeybi et al. 2019, arXiv:1909.08053) orders the columns by
//   heads instead, which is the same as three products of weights [K, H], each cut by columns.
// The graph computes the same; its products are smaller and more.
#pragma once

#include <string_view>

#include "base/status.h"
#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

// The parts of a weight "w" and of its product are "w/part1", "w/part2", …
inline constexpr std::string_view kWeightPart = "/part";

// Each product with a weight whose columns are picked in parts becomes one product per part.
// Between both there may be a bias, a Reshape that makes an axis of the parts, and operators that
// move that axis; a Split, Slices or Gathers of one index pick the parts, and leave nothing out.
// O(ops).
StatusOr<Graph> split_fused_weights(const Graph& graph);

// A table of at least as many rows that indices are looked up in is a vocabulary.
inline constexpr int64_t kLeastVocabulary = 4096;

// Weights with at least `least_rows` rows that a Gather looks up, products of the same size of
// vocabulary, and what follows them, with the vocabulary padded to a multiple of `multiple`, as
// Megatron-LM pads (--make-vocab-size-divisible-by). `*padded` counts the vocabularies. O(ops).
StatusOr<Graph> pad_vocabulary(const Graph& graph, int64_t least_rows, int64_t multiple,
                               size_t* padded);

}  // namespace dfsim::inline graphs
