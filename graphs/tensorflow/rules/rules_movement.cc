// Joining, splitting, cutting, padding, gathering: what moves elements.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

// The axis of a plain image in channels-first order.
int64_t channels_first_axis(int axis, int rank) {
  return axis == 0 ? 0 : axis == rank - 1 ? 1 : axis + 1;
}

bool all_prefer_channels_first(NodeContext& node, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    if (!node.prefers_channels_first(i)) {
      return false;
    }
  }
  return last > first;
}

// ConcatV2 has the axis last, Concat first.
void concat(NodeContext& node, std::string_view target) {
  const bool axis_first = node.type() == "Concat";
  const size_t count = node.input_count() - 1;
  const auto given = node.integer(axis_first ? 0 : count);
  const size_t begin = axis_first ? 1 : 0;
  if (!given) {
    node.unresolved("its axis is not known before the run");
    return;
  }
  if (count == 1) {
    node.set_value(0, node.input(begin));
    return;
  }
  const int rank = node.rank(begin);
  const int axis = node.axis(*given, rank);
  const bool channels_first = all_prefer_channels_first(node, begin, begin + count);
  std::vector<TensorId> inputs;
  for (size_t i = begin; i < begin + count; ++i) {
    inputs.push_back(channels_first ? node.emitter().channels_first(node.input(i)) : node.plain(i));
  }
  const int64_t own_axis = channels_first ? channels_first_axis(axis, rank) : axis;
  const TensorId result = node.emit(target, std::move(inputs), {{"axis", own_axis}});
  if (channels_first) {
    node.set_channels_first(0, result);
  } else {
    node.set(0, result);
  }
}

// Split: axis, value; SplitV: value, sizes, axis.
void split_node(NodeContext& node, std::string_view target) {
  const bool by_sizes = node.type() == "SplitV";
  const size_t data = by_sizes ? 0 : 1;
  const auto given = node.integer(by_sizes ? 2 : 0);
  auto sizes = by_sizes ? node.ints(1) : std::optional(std::vector<int64_t>());
  const int64_t parts = node.attr_int("num_split", 0);
  if (!given || !sizes) {
    node.unresolved("its axis or sizes are not known before the run");
    return;
  }
  const int rank = node.rank(data);
  const int axis = node.axis(*given, rank);
  if (rank == 0) {
    return;  // axis() has reported it
  }
  if (parts < 1 || parts > (1 << 20) || (by_sizes && sizes->size() != static_cast<size_t>(parts))) {
    node.error(fmt::format("num_split is {}; expected as many as there are sizes", parts));
    return;
  }
  const int64_t extent = node.shape(data)[axis].extent();
  if (by_sizes) {
    const auto rest = std::find(sizes->begin(), sizes->end(), -1);
    if (rest != sizes->end()) {
      Count known(0);
      for (const int64_t size : *sizes) {
        known += Count(size);
      }
      *rest = known.overflowed() ? -1 : extent - (known.value() + 1);
    }
  } else if (extent % parts != 0) {
    node.error(fmt::format("an axis of {} cannot be split into {} equal parts", extent, parts));
    return;
  } else {
    sizes = std::vector<int64_t>(static_cast<size_t>(parts), extent / parts);
  }
  const bool channels_first = node.prefers_channels_first(data);
  const TensorId x =
      channels_first ? node.emitter().channels_first(node.input(data)) : node.plain(data);
  const int64_t own_axis = channels_first ? channels_first_axis(axis, rank) : axis;
  const auto results = node.emit_many(target, {x, node.emitter().add_ints(*sizes)},
                                      {{"axis", own_axis}}, static_cast<size_t>(parts));
  for (size_t i = 0; i < results.size(); ++i) {
    channels_first ? node.set_channels_first(i, results[i]) : node.set(i, results[i]);
  }
}

void pack(NodeContext& node, std::string_view target) {
  const int axis = node.axis(node.attr_int("axis", 0), node.rank(0) + 1);
  std::vector<TensorId> rows;
  for (size_t i = 0; i < node.input_count(); ++i) {
    rows.push_back(node.help("Unsqueeze", {node.plain(i), node.emitter().add_ints({axis})}));
  }
  node.set(0, rows.size() == 1 ? rows[0]
                               : node.emit(target, std::move(rows), {{"axis", int64_t{axis}}}));
}

void unpack(NodeContext& node, std::string_view target) {
  const int rank = node.rank(0);
  const int axis = node.axis(node.attr_int("axis", 0), rank);
  const int64_t count = node.attr_int("num", 0);
  if (rank == 0 || count < 1 || node.shape(0)[axis].extent() != count) {
    node.error(
        fmt::format("num is {} for an input of shape {}", count, format_shape(node.shape(0))));
    return;
  }
  const TensorId axes = node.emitter().add_ints({axis});
  const std::vector<int64_t> ones(static_cast<size_t>(count), 1);
  const auto rows = count == 1
                        ? std::vector<TensorId>{node.plain(0)}
                        : node.emit_many(target, {node.plain(0), node.emitter().add_ints(ones)},
                                         {{"axis", int64_t{axis}}}, ones.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    node.set(i, node.help("Squeeze", {rows[i], axes}));
  }
}

void transpose(NodeContext& node, std::string_view /*target*/) {
  const auto perm = node.ints(1);
  const int rank = node.rank(0);
  if (!perm) {
    node.unresolved("its permutation is not known before the run");
    return;
  }
  std::vector<int64_t> sorted = *perm;
  for (int64_t& axis : sorted) {
    axis += axis < 0 ? rank : 0;
  }
  const std::vector<int64_t> positive = sorted;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i) || static_cast<int>(sorted.size()) != rank) {
      node.error(fmt::format("its permutation does not fit an input of rank {}", rank));
      return;
    }
  }
  // The orders of images that exist already cost nothing.
  if (rank >= 3 && positive == to_channels_first(rank) && node.prefers_channels_first(0)) {
    node.set(0, node.emitter().channels_first(node.input(0)));
  } else if (rank >= 3 && positive == to_channels_last(rank)) {
    node.set_channels_first(0, node.plain(0));
  } else {
    node.set(0, node.emitter().transposed(node.plain(0), positive));
  }
}

// Rows of begin and end per axis become all begins, then all ends.
void pad(NodeContext& node, std::string_view target) {
  const auto rows = node.ints(1);
  const int rank = node.rank(0);
  if (!rows || static_cast<int>(rows->size()) != 2 * rank) {
    node.unresolved("its padding is not known before the run");
    return;
  }
  const bool channels_first = node.prefers_channels_first(0);
  std::vector<int64_t> pads(rows->size(), 0);
  for (int axis = 0; axis < rank; ++axis) {
    const auto to = static_cast<size_t>(channels_first ? channels_first_axis(axis, rank) : axis);
    const size_t row = 2 * static_cast<size_t>(axis);
    pads[to] = (*rows)[row];
    pads[to + static_cast<size_t>(rank)] = (*rows)[row + 1];
  }
  const bool mirror = node.type().starts_with("Mirror");
  const bool symmetric = node.attr_string("mode", "") == "SYMMETRIC";
  const std::string mode = !mirror ? "constant" : symmetric ? "symmetric" : "reflect";
  const TensorId x = channels_first ? node.emitter().channels_first(node.input(0)) : node.plain(0);
  std::vector<TensorId> inputs = {x, node.emitter().add_ints(pads)};
  if (node.type() == "PadV2" && node.has_input(2)) {
    inputs.push_back(node.plain(2));
  }
  const TensorId result = node.emit(target, std::move(inputs), {{"mode", mode}});
  channels_first ? node.set_channels_first(0, result) : node.set(0, result);
}

void tile(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0), node.plain(1)}));
}

void reverse(NodeContext& node, std::string_view target) {
  const auto axes = node.ints(1);
  if (!axes) {
    node.unresolved("its axes are not known before the run");
    return;
  }
  const size_t count = axes->size();
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
  node.set(
      0, node.emit(target, {node.plain(0), node.emitter().add_ints(std::vector<int64_t>(count, -1)),
                            node.emitter().add_ints(std::vector<int64_t>(count, -kFar)),
                            node.emitter().add_ints(*axes),
                            node.emitter().add_ints(std::vector<int64_t>(count, -1))}));
}

// Images cut into blocks that become batches, and back: dilated convolutions of TensorFlow 1.
void space_batch(NodeContext& node, std::string_view target) {
  const auto blocks = node.ints(1);
  const auto edges = node.ints(2);
  if (!blocks || !edges) {
    node.unresolved("its blocks are not known before the run");
    return;
  }
  node.set(
      0, node.emit(target, {node.plain(0)}, {{"blocks", *blocks}, {"edges", *edges}}, kTensorFlow));
}

void roll(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0)}, {}, kTensorFlow));
}

// Bidirectional layers of TensorFlow 1 turn each sequence round up to its own length.
void reverse_sequence(NodeContext& node, std::string_view target) {
  node.set(0, node.emit(target, {node.plain(0), node.plain(1)},
                        {{"time_axis", node.attr_int("seq_dim", 0)},
                         {"batch_axis", node.attr_int("batch_dim", 0)}}));
}

// clang-format off
constexpr TfRule kMovementRules[] = {
    {.type = "ConcatV2", .translate = concat, .target = "Concat", .required_inputs = 2},
    {.type = "Concat", .translate = concat, .target = "Concat", .required_inputs = 2},
    {.type = "Split", .translate = split_node, .target = "Split", .required_inputs = 2},
    {.type = "SplitV", .translate = split_node, .target = "Split", .required_inputs = 3},
    {.type = "Pack", .translate = pack, .target = "Concat"},
    {.type = "Unpack", .translate = unpack, .target = "Split"},
    {.type = "Transpose", .translate = transpose, .required_inputs = 2},
    {.type = "Pad", .translate = pad, .target = "Pad", .required_inputs = 2},
    {.type = "PadV2", .translate = pad, .target = "Pad", .required_inputs = 2},
    {.type = "MirrorPad", .translate = pad, .target = "Pad", .required_inputs = 2},
    {.type = "Tile", .translate = tile, .target = "Tile", .required_inputs = 2},
    {.type = "ReverseV2", .translate = reverse, .target = "Slice", .required_inputs = 2},
    {.type = "SpaceToBatchND", .translate = space_batch, .target = "SpaceToBatchND",
     .required_inputs = 3},
    {.type = "BatchToSpaceND", .translate = space_batch, .target = "BatchToSpaceND",
     .required_inputs = 3},
    {.type = "ReverseSequence", .translate = reverse_sequence, .target = "ReverseSequence",
     .required_inputs = 2},
    {.type = "Roll", .translate = roll, .target = "Roll", .required_inputs = 3},
};
// clang-format on

}  // namespace

std::span<const TfRule> movement_tf_rules() { return kMovementRules; }

}  // namespace dfsim::inline graphs
