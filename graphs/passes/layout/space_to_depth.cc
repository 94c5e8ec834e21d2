// Four Slices that take every second row and column of an image, joined along the channels (YOLO's
// focus layer), become SpaceToDepth; a Gather follows when the parts are in another order. ONNX
// Runtime's SliceConcatToSpaceToDepthFusion, with its conditions: each part is one Slice, or one
// for the rows and one for the columns; nothing else reads the Slice next to the Concat.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kChannels = 1;
constexpr int kRows = 2;
constexpr int kColumns = 3;
constexpr size_t kParts = 4;
constexpr int64_t kEverySecond = 2;
constexpr int kFirstWithOperands = 10;  // Slice took attributes before that version

// Where a part begins; kNone where no Slice has stepped along the axis yet.
constexpr int64_t kNone = -1;

struct SlicedPart {
  std::vector<OpId> slices;  // from the Concat upwards
  TensorId image;
  int64_t row = kNone;
  int64_t column = kNone;
};

bool ends_last(const EditableGraph& graph, TensorId image, int axis, int64_t end) {
  return end == std::numeric_limits<int64_t>::max() ||
         (end >= 0 && graph.extent_known(image, axis) && end >= graph.shape(image)[axis].extent());
}

// The Slice takes every second row, every second column, or both. False otherwise.
bool step_through(const EditableGraph& graph, const Op& slice, SlicedPart* part) {
  if (slice.op_type != "Slice" || !slice.domain.empty() || slice.version < kFirstWithOperands ||
      slice.inputs.size() < 4 || graph.tensor(slice.outputs[0]).is_output) {
    return false;
  }
  const TensorId image = slice.inputs[0];
  const auto starts = graph.ints(slice.inputs[1]);
  const auto ends = graph.ints(slice.inputs[2]);
  const auto axes = graph.ints(slice.inputs[3]);
  const auto steps = slice.inputs.size() > 4 ? graph.ints(slice.inputs[4]) : std::nullopt;
  if (graph.shape(image).rank() != 4 || !starts || !ends || !axes || !steps ||
      starts->size() != axes->size() || ends->size() != axes->size() ||
      steps->size() != axes->size()) {
    return false;
  }
  bool steps_here = false;
  for (size_t i = 0; i < axes->size(); ++i) {
    const int axis = static_cast<int>((*axes)[i] < 0 ? (*axes)[i] + 4 : (*axes)[i]);
    if (axis < 0 || axis > kColumns || !ends_last(graph, image, axis, (*ends)[i])) {
      return false;
    }
    if ((*steps)[i] == 1 && (*starts)[i] == 0) {
      continue;
    }
    int64_t& begin = axis == kRows ? part->row : part->column;
    if ((axis != kRows && axis != kColumns) || (*steps)[i] != kEverySecond || begin != kNone ||
        ((*starts)[i] != 0 && (*starts)[i] != 1)) {
      return false;
    }
    begin = (*starts)[i];
    steps_here = true;
  }
  return steps_here;
}

std::optional<SlicedPart> part_of(const EditableGraph& graph, OpId concat, TensorId joined) {
  if (graph.sole_reader(joined) != concat) {
    return std::nullopt;
  }
  SlicedPart part;
  part.image = joined;
  while (part.slices.size() < 2 && (part.row == kNone || part.column == kNone)) {
    const OpId maker = graph.producer(part.image);
    if (!maker.valid() || !step_through(graph, graph.op(maker), &part)) {
      return std::nullopt;
    }
    part.slices.push_back(maker);
    part.image = graph.op(maker).inputs[0];
  }
  return part.row == kNone || part.column == kNone ? std::nullopt : std::optional(part);
}

// The Concat, and each Slice that only the others of these read.
std::vector<OpId> replaced_ops(const EditableGraph& graph, OpId concat,
                               const std::array<SlicedPart, kParts>& parts) {
  std::vector<OpId> replaced = {concat};
  for (const size_t level : {size_t{0}, size_t{1}}) {
    for (const SlicedPart& part : parts) {
      if (part.slices.size() <= level ||
          std::find(replaced.begin(), replaced.end(), part.slices[level]) != replaced.end()) {
        continue;
      }
      const auto readers = graph.readers(graph.op(part.slices[level]).outputs[0]);
      if (std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
            return std::find(replaced.begin(), replaced.end(), reader) != replaced.end();
          })) {
        replaced.push_back(part.slices[level]);
      }
    }
  }
  return replaced;
}

// SpaceToDepth's parts are in the order (0, 0), (0, 1), (1, 0), (1, 1); the channels that a Gather
// takes from them otherwise.
std::vector<int64_t> channels_taken(const std::array<SlicedPart, kParts>& parts, int64_t channels) {
  std::vector<int64_t> taken;
  for (const SlicedPart& part : parts) {
    for (int64_t i = 0; i < channels; ++i) {
      taken.push_back((part.row * kEverySecond + part.column) * channels + i);
    }
  }
  return taken;
}

void replace(EditableGraph& graph, OpId concat, const std::array<SlicedPart, kParts>& parts) {
  const Op joined = graph.op(concat);
  const TensorId image = parts[0].image;
  Op blocks;
  blocks.op_type = "SpaceToDepth";
  blocks.name = joined.name + "/SpaceToDepth";
  blocks.version = joined.version;
  blocks.attributes.set("blocksize", kEverySecond);
  blocks.inputs = {image};
  const auto taken = channels_taken(parts, graph.shape(image)[kChannels].extent());
  const std::vector<OpId> replaced = replaced_ops(graph, concat, parts);
  if (std::is_sorted(taken.begin(), taken.end())) {
    blocks.outputs = joined.outputs;
    graph.fuse(replaced, std::move(blocks));
    return;
  }
  const TensorId result = joined.outputs[0];
  const auto open = graph.open_axes(result);
  blocks.outputs = {
      graph.add_tensor(blocks.name, graph.tensor(result).dtype, Shape(graph.shape(result)), open)};
  Op gather;
  gather.op_type = "Gather";
  gather.name = joined.name;
  gather.version = joined.version;
  gather.attributes.set("axis", int64_t{kChannels});
  gather.inputs = {blocks.outputs[0], graph.add_ints(joined.name + "/channels", taken)};
  gather.outputs = joined.outputs;
  const OpId made = graph.fuse(replaced, std::move(gather));
  set_origins(&blocks, origins_of(graph.op(made)));
  graph.add_op(std::move(blocks));
}

void fuse_focus(EditableGraph& graph, OpId id) {
  const Op& concat = graph.op(id);
  const Tensor& result = graph.tensor(concat.outputs[0]);
  if (concat.inputs.size() != kParts || result.shape.rank() != 4 || !result.shape.is_static() ||
      (concat.attributes.int_or("axis", 0) != kChannels &&
       concat.attributes.int_or("axis", 0) != kChannels - 4) ||
      (result.dtype != DType::kFloat32 && result.dtype != DType::kFloat64)) {
    return;
  }
  std::array<SlicedPart, kParts> parts;
  std::array<bool, kParts> seen{};
  for (size_t i = 0; i < kParts; ++i) {
    const auto part = part_of(graph, id, concat.inputs[i]);
    if (!part || (i > 0 && part->image != parts[0].image)) {
      return;
    }
    parts[i] = *part;
    seen[static_cast<size_t>(part->row * kEverySecond + part->column)] = true;
  }
  if (std::all_of(seen.begin(), seen.end(), [](bool found) { return found; }) &&
      graph.extent_known(parts[0].image, kChannels)) {
    replace(graph, id, parts);
  }
}

}  // namespace

void slices_to_depth(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    if (graph.alive(id) && graph.op(id).op_type == "Concat" && graph.op(id).domain.empty()) {
      fuse_focus(graph, id);
    }
  }
}

}  // namespace dfsim::inline graphs
