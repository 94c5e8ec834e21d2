// Rules of the operators that compute: products, windows, reductions, elementwise, resizing.
#include "graphs/passes/open/follower.h"

namespace dfsim::inline graphs::open {

void Follower::unranked(const Op& op) {
  lost(op);
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].valid()) {
      out(op, i).ranked = false;
      out(op, i).elements.reset();
    }
  }
}

void Follower::lost(const Op& op) {
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].valid()) {
      std::fill(out(op, i).axes.begin(), out(op, i).axes.end(), kUnknownExtent);
    }
  }
}

// Results with the extents of the first operand have its axes; others are lost if it is open.
void Follower::same(const Op& op) {
  const bool open = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
    return id.valid() && !all_known(facts_[id.index()].axes);
  });
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid()) {
      continue;
    }
    Facts& result = out(op, i);
    if (has(op, 0) && graph_.tensor(op.outputs[i]).shape == shape_of(op, 0)) {
      result.axes = in(op, 0).axes;
      result.elements = i == 0 && (op.op_type == "Cast" || op.op_type == "Identity")
                            ? in(op, 0).elements
                            : std::nullopt;
    } else if (open) {
      std::fill(result.axes.begin(), result.axes.end(), kUnknownExtent);
    }
  }
}

void Follower::broadcast(const Op& op) {
  set_axes(op, 0, merged_axes(op, rank_out(op), 0));
  const ConstValue* value = graph_.constant(op.outputs[0]);
  if (value == nullptr || value->extents.size() > 1 || value->size() > kMostElements) {
    return;
  }
  const auto of_all = [&](auto holds) {
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      const auto& elements = id.valid() ? facts_[id.index()].elements : std::nullopt;
      return elements && holds(*elements);
    });
  };
  // ONNX Runtime carries the values of shapes through these four only.
  const bool carried =
      (op.op_type == "Add" || op.op_type == "Sub" || op.op_type == "Mul" || op.op_type == "Div") &&
      of_all(
          [](const Extents& e) { return std::count(e.begin(), e.end(), kUncarriedExtent) == 0; });
  const Extent state = !carried            ? kUncarriedExtent
                       : of_all(all_known) ? kKnownExtent
                                           : kUnknownExtent;
  out(op).elements = Extents(value->size(), state);
}

void Follower::matmul(const Op& op) {
  const Extents& a = in(op, 0).axes;
  const Extents& b = in(op, 1).axes;
  if (a.size() < 2 || b.size() < 2 || rank_out(op) < 2) {
    return same(op);
  }
  Extents axes = merged_axes(op, rank_out(op) - 2, 2);
  axes.push_back(a[a.size() - 2]);
  axes.push_back(b.back());
  set_axes(op, 0, std::move(axes));
}

void Follower::gemm(const Op& op) {
  const Extents& a = in(op, 0).axes;
  const Extents& b = in(op, 1).axes;
  if (a.size() == 2 && b.size() == 2) {
    const Extent rows = a[op.attributes.int_or("transA", 0) != 0 ? 1 : 0];
    set_axes(op, 0, {rows, b[op.attributes.int_or("transB", 0) != 0 ? 0 : 1]});
  }
}

// Convolutions and pools: channels of a convolution come from its weight.
void Follower::window(const Op& op) {
  Extents axes = in(op, 0).axes;
  for (size_t i = 2; i < axes.size(); ++i) {
    axes[i] = axes[i] == kKnownExtent ? kKnownExtent : kUnknownExtent;
  }
  if (op.op_class == OpClass::kConv && axes.size() > 1) {
    axes[1] = in(op, 1).axes.empty() ? kUnknownExtent : in(op, 1).axes[0];
  }
  set_axes(op, 0, std::move(axes));
}

void Follower::pool(const Op& op) {
  Extents axes = in(op, 0).axes;
  std::fill(axes.begin() + std::min<std::ptrdiff_t>(2, std::ssize(axes)), axes.end(), kKnownExtent);
  set_axes(op, 0, std::move(axes));
}

void Follower::reduce(const Op& op) {
  const Extents& x = in(op, 0).axes;
  auto axes = list(op, "axes", 1);
  if (op.op_type == "ArgMax" || op.op_type == "ArgMin") {
    axes = {op.attributes.int_or("axis", 0)};
  } else if (op.op_type.starts_with("Cum")) {
    return same(op);
  }
  const bool keep = op.attributes.int_or("keepdims", 1) != 0;
  std::vector<bool> reduced(x.size(), !axes && !has(op, 1));
  for (const int64_t axis : axes.value_or(std::vector<int64_t>())) {
    if (const size_t slot = slot_of(axis, x.size()); slot < x.size()) {
      reduced[slot] = true;
    }
  }
  if (!axes && has(op, 1)) {
    return lost(op);
  }
  Extents result;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!reduced[i] || keep) {
      result.push_back(reduced[i] ? kKnownExtent : x[i]);
    }
  }
  set_axes(op, 0, std::move(result));
}

// Broadcasts the axes of all operands but the last `skipped` of each.
Extents Follower::merged_axes(const Op& op, size_t rank, size_t skipped) const {
  Extents axes(rank, kKnownExtent);
  for (size_t k = 0; k < rank; ++k) {  // from the right
    MergedAxis merged;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const size_t own = in(op, i).axes.size();
      if (has(op, i) && own > k + skipped) {
        const size_t axis = own - 1 - k - skipped;
        const Dim dim = shape_of(op, i)[static_cast<int>(axis)];
        merged.add(in(op, i).axes[axis], dim.known() ? dim.extent() : 0);
      }
    }
    axes[rank - 1 - k] = merged.result();
  }
  return axes;
}

void Follower::resize(const Op& op) {
  const bool by_sizes = has(op, 3);
  if (by_sizes ? !in(op, 3).constant && !is_carried(op, 3)
               : !is_constant_input(op, has(op, 2) ? 2 : 1)) {
    return lost(op);
  }
  Extents axes = in(op, 0).axes;
  for (Extent& state : axes) {
    state = by_sizes || state == kKnownExtent ? kKnownExtent : kUnknownExtent;
  }
  set_axes(op, 0, std::move(axes));
}

void Follower::pad(const Op& op) {
  const auto pads = list(op, "pads", 1);
  Extents axes = in(op, 0).axes;
  const bool listed = pads && pads->size() == 2 * axes.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool untouched = listed && (*pads)[i] + (*pads)[i + axes.size()] == 0;
    axes[i] = untouched || (listed && axes[i] == kKnownExtent) ? axes[i] : kUnknownExtent;
  }
  set_axes(op, 0, std::move(axes));
}

void Follower::tile(const Op& op) {
  Extents axes = in(op, 0).axes;
  for (Extent& state : axes) {
    state = state == kKnownExtent && in(op, 1).constant ? kKnownExtent : kUnknownExtent;
  }
  set_axes(op, 0, std::move(axes));
}

// The rows of the first operand, and as many columns as an attribute says.
void Follower::packed_product(const Op& op) {
  Extents axes = in(op, 0).axes;
  if (!axes.empty()) {
    axes.back() = kKnownExtent;
  }
  set_axes(op, 0, std::move(axes));
}

void Follower::recurrent(const Op& op) {
  const Extents& x = in(op, 0).axes;
  if (x.size() != 3) {
    return lost(op);
  }
  const bool steps_first = op.attributes.int_or("layout", 0) == 0;
  const Extent steps = x[steps_first ? 0 : 1];
  const Extent images = x[steps_first ? 1 : 0];
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].valid() && i == 0) {
      set_axes(op, i,
               steps_first ? Extents{steps, kKnownExtent, images, kKnownExtent}
                           : Extents{images, steps, kKnownExtent, kKnownExtent});
    } else if (op.outputs[i].valid()) {
      set_axes(op, i,
               steps_first ? Extents{kKnownExtent, images, kKnownExtent}
                           : Extents{images, kKnownExtent, kKnownExtent});
    }
  }
}

void Follower::top_k(const Op& op) {
  Extents axes = in(op, 0).axes;
  const size_t axis = slot_of(op.attributes.int_or("axis", -1), axes.size());
  if (axis < axes.size()) {
    axes[axis] = list(op, "k", 1) || op.attributes.has("k") ? kKnownExtent : kUnknownExtent;
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].valid()) {
      set_axes(op, i, axes);
    }
  }
}

}  // namespace dfsim::inline graphs::open
