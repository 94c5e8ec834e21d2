// Copies that PyTorch makes of a product's operands. matmul() reshapes several batch axes to one,
// and where the strides of an operand do not allow that, it copies the operand first: queries, keys
// and values that are views of one projection, say. Strides follow from the views behind an
// operand; a result that was computed element by element has its axes in the order of its first
// operand's.
//
// A copy is a Transpose from the order of the axes in memory, which a view before it has.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "graphs/passes/layout/permutation.h"
#include "graphs/passes/layout/strides.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kTransposeVersion = 13;
constexpr int kMostSteps = 16;  // back from an operand; what is farther away is taken as contiguous

// The axes from the outermost in memory to the innermost.
Permutation memory_order(const Layout& layout) {
  Permutation order(layout.extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return layout.strides[static_cast<size_t>(a)] > layout.strides[static_cast<size_t>(b)];
  });
  return order;
}

// As memory_order() has them, without gaps: a result that was computed from such an operand.
Layout dense(const Layout& layout) {
  Layout packed = layout;
  int64_t stride = 1;
  const Permutation order = memory_order(layout);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    packed.strides[static_cast<size_t>(*axis)] = stride;
    stride *= layout.extents[static_cast<size_t>(*axis)];
  }
  return packed;
}

// All axes but the last two can be reshaped to one.
bool batches_follow_each_other(const Layout& layout) {
  std::vector<size_t> axes;
  for (size_t axis = 0; axis + 2 < layout.extents.size(); ++axis) {
    if (layout.extents[axis] > 1) {
      axes.push_back(axis);
    }
  }
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    if (layout.strides[axes[i]] != layout.strides[axes[i + 1]] * layout.extents[axes[i + 1]]) {
      return false;
    }
  }
  return true;
}

class CopyFinder {
 public:
  explicit CopyFinder(EditableGraph& graph) : graph_(graph) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      if (merges_batches(graph_, graph_.op(id))) {
        for (size_t input = 0; input < 2; ++input) {
          copy_operand(id, input);
        }
      }
    }
  }

 private:
  void copy_operand(OpId product, size_t input) {
    const TensorId operand = graph_.op(product).inputs[input];
    const Shape& shape = graph_.shape(operand);
    if (graph_.is_parameter(operand) || !shape.is_static() || shape.rank() < 4) {
      return;
    }
    const Layout layout = layout_of(operand, kMostSteps);
    if (!batches_follow_each_other(layout)) {
      const std::string name =
          fmt::format("{}/operand{}", graph_.tensor(graph_.op(product).outputs[0]).name, input);
      graph_.set_input(product, input, copied(operand, memory_order(layout), name));
    }
  }

  Layout layout_of(TensorId id, int steps) const {
    const Layout plain = contiguous(graph_.shape(id).extents());
    const OpId producer = graph_.producer(id);
    if (!producer.valid() || steps == 0) {
      return plain;
    }
    const Op& op = graph_.op(producer);
    if (op.inputs.empty() || !op.inputs[0].valid() || !graph_.shape(op.inputs[0]).is_static()) {
      return plain;
    }
    return behind(op, id, layout_of(op.inputs[0], steps - 1)).value_or(plain);
  }

  // The layout of a result of `op`, whose first operand has the layout `from`; none where it is
  // contiguous.
  std::optional<Layout> behind(const Op& op, TensorId result, const Layout& from) const {
    const std::vector<int64_t> extents = graph_.shape(result).extents();
    if (!op.domain.empty() || op.attributes.int_or(kCopies, 0) != 0) {
      return std::nullopt;
    }
    if (op.op_type == "Transpose") {
      return transposed(from, op);
    }
    if (op.op_type == "Reshape" || op.op_type == "Flatten" || op.op_type == "Squeeze" ||
        op.op_type == "Unsqueeze") {
      return reshaped(from, extents);
    }
    const bool same_rank = extents.size() == from.extents.size();
    if ((op.op_type == "Split" || op.op_type == "Slice") && same_rank) {
      return Layout{extents, from.strides};
    }
    if (op.op_type == "Gather" && extents.size() + 1 == from.extents.size()) {
      Layout chosen = from;  // select() of one index
      const auto axis = static_cast<ptrdiff_t>(op.attributes.int_or("axis", 0));
      const ptrdiff_t at = axis < 0 ? axis + std::ssize(from.extents) : axis;
      chosen.extents.erase(chosen.extents.begin() + at);
      chosen.strides.erase(chosen.strides.begin() + at);
      return chosen;
    }
    if (op.op_class == OpClass::kElementwise && extents == from.extents) {
      return dense(from);
    }
    return std::nullopt;
  }

  // A copy for one product: each call of matmul() makes its own.
  TensorId copied(TensorId operand, const Permutation& order, const std::string& name) {
    std::vector<int64_t> extents;
    Permutation back(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      extents.push_back(graph_.shape(operand).extents()[static_cast<size_t>(order[i])]);
      back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    const TensorId view = transpose(operand, name + "/in_memory", Shape::of(extents), order);
    const TensorId copy = transpose(view, name, graph_.shape(operand), back);
    graph_.attributes(graph_.producer(copy)).set(std::string(kCopies), int64_t{1});
    return copy;
  }

  TensorId transpose(TensorId from, const std::string& name, Shape shape, const Permutation& perm) {
    const TensorId to = graph_.add_tensor(name, graph_.tensor(from).dtype, std::move(shape));
    Op op;
    op.op_type = "Transpose";
    op.name = name;
    op.version = kTransposeVersion;
    op.attributes.set("perm", perm);
    op.inputs = {from};
    op.outputs = {to};
    const OpId producer = graph_.producer(from);
    set_origins(&op, producer.valid() ? origins_of(graph_.op(producer))
                                      : std::vector<OpOrigin>{{"Transpose", op.name}});
    graph_.add_op(std::move(op));
    return to;
  }

  EditableGraph& graph_;
};

}  // namespace

void copy_product_operands(EditableGraph& graph) { CopyFinder(graph).run(); }

}  // namespace dfsim::inline graphs
