// A fused projection is found by walking forward from a product with a weight: over its bias and
// over operators that only move its columns, to those that pick parts of them. Exporters write that
// walk in many ways:
//   GPT-2                 product, bias, Reshape, Split of the last axis
//   Phi-3, GLU            product, Slices or a Split of the last axis, into unequal parts perhaps
//   timm's ViT            product, bias, Reshape to [.., 3, heads, size], Transpose, Split or
//   Gathers nn.MultiheadAttention product, bias, Reshape to [.., 3, size], Unsqueeze, Transpose,
//   Squeeze, Gathers
// The walk keeps the axis along which the parts lie. Each part then gets a product of its own
// columns and copies of the walk in which that axis has its part alone. Columns ordered by heads
// first (BLOOM, GPT-NeoX) are picked along another axis than the outermost: they need no rewriting,
// as a run of them already holds whole heads.
#include "graphs/passes/layout/split_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "graphs/passes/editable_graph.h"
#include "graphs/passes/layout/weight_products.h"

namespace dfsim::inline graphs {
namespace {

// More parts than a fused projection has: these are experts or classes.
constexpr int64_t kMostFusedParts = 8;

struct WeightPart {
  TensorId result;
  int64_t first = 0;     // along the axis of the parts
  int64_t extent = 0;    // along it
  bool squeeze = false;  // the picker drops the axis
};

// An operator between the product and the pickers, and where its result has the parts.
struct ProjectionStep {
  OpId op;
  int axis = 0;
  int64_t columns_each = 1;  // columns of the product for an index of the axis
};

struct FusedProjection {
  OpId product;
  std::vector<ProjectionStep> steps;
  TensorId end;  // what the pickers read
  int axis = 0;
  int64_t columns_each = 1;
  std::vector<OpId> pickers;
  std::vector<WeightPart> parts;
};

int64_t elements_behind(const Shape& shape, int first) {
  int64_t count = 1;
  for (int d = first; d < shape.rank(); ++d) {
    count *= shape[d].extent();
  }
  return count;
}

int last_axis_of(const Shape& shape) { return shape.rank() - 1; }

class ProjectionFinder {
 public:
  ProjectionFinder(const EditableGraph& graph, OpId product) : graph_(graph) {
    found_.product = product;
  }

  std::optional<FusedProjection> run() {
    found_.end = graph_.op(found_.product).outputs[0];
    if (!graph_.shape(found_.end).is_static() || graph_.shape(found_.end).rank() == 0) {
      return std::nullopt;
    }
    found_.axis = last_axis_of(graph_.shape(found_.end));
    for (OpId next = graph_.sole_reader(found_.end); next.valid() && steps_over(next);
         next = graph_.sole_reader(found_.end)) {
    }
    const bool picked = pick();
    return picked ? std::optional(found_) : std::nullopt;
  }

 private:
  // Whether the walk goes on behind the operator.
  bool steps_over(OpId id) {
    const Op& op = graph_.op(id);
    const Shape& from = graph_.shape(found_.end);
    if (op.outputs.size() != 1 || !graph_.shape(op.outputs[0]).is_static()) {
      return false;
    }
    const bool follows = op.op_type == "Add" ? found_.steps.empty() && is_bias(op)
                         : op.op_type == "Reshape"
                             ? steps_over_reshape(from, graph_.shape(op.outputs[0]))
                             : splits_axis_ && follows_axis(op, from);
    if (follows) {
      found_.steps.push_back({id, found_.axis, found_.columns_each});
      found_.end = op.outputs[0];
    }
    return follows;
  }

  bool is_bias(const Op& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      return graph_.is_parameter(input) && graph_.shape(input).rank() == 1 &&
             graph_.shape(input)[0] == graph_.shape(found_.end)[found_.axis];
    });
  }

  // A Reshape that leaves the last axis, or one that splits it into parts and what they are made
  // of.
  bool steps_over_reshape(const Shape& from, const Shape& to) {
    if (splits_axis_ || from.rank() == 0 || to.rank() == 0) {
      return false;
    }
    if (from[last_axis_of(from)] == to[last_axis_of(to)]) {
      found_.axis = last_axis_of(to);
      return true;
    }
    const int64_t columns = from[last_axis_of(from)].extent();
    for (int d = 0; d + 1 < to.rank(); ++d) {
      if (to[d].extent() > 1 && elements_behind(to, d) == columns) {
        if (to[d].extent() > kMostFusedParts) {
          return false;
        }
        found_.axis = d;
        found_.columns_each = columns / to[d].extent();
        splits_axis_ = true;
        return true;
      }
    }
    return false;
  }

  // Where the axis of the parts goes; false when the operator does more than move it.
  bool follows_axis(const Op& op, const Shape& from) {
    if (op.op_type == "Transpose") {
      const auto* perm = op.attributes.get_ints("perm");
      for (int d = 0; d < from.rank(); ++d) {
        const int64_t source =
            perm != nullptr ? (*perm)[static_cast<size_t>(d)] : last_axis_of(from) - d;
        if (source == found_.axis) {
          found_.axis = d;
          return true;
        }
      }
      return false;
    }
    const bool squeeze = op.op_type == "Squeeze";
    if (!squeeze && op.op_type != "Unsqueeze") {
      return false;
    }
    auto axes = axes_of(op, squeeze ? from.rank() : graph_.shape(op.outputs[0]).rank());
    if (axes.empty() || (squeeze && std::ranges::find(axes, found_.axis) != axes.end())) {
      return false;
    }
    std::ranges::sort(axes);
    int axis = found_.axis;
    for (const int64_t changed : axes) {
      if (squeeze) {
        axis -= changed < found_.axis ? 1 : 0;
      } else {
        axis += changed <= axis ? 1 : 0;
      }
    }
    found_.axis = axis;
    return true;
  }

  std::vector<int64_t> axes_of(const Op& op, int rank) const {
    std::vector<int64_t> axes;
    if (const auto* attribute = op.attributes.get_ints("axes")) {
      axes = *attribute;
    } else if (op.inputs.size() > 1) {
      axes = graph_.ints(op.inputs[1]).value_or(std::vector<int64_t>());
    }
    for (int64_t& axis : axes) {
      axis += axis < 0 ? rank : 0;
    }
    return axes;
  }

  // The parts that the readers of `end` pick: of the last axis, or of the axis that a Reshape made.
  bool pick() {
    const auto readers = graph_.readers(found_.end);
    if (readers.empty() || graph_.tensor(found_.end).is_output) {
      return false;
    }
    for (const OpId reader : readers) {
      const Op& op = graph_.op(reader);
      const bool picks = op.op_type == "Split"    ? readers.size() == 1 && pick_split(op)
                         : op.op_type == "Slice"  ? pick_slice(op)
                         : op.op_type == "Gather" ? pick_gather(op)
                                                  : false;
      if (!picks) {
        return false;
      }
      found_.pickers.push_back(reader);
    }
    return covers_all();
  }

  bool on_axis(int64_t axis) const {
    const int rank = graph_.shape(found_.end).rank();
    return (axis < 0 ? axis + rank : axis) == found_.axis;
  }

  bool pick_split(const Op& op) {
    if (!op.domain.empty() || !on_axis(op.attributes.int_or("axis", 0))) {
      return false;
    }
    int64_t first = 0;
    for (const TensorId output : op.outputs) {
      if (!output.valid() || !graph_.shape(output).is_static()) {
        return false;
      }
      const int64_t extent = graph_.shape(output)[found_.axis].extent();
      found_.parts.push_back({output, first, extent, false});
      first += extent;
    }
    return true;
  }

  // Slice of one axis by one step: data, starts, ends, axes, steps.
  bool pick_slice(const Op& op) {
    const auto list = [&](size_t i) {
      return i < op.inputs.size() ? graph_.ints(op.inputs[i]) : std::nullopt;
    };
    const auto starts = list(1);
    const auto axes = list(3);
    const auto steps = list(4);
    const bool one = starts && starts->size() == 1 && axes && axes->size() == 1 &&
                     on_axis((*axes)[0]) && (!steps || (*steps)[0] == 1);
    if (!one || !graph_.shape(op.outputs[0]).is_static()) {
      return false;
    }
    const int64_t whole = graph_.shape(found_.end)[found_.axis].extent();
    const int64_t first = (*starts)[0] < 0 ? (*starts)[0] + whole : (*starts)[0];
    found_.parts.push_back(
        {op.outputs[0], first, graph_.shape(op.outputs[0])[found_.axis].extent(), false});
    return true;
  }

  // Gather of one number: the axis goes.
  bool pick_gather(const Op& op) {
    const auto index = op.inputs.size() > 1 ? graph_.scalar(op.inputs[1]) : std::nullopt;
    if (!index || graph_.shape(op.inputs[1]).rank() != 0 ||
        !on_axis(op.attributes.int_or("axis", 0))) {
      return false;
    }
    const int64_t whole = graph_.shape(found_.end)[found_.axis].extent();
    const auto at = static_cast<int64_t>(*index);
    found_.parts.push_back({op.outputs[0], at < 0 ? at + whole : at, 1, true});
    return true;
  }

  // Two parts or more that touch and leave nothing out, so that no arithmetic gets lost.
  bool covers_all() {
    std::ranges::sort(found_.parts, {}, &WeightPart::first);
    int64_t next = 0;
    for (const WeightPart& part : found_.parts) {
      if (part.first != next || part.extent < 1) {
        return false;
      }
      next += part.extent;
    }
    const auto count = static_cast<int64_t>(found_.parts.size());
    return count > 1 && count <= kMostFusedParts &&
           next == graph_.shape(found_.end)[found_.axis].extent();
  }

  const EditableGraph& graph_;
  FusedProjection found_;
  bool splits_axis_ = false;  // a Reshape has made an axis of parts
};

class ProjectionSplitter {
 public:
  ProjectionSplitter(EditableGraph& graph, const FusedProjection& found)
      : graph_(graph), found_(found) {}

  void run() {
    const Op product = graph_.op(found_.product);
    std::vector<Op> steps;
    for (const ProjectionStep& step : found_.steps) {
      steps.push_back(graph_.op(step.op));
    }
    for (const OpId id : found_.pickers) {
      graph_.remove_op(id);
    }
    for (size_t i = found_.steps.size(); i-- > 0;) {
      graph_.remove_op(found_.steps[i].op);
    }
    graph_.remove_op(found_.product);
    for (size_t i = 0; i < found_.parts.size(); ++i) {
      suffix_ = fmt::format("{}{}", kWeightPart, i + 1);
      make_part(product, steps, found_.parts[i]);
    }
  }

 private:
  void make_part(const Op& product, const std::vector<Op>& steps, const WeightPart& part) {
    const int64_t columns = part.extent * found_.columns_each;
    Op own = product;
    for (size_t k = 1; k < own.inputs.size(); ++k) {
      if (own.inputs[k].valid()) {
        own.inputs[k] = part_of(own.inputs[k], columns, k == 1 && has_turned_weight(own));
      }
    }
    const auto result = [&](bool last) { return last && !part.squeeze ? part.result : TensorId(); };
    const Shape whole = graph_.shape(product.outputs[0]);
    TensorId made = add(std::move(own), with_extent(whole, last_axis_of(whole), columns),
                        result(steps.empty()));
    for (size_t i = 0; i < steps.size(); ++i) {
      made = add_step(steps[i], found_.steps[i], made, part, result(i + 1 == steps.size()));
    }
    if (part.squeeze) {
      Op squeeze;
      squeeze.op_type = "Squeeze";
      squeeze.version = 13;
      squeeze.name = graph_.tensor(part.result).name + suffix_;
      squeeze.inputs = {made, graph_.add_ints(squeeze.name + "/axes", {found_.axis})};
      squeeze.outputs = {part.result};
      graph_.add_op(std::move(squeeze));
    }
  }

  TensorId add_step(Op op, const ProjectionStep& step, TensorId made, const WeightPart& part,
                    TensorId result) {
    const int64_t extent = part.extent * (found_.columns_each / step.columns_each);
    const Shape shape = with_extent(graph_.shape(op.outputs[0]), step.axis, extent);
    size_t moved = 0;
    if (op.op_type == "Add") {
      moved = graph_.is_parameter(op.inputs[0]) ? 1 : 0;
      op.inputs[1 - moved] = part_of(op.inputs[1 - moved], extent, false);
    } else if (op.op_type == "Reshape") {
      op.inputs[1] = graph_.add_ints(op.name + "/extents" + suffix_, shape.extents());
    }
    op.inputs[moved] = made;
    return add(std::move(op), shape, result);
  }

  static Shape with_extent(const Shape& shape, int axis, int64_t extent) {
    Dims dims = shape.dims();
    dims[static_cast<size_t>(axis)] = Dim(extent);
    return Shape(std::move(dims));
  }

  // The operator for one part: it makes `result`, or a tensor of its own.
  TensorId add(Op op, Shape shape, TensorId result) {
    const Tensor source = graph_.tensor(op.outputs[0]);
    const OpClass op_class = op.op_class;
    if (!result.valid()) {
      result = graph_.add_tensor(source.name + suffix_, source.dtype, std::move(shape));
    }
    op.name += suffix_;
    op.outputs = {result};
    graph_.set_class(graph_.add_op(std::move(op)), op_class);  // views stay views
    return result;
  }

  TensorId part_of(TensorId parameter, int64_t columns, bool turned) {
    const Tensor tensor = graph_.tensor(parameter);
    const int axis = turned ? 0 : last_axis_of(tensor.shape);
    return graph_.add_weight(tensor.name + suffix_, tensor.dtype,
                             with_extent(tensor.shape, axis, columns));
  }

  EditableGraph& graph_;
  const FusedProjection& found_;
  std::string suffix_;
};

}  // namespace

StatusOr<Graph> split_fused_weights(const Graph& graph) {
  EditableGraph edited(graph);
  for (const OpId id : edited.ops()) {
    if (edited.alive(id) && multiplies_by_weight(edited, edited.op(id))) {
      if (const auto found = ProjectionFinder(edited, id).run()) {
        ProjectionSplitter(edited, *found).run();
      }
    }
  }
  return edited.finish();
}

}  // namespace dfsim::inline graphs
