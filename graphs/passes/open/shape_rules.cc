// Rules of the operators that move elements or shapes, and Reshapes with computed shapes.
#include "graphs/passes/open/follower.h"

namespace dfsim::inline graphs::open {
namespace {

// ONNX's inference for Reshape looks at the number of elements from this version on.
constexpr int kReshapeCountsShape = 14;

// How many elements a computed shape has tells how many axes the result has.
bool has_length(const Facts& shape) {
  return shape.ranked && shape.axes.size() == 1 && shape.axes[0] == kKnownExtent;
}

}  // namespace

void Follower::transpose(const Op& op) {
  const Extents& x = in(op, 0).axes;
  Extents axes(x.rbegin(), x.rend());
  if (const auto* perm = op.attributes.get_ints("perm"); perm && perm->size() == x.size()) {
    for (size_t i = 0; i < x.size(); ++i) {
      axes[i] = x[slot_of((*perm)[i], x.size())];
    }
  }
  set_axes(op, 0, std::move(axes));
}

void Follower::concat(const Op& op) {
  const size_t rank = rank_out(op);
  const size_t joined = slot_of(op.attributes.int_or("axis", 0), rank);
  Extents axes(rank, kKnownExtent);
  Extents elements;
  bool listed = rank == 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    bool known = axis == joined;
    Extent name = kUnknownExtent;  // of the first operand that has one
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Extents& x = in(op, i).axes;
      const Extent state = axis < x.size() ? x[axis] : kUnknownExtent;
      known = axis == joined ? known && state == kKnownExtent : known || state == kKnownExtent;
      name = name < 0 && state > 0 ? state : name;
    }
    axes[axis] = known ? kKnownExtent : axis == joined ? kUnknownExtent : name;
  }
  for (size_t i = 0; listed && i < op.inputs.size(); ++i) {
    listed = in(op, i).elements.has_value();
    if (listed) {
      elements.insert(elements.end(), in(op, i).elements->begin(), in(op, i).elements->end());
    }
  }
  set_axes(op, 0, std::move(axes));
  if (listed && elements.size() <= kMostElements) {
    out(op).elements = std::move(elements);
  }
}

void Follower::split(const Op& op) {
  const Extents& x = in(op, 0).axes;
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].valid()) {
      Extents axes = x;
      Extent& cut = axes[slot_of(op.attributes.int_or("axis", 0), x.size())];
      cut = cut == kKnownExtent ? kKnownExtent : kUnknownExtent;
      set_axes(op, i, std::move(axes));
    }
  }
}

void Follower::slice(const Op& op) {
  const Extents& x = in(op, 0).axes;
  const auto starts = list(op, "starts", 1);
  const auto ends = list(op, "ends", 2);
  if (!starts || !ends || !is_constant_input(op, 3) || !is_constant_input(op, 4)) {
    return lost(op);
  }
  std::vector<int64_t> cut(starts->size());
  for (size_t i = 0; i < cut.size(); ++i) {
    cut[i] = static_cast<int64_t>(i);
  }
  cut = list(op, "axes", 3).value_or(cut);
  Extents axes = x;
  for (const int64_t axis : cut) {
    Extent& state = axes[slot_of(axis, x.size())];
    state = state == kKnownExtent ? kKnownExtent : kUnknownExtent;
  }
  set_axes(op, 0, std::move(axes));
  if (in(op, 0).elements && starts->size() == 1 && !has(op, 4)) {
    const Extents& from = *in(op, 0).elements;
    const auto size = static_cast<int64_t>(from.size());
    const auto bound = [size](int64_t i) {
      return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
    };
    const int64_t begin = bound((*starts)[0]);
    const int64_t end = std::max(begin, bound((*ends)[0]));
    out(op).elements = Extents(from.begin() + begin, from.begin() + end);
  }
}

void Follower::gather(const Op& op) {
  const Extents& data = in(op, 0).axes;
  const Extents& indices = in(op, 1).axes;
  if (data.empty()) {
    return;
  }
  const auto axis = std::ptrdiff_t(slot_of(op.attributes.int_or("axis", 0), data.size()));
  Extents axes(data.begin(), data.begin() + axis);
  axes.insert(axes.end(), indices.begin(), indices.end());
  axes.insert(axes.end(), data.begin() + axis + 1, data.end());
  set_axes(op, 0, std::move(axes));
  const auto chosen = list(op, "", 1);
  if (in(op, 0).elements && chosen && indices.size() <= 1) {
    const Extents& from = *in(op, 0).elements;
    Extents elements;
    for (const int64_t index : *chosen) {
      const size_t slot = slot_of(index, from.size());
      elements.push_back(slot < from.size() ? from[slot] : kUnknownExtent);
    }
    out(op).elements = std::move(elements);
  }
}

void Follower::gather_elements(const Op& op) { set_axes(op, 0, in(op, 1).axes); }

// Constant shapes: 0 copies, and -1 is known when everything else is, copied axes aside.
void Follower::reshape(const Op& op) {
  const Extents& x = in(op, 0).axes;
  auto target = list(op, "shape", 1);
  const size_t rank = rank_out(op);
  if (!target && becomes_constant(op)) {
    target = fixed_target(op);
  } else if (!target && is_carried(op, 1)) {
    target = graph_.constant(op.inputs[1])->ints;
  }
  if (!target || target->size() != rank) {
    return op.version >= kReshapeCountsShape && has_length(in(op, 1)) ? lost(op) : unranked(op);
  }
  Extents axes(rank, kKnownExtent);
  std::vector<bool> copied(std::max(rank, x.size()), false);
  for (size_t i = 0; i < rank; ++i) {
    if ((*target)[i] == 0 && i < x.size()) {
      axes[i] = x[i];
      copied[i] = x[i] != kKnownExtent;
    }
  }
  bool rest_known = in(op, 0).ranked;
  for (size_t i = 0; i < x.size(); ++i) {
    rest_known = rest_known && (x[i] == kKnownExtent || copied[i]);
  }
  for (size_t i = 0; i < rank; ++i) {
    if ((*target)[i] == -1) {
      axes[i] = rest_known ? kKnownExtent : kUnknownExtent;
    }
  }
  set_axes(op, 0, std::move(axes));
}

// ONNX Runtime carries a computed shape to its reader when each element is a number before the
// first run; ONNX's inference would take names of dimensions, too.
bool Follower::is_carried(const Op& op, size_t input) const {
  const auto& elements = in(op, input).elements;
  const ConstValue* values = graph_.constant(op.inputs[input]);
  return elements && values != nullptr && !is_floating(values->dtype) && all_known(*elements) &&
         std::all_of(values->ints.begin(), values->ints.end(), [](int64_t e) { return e >= 0; });
}

// The tensor is one extent, taken straight from a Shape: the tensor that has it, when its axis is
// that one.
std::optional<TensorId> Follower::gathered_from(TensorId tensor, size_t axis) const {
  OpId maker = graph_.tensor(tensor).producer;
  while (maker.valid() &&
         (graph_.op(maker).op_type == "Unsqueeze" || graph_.op(maker).op_type == "Squeeze")) {
    maker = graph_.tensor(graph_.op(maker).inputs[0]).producer;
  }
  if (!maker.valid() ||
      (graph_.op(maker).op_type != "Gather" && graph_.op(maker).op_type != "Slice")) {
    return std::nullopt;
  }
  const OpId shape = graph_.tensor(graph_.op(maker).inputs[0]).producer;
  if (!shape.valid() || graph_.op(shape).op_type != "Shape") {
    return std::nullopt;
  }
  const auto chosen = list(graph_.op(maker), "starts", 1);
  const bool same = chosen && chosen->size() == 1 &&
                    slot_of(chosen->front(), in(graph_.op(shape), 0).axes.size()) == axis;
  return same ? std::optional(graph_.op(shape).inputs[0]) : std::nullopt;
}

// Whether ReshapeFusion sees the operand's own extent in the piece of the shape at `axis`: it is
// gathered from the same axis, known or not, or from that of a tensor with the same number or name.
bool Follower::copies_axis(const Op& op, TensorId piece, size_t axis) const {
  const auto source = gathered_from(piece, axis);
  if (!source || *source == op.inputs[0]) {
    return source.has_value();
  }
  const Extents& x = in(op, 0).axes;
  const Extents& other = facts_[source->index()].axes;
  if (axis >= x.size() || axis >= other.size() || x[axis] != other[axis]) {
    return false;
  }
  return x[axis] > 0 ||
         (x[axis] == kKnownExtent && shape_of(op, 0)[static_cast<int>(axis)] ==
                                         graph_.tensor(*source).shape[static_cast<int>(axis)]);
}

// ONNX Runtime's ReshapeFusion: each element of the computed shape is a constant, the extent of the
// same axis of the operand, or the one that may be -1. It looks at what Concat joins, which no
// other operator may read, and each piece must be one element.
bool Follower::becomes_constant(const Op& op) const {
  const OpId maker = has(op, 1) ? graph_.tensor(op.inputs[1]).producer : OpId();
  if (!in(op, 1).elements || in(op, 1).constant || !maker.valid() ||
      graph_.op(maker).op_type != "Concat" || graph_.constant(op.inputs[1]) == nullptr ||
      shared_shapes_.contains(op.inputs[1])) {
    return false;
  }
  for (const TensorId piece : graph_.op(maker).inputs) {
    const Facts& facts = facts_[piece.index()];
    if (!facts.constant && (!facts.elements || facts.elements->size() != 1)) {
      return false;
    }
  }
  const std::vector<int64_t> target = fixed_target(op);
  return std::count(target.begin(), target.end(), -1) <= 1;
}

// The elements of the computed shape as ReshapeFusion sees them: 0 for the operand's own extent, -1
// for the one more computation, also when that is an extent of another axis.
std::vector<int64_t> Follower::fixed_target(const Op& op) const {
  const size_t length = in(op, 1).elements->size();
  const Op& maker = graph_.op(graph_.tensor(op.inputs[1]).producer);
  std::vector<int64_t> target;
  for (const TensorId piece : maker.inputs) {
    const Facts& facts = facts_[piece.index()];
    const size_t count = facts.elements ? facts.elements->size() : 0;
    for (size_t i = 0; i < count && target.size() < length; ++i) {
      const size_t next = target.size();
      target.push_back(facts.constant                 ? graph_.constant(op.inputs[1])->as_int(next)
                       : copies_axis(op, piece, next) ? 0
                                                      : -1);
    }
  }
  return target;
}

void Follower::flatten(const Op& op) {
  const Extents& x = in(op, 0).axes;
  const size_t cut = slot_of(op.attributes.int_or("axis", 1), x.size());
  const auto product = [&](size_t begin, size_t end) {
    if (end == begin + 1) {
      return x[begin];
    }
    return all_known(Extents(x.begin() + std::ptrdiff_t(begin), x.begin() + std::ptrdiff_t(end)))
               ? kKnownExtent
               : kUnknownExtent;
  };
  set_axes(op, 0, {product(0, cut), product(cut, x.size())});
}

void Follower::squeeze(const Op& op) {
  const Extents& x = in(op, 0).axes;
  const auto given = list(op, "axes", 1);
  std::vector<bool> dropped(x.size(), false);
  for (size_t i = 0; i < x.size() && !given; ++i) {
    const Dim dim = shape_of(op, 0)[static_cast<int>(i)];
    dropped[i] = dim.known() && dim.extent() == 1 && x[i] == kKnownExtent;
  }
  for (const int64_t axis : given.value_or(std::vector<int64_t>())) {
    dropped[slot_of(axis, x.size())] = true;
  }
  Extents axes;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!dropped[i]) {
      axes.push_back(x[i]);
    }
  }
  set_axes(op, 0, std::move(axes));
  out(op).elements = in(op, 0).elements;
}

void Follower::unsqueeze(const Op& op) {
  const Extents& x = in(op, 0).axes;
  const auto given = list(op, "axes", 1);
  if (!given) {
    return lost(op);
  }
  std::vector<bool> added(rank_out(op), false);
  for (const int64_t axis : *given) {
    if (const size_t slot = slot_of(axis, added.size()); slot < added.size()) {
      added[slot] = true;
    }
  }
  Extents axes;
  size_t next = 0;
  for (const bool is_new : added) {
    axes.push_back(is_new || next >= x.size() ? kKnownExtent : x[next++]);
  }
  set_axes(op, 0, std::move(axes));
  if (added.size() == 1) {
    out(op).elements = in(op, 0).elements;
  }
}

void Follower::expand(const Op& op) {
  // Each axis of an extent other than 1 keeps it.
  if (!has_length(in(op, 1))) {
    return unranked(op);
  }
  const size_t rank = rank_out(op);
  const bool carried = in(op, 1).constant || is_carried(op, 1);
  const auto count = static_cast<size_t>(std::max<int64_t>(0, shape_of(op, 1).extents().front()));
  const Extents& x = in(op, 0).axes;
  const ConstValue* target = graph_.constant(op.inputs[1]);
  Extents axes(rank, kKnownExtent);
  for (size_t k = 0; k < rank; ++k) {
    MergedAxis merged;
    if (k < x.size()) {
      const Dim dim = shape_of(op, 0)[static_cast<int>(x.size() - 1 - k)];
      merged.add(x[x.size() - 1 - k], dim.known() ? dim.extent() : 0);
    }
    if (k < count) {
      const bool known = carried && target != nullptr;
      merged.add(known ? kKnownExtent : kUnknownExtent, known ? target->as_int(count - 1 - k) : 0);
    }
    axes[rank - 1 - k] = merged.result();
  }
  set_axes(op, 0, std::move(axes));
}

void Follower::shape(const Op& op) {
  const Extents& x = in(op, 0).axes;
  const auto rank = static_cast<int64_t>(x.size());
  const auto bound = [rank](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  const int64_t begin = bound(op.attributes.int_or("start", 0));
  const int64_t end = std::max(begin, bound(op.attributes.int_or("end", rank)));
  Extents elements(x.begin() + begin, x.begin() + end);
  // ONNX Runtime recognises an axis that is gathered from a whole Shape only, and shape inference
  // carries no part of one.
  if (op.attributes.has("start") || op.attributes.has("end") || !in(op, 0).ranked) {
    std::replace_if(
        elements.begin(), elements.end(), [](Extent element) { return element != kKnownExtent; },
        kUncarriedExtent);
  }
  if (!in(op, 0).ranked) {
    lost(op);
    std::fill(elements.begin(), elements.end(), kUncarriedExtent);
  }
  out(op).elements = std::move(elements);
}

// ONNX's inference reads constant shapes only, and those are folded.
void Follower::filled(const Op& op) { return has_length(in(op, 0)) ? lost(op) : unranked(op); }

}  // namespace dfsim::inline graphs::open
