// Gathers or Slices that together take a tensor apart along one axis become one Split.
#include <algorithm>
#include <map>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

struct Part {
  OpId op;
  int axis = 0;
  int64_t begin = 0;
  int64_t end = 0;
  bool squeeze = false;  // a Gather whose index has no axis drops the axis
};

// Squeeze and Split take other operands before that version, and ONNX Runtime leaves such models
// alone.
constexpr int kFirstVersion = 13;

int64_t from_start(int64_t index, int64_t extent) {
  return std::clamp<int64_t>(index < 0 ? index + extent : index, 0, extent);
}

std::optional<Part> gather_part(const EditableGraph& graph, OpId id, const Shape& shape) {
  const Op& op = graph.op(id);
  const auto index = graph.ints(op.inputs[1]);
  const int index_rank = graph.shape(op.inputs[1]).rank();
  if (!index || index->size() != 1 || index_rank > 1) {
    return std::nullopt;
  }
  const int64_t axis = op.attributes.int_or("axis", 0);
  Part part{id, static_cast<int>(axis < 0 ? axis + shape.rank() : axis), 0, 0, index_rank == 0};
  part.begin = from_start(index->front(), shape[part.axis].extent());
  part.end = part.begin + 1;
  return part;
}

std::optional<Part> slice_part(const EditableGraph& graph, OpId id, const Shape& shape) {
  const Op& op = graph.op(id);
  if (op.inputs.size() < 4) {
    return std::nullopt;
  }
  const auto starts = graph.ints(op.inputs[1]);
  const auto ends = graph.ints(op.inputs[2]);
  const auto axes = graph.ints(op.inputs[3]);
  const auto steps = op.inputs.size() > 4 ? graph.ints(op.inputs[4]) : std::nullopt;
  const bool plain_step = op.inputs.size() <= 4 || !op.inputs[4].valid() ||
                          (steps && steps->size() == 1 && steps->front() == 1);
  if (!starts || !ends || !axes || starts->size() != 1 || ends->size() != 1 || axes->size() != 1 ||
      !plain_step) {
    return std::nullopt;
  }
  const int64_t axis = axes->front();
  Part part{id, static_cast<int>(axis < 0 ? axis + shape.rank() : axis), 0, 0, false};
  const int64_t extent = shape[part.axis].extent();
  part.begin = from_start(starts->front(), extent);
  part.end = from_start(ends->front(), extent);
  return part;
}

// The parts of the tensor along the axis of the first, when they cover it without overlap.
std::vector<Part> parts_of(const EditableGraph& graph, TensorId id) {
  // ONNX Runtime leaves extents that are gathered from a Shape alone.
  if (const OpId maker = graph.producer(id);
      maker.valid() && graph.op(maker).op_type == "Shape" && graph.op(maker).domain.empty()) {
    return {};
  }
  const Shape& shape = graph.shape(id);
  std::map<int, std::vector<Part>> by_axis;
  for (const OpId reader : graph.readers(id)) {
    const Op& op = graph.op(reader);
    std::optional<Part> part;
    if (op.domain.empty() && op.inputs[0] == id && !graph.tensor(op.outputs[0]).is_output) {
      part = op.op_type == "Gather"  ? gather_part(graph, reader, shape)
             : op.op_type == "Slice" ? slice_part(graph, reader, shape)
                                     : std::nullopt;
    }
    if (part) {
      by_axis[part->axis].push_back(*part);
    }
  }
  for (auto& [axis, parts] : by_axis) {
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.begin < b.begin; });
    int64_t next = 0;
    const bool covers = std::all_of(parts.begin(), parts.end(), [&next](const Part& part) {
      const bool follows = part.begin == next && part.end > part.begin;
      next = part.end;
      return follows;
    });
    if (covers && parts.size() > 1 && graph.extent_known(id, axis) &&
        next == shape[axis].extent()) {
      return parts;
    }
  }
  return {};
}

void split(EditableGraph& graph, TensorId id, const std::vector<Part>& parts) {
  const Op first = graph.op(parts.front().op);
  Op split;
  split.op_type = "Split";
  split.name = first.name + "/split";
  split.version = first.version;
  split.attributes.set("axis", int64_t{parts.front().axis});
  std::vector<int64_t> extents;
  std::vector<std::pair<TensorId, TensorId>> squeezed;
  std::vector<OpId> replaced;
  for (const Part& part : parts) {
    const TensorId result = graph.op(part.op).outputs[0];
    extents.push_back(part.end - part.begin);
    replaced.push_back(part.op);
    if (!part.squeeze) {
      split.outputs.push_back(result);
      continue;
    }
    Dims dims = graph.shape(id).dims();
    dims[static_cast<size_t>(part.axis)] = Dim(1);
    auto open = graph.open_axes(id);
    if (open && !open->empty()) {
      (*open)[static_cast<size_t>(part.axis)] = kKnownExtent;
    }
    const TensorId slice =
        graph.add_tensor(graph.tensor(result).name + "/slice", graph.tensor(id).dtype,
                         Shape(std::move(dims)), std::move(open));
    split.outputs.push_back(slice);
    squeezed.emplace_back(slice, result);
  }
  split.inputs = {id, graph.add_ints(split.name + "/sizes", extents)};
  const int version = split.version;
  const OpId made = graph.fuse(replaced, std::move(split));
  for (const auto& [from, to] : squeezed) {
    Op squeeze;
    squeeze.op_type = "Squeeze";
    squeeze.name = graph.tensor(to).name + "/squeeze";
    squeeze.version = version;
    squeeze.inputs = {from, graph.add_ints(squeeze.name + "/axes", {parts.front().axis})};
    squeeze.outputs = {to};
    set_origins(&squeeze, origins_of(graph.op(made)));
    graph.add_op(std::move(squeeze));
  }
}

// The tensors that operators take apart. ONNX Runtime lists them before it makes the first Split,
// so a slice of a slice counts, but not the results of an operator that has several.
std::vector<TensorId> candidates(const EditableGraph& graph) {
  std::vector<TensorId> found;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const bool takes = op.domain.empty() && op.version >= kFirstVersion &&
                       (op.op_type == "Gather" || op.op_type == "Slice");
    if (!takes || graph.is_parameter(op.inputs[0]) || !graph.shape(op.inputs[0]).is_static()) {
      continue;
    }
    const OpId producer = graph.producer(op.inputs[0]);
    if (!producer.valid() || graph.op(producer).outputs.size() == 1) {
      found.push_back(op.inputs[0]);
    }
  }
  return found;
}

}  // namespace

void slices_to_split(EditableGraph& graph) {
  for (const TensorId source : candidates(graph)) {
    const std::vector<Part> parts = parts_of(graph, source);
    if (!parts.empty()) {
      split(graph, source, parts);
    }
  }
}

}  // namespace dfsim::inline graphs
