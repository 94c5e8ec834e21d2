// Goes through the operators in order. For each tensor it keeps the states of the axes and, for
// short lists of integers, those of the elements, because shapes are made of other tensors' shapes
// (Shape, Gather, Concat, Reshape). Rules are those of ONNX's shape inference, by groups of
// operators; what has no rule keeps the axes of its first operand or loses them.
#include "graphs/passes/open_dims.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

namespace dfsim::inline graphs {
namespace {

using Extents = std::vector<Extent>;
constexpr size_t kMostElements = 64;

// What is known of one tensor.
struct Facts {
  Extents axes;
  std::optional<Extents> elements;
  bool constant = false;  // the same in every run
};

bool all_known(const Extents& axes) {
  return std::all_of(axes.begin(), axes.end(), [](Extent e) { return e == kKnownExtent; });
}

size_t slot_of(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

class Follower {
 public:
  explicit Follower(const Graph& graph) : graph_(graph), facts_(graph.tensor_count()) {
    for (size_t t = 0; t < facts_.size(); ++t) {
      const Tensor& tensor = graph.tensor(TensorId(t));
      facts_[t].axes.assign(static_cast<size_t>(tensor.shape.rank()), kKnownExtent);
      facts_[t].constant = tensor.role != TensorRole::kActivation && !tensor.producer.valid();
      if (facts_[t].constant) {
        set_constant_elements(TensorId(t));
      }
    }
  }

  void open(TensorId id, int axis, Extent symbol) {
    Extents& axes = facts_[id.index()].axes;
    if (axis >= 0 && static_cast<size_t>(axis) < axes.size()) {
      axes[static_cast<size_t>(axis)] = symbol;
    }
  }

  void run() {
    constant_ops.resize(graph_.op_count());
    constant_reshapes.resize(graph_.op_count());
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      const Op& op = graph_.op(OpId(i));
      constant_ops[i] = is_constant(op);
      if (constant_ops[i]) {
        for (const TensorId output : op.outputs) {
          if (output.valid()) {
            facts_[output.index()].constant = true;
            set_constant_elements(output);
          }
        }
        continue;
      }
      infer(op);
      if (op.op_type == "Reshape" && op.domain.empty()) {
        constant_reshapes[i] = becomes_constant(op);
      }
    }
  }

  const Facts& facts(TensorId id) const { return facts_[id.index()]; }

  std::vector<bool> constant_ops;
  std::vector<bool> constant_reshapes;

 private:
  static const std::map<std::string_view, void (Follower::*)(const Op&)>& rules() {
    using F = Follower;
    static const std::map<std::string_view, void (F::*)(const Op&)> kRules = {
        {"MatMul", &F::matmul},      {"Gemm", &F::gemm},           {"Conv", &F::window},
        {"ConvTranspose", &F::window}, {"MaxPool", &F::window},    {"AveragePool", &F::window},
        {"LpPool", &F::window},      {"GlobalAveragePool", &F::pool}, {"GlobalMaxPool", &F::pool},
        {"Transpose", &F::transpose}, {"Concat", &F::concat},      {"Split", &F::split},
        {"Slice", &F::slice},        {"Gather", &F::gather},       {"Reshape", &F::reshape},
        {"Flatten", &F::flatten},    {"Squeeze", &F::squeeze},     {"Unsqueeze", &F::unsqueeze},
        {"Expand", &F::expand},      {"Shape", &F::shape},         {"ConstantOfShape", &F::filled},
        {"Pad", &F::pad},            {"Resize", &F::resize},       {"Range", &F::lost},
        {"Tile", &F::tile},          {"NonZero", &F::lost},        {"Cast", &F::same},
        {"Identity", &F::same},      {"Where", &F::broadcast},     {"Clip", &F::same},
        {"Einsum", &F::lost},
    };
    return kRules;
  }

  const Facts& in(const Op& op, size_t i) const {
    static const Facts kNone;
    return i < op.inputs.size() && op.inputs[i].valid() ? facts_[op.inputs[i].index()] : kNone;
  }
  bool has(const Op& op, size_t i) const { return i < op.inputs.size() && op.inputs[i].valid(); }
  bool is_constant_input(const Op& op, size_t i) const { return !has(op, i) || in(op, i).constant; }
  const Shape& shape_of(const Op& op, size_t i) const {
    return graph_.tensor(op.inputs[i]).shape;
  }
  Facts& out(const Op& op, size_t i = 0) { return facts_[op.outputs[i].index()]; }
  size_t rank_out(const Op& op, size_t i = 0) const {
    return facts_[op.outputs[i].index()].axes.size();
  }
  void set_axes(const Op& op, size_t i, Extents axes) {
    if (axes.size() == rank_out(op, i)) {
      out(op, i).axes = std::move(axes);
    } else {
      std::fill(out(op, i).axes.begin(), out(op, i).axes.end(), kUnknownExtent);
    }
  }

  // A list of the operator, as an attribute or as a constant operand.
  std::optional<std::vector<int64_t>> list(const Op& op, std::string_view name, size_t input) const {
    if (const auto* given = op.attributes.get_ints(name)) {
      return *given;
    }
    if (!has(op, input) || !in(op, input).constant) {
      return std::nullopt;
    }
    const ConstValue* value = graph_.constant(op.inputs[input]);
    return value != nullptr && !is_floating(value->dtype) ? std::optional(value->ints)
                                                          : std::nullopt;
  }

  void set_constant_elements(TensorId id) {
    const ConstValue* value = graph_.constant(id);
    if (value != nullptr && value->extents.size() <= 1 && value->size() <= kMostElements &&
        is_integer(value->dtype)) {
      facts_[id.index()].elements = Extents(value->size(), kKnownExtent);
    }
  }

  bool is_constant(const Op& op) const {
    if (op.op_class == OpClass::kControlFlow) {
      return false;
    }
    if (op.op_type == "Shape" || op.op_type == "Size") {
      return has(op, 0) && all_known(in(op, 0).axes);
    }
    return !op.inputs.empty() && std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      return !id.valid() || facts_[id.index()].constant;
    });
  }

  void infer(const Op& op) {
    const auto rule = op.domain.empty() ? rules().find(op.op_type) : rules().end();
    if (rule != rules().end() && !op.outputs.empty() && op.outputs[0].valid() && has(op, 0)) {
      (this->*rule->second)(op);
    } else if (op.op_class == OpClass::kElementwise) {
      broadcast(op);
    } else if (op.op_class == OpClass::kReduce) {
      reduce(op);
    } else {
      same(op);
    }
  }

  // --- merging ---

  // The axis of a broadcast: a known extent other than 1 decides, then one symbol.
  struct Merged {
    bool known = false;
    bool lost = false;
    Extent symbol = kKnownExtent;

    void add(Extent state, int64_t extent) {
      if (state == kKnownExtent) {
        known = known || extent != 1;
      } else if (state == kUnknownExtent || (symbol != kKnownExtent && symbol != state)) {
        lost = true;
      } else {
        symbol = state;
      }
    }
    Extent result() const {
      return known ? kKnownExtent : lost ? kUnknownExtent : symbol;
    }
  };

  // Broadcasts the axes of all operands but the last `skipped` of each.
  Extents merged_axes(const Op& op, size_t rank, size_t skipped) const {
    Extents axes(rank, kKnownExtent);
    for (size_t k = 0; k < rank; ++k) {  // from the right
      Merged merged;
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

  // --- rules ---

  void lost(const Op& op) {
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].valid()) {
        std::fill(out(op, i).axes.begin(), out(op, i).axes.end(), kUnknownExtent);
      }
    }
  }

  // Results with the extents of the first operand have its axes; others are lost if it is open.
  void same(const Op& op) {
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

  void broadcast(const Op& op) {
    set_axes(op, 0, merged_axes(op, rank_out(op), 0));
    const bool known = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      return id.valid() && facts_[id.index()].elements && all_known(*facts_[id.index()].elements);
    });
    const ConstValue* value = graph_.constant(op.outputs[0]);
    if (value != nullptr && value->extents.size() <= 1 && value->size() <= kMostElements) {
      out(op).elements = Extents(value->size(), known ? kKnownExtent : kUnknownExtent);
    }
  }

  void matmul(const Op& op) {
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

  void gemm(const Op& op) {
    const Extents& a = in(op, 0).axes;
    const Extents& b = in(op, 1).axes;
    if (a.size() == 2 && b.size() == 2) {
      set_axes(op, 0, {a[op.attributes.int_or("transA", 0) != 0 ? 1 : 0],
                       b[op.attributes.int_or("transB", 0) != 0 ? 0 : 1]});
    }
  }

  // Convolutions and pools: channels of a convolution come from its weight.
  void window(const Op& op) {
    Extents axes = in(op, 0).axes;
    for (size_t i = 2; i < axes.size(); ++i) {
      axes[i] = axes[i] == kKnownExtent ? kKnownExtent : kUnknownExtent;
    }
    if (op.op_class == OpClass::kConv && axes.size() > 1) {
      axes[1] = in(op, 1).axes.empty() ? kUnknownExtent : in(op, 1).axes[0];
    }
    set_axes(op, 0, std::move(axes));
  }

  void pool(const Op& op) {
    Extents axes = in(op, 0).axes;
    std::fill(axes.begin() + std::min<std::ptrdiff_t>(2, std::ssize(axes)), axes.end(),
              kKnownExtent);
    set_axes(op, 0, std::move(axes));
  }

  void transpose(const Op& op) {
    const Extents& x = in(op, 0).axes;
    Extents axes(x.rbegin(), x.rend());
    if (const auto* perm = op.attributes.get_ints("perm"); perm && perm->size() == x.size()) {
      for (size_t i = 0; i < x.size(); ++i) {
        axes[i] = x[slot_of((*perm)[i], x.size())];
      }
    }
    set_axes(op, 0, std::move(axes));
  }

  void concat(const Op& op) {
    const size_t rank = rank_out(op);
    const size_t joined = slot_of(op.attributes.int_or("axis", 0), rank);
    Extents axes(rank, kKnownExtent);
    Extents elements;
    bool listed = rank == 1;
    for (size_t axis = 0; axis < rank; ++axis) {
      bool known = axis == joined;
      Merged merged;
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const Extents& x = in(op, i).axes;
        const Extent state = axis < x.size() ? x[axis] : kUnknownExtent;
        known = axis == joined ? known && state == kKnownExtent : known || state == kKnownExtent;
        merged.add(state, 1);
      }
      axes[axis] = known ? kKnownExtent : axis == joined ? kUnknownExtent : merged.result();
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

  void split(const Op& op) {
    const Extents& x = in(op, 0).axes;
    const bool sized = list(op, "split", 1).has_value();
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].valid()) {
        Extents axes = x;
        Extent& cut = axes[slot_of(op.attributes.int_or("axis", 0), x.size())];
        cut = sized || cut == kKnownExtent ? kKnownExtent : kUnknownExtent;
        set_axes(op, i, std::move(axes));
      }
    }
  }

  void slice(const Op& op) {
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
      const auto bound = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
      const int64_t begin = bound((*starts)[0]);
      const int64_t end = std::max(begin, bound((*ends)[0]));
      out(op).elements = Extents(from.begin() + begin, from.begin() + end);
    }
  }

  void gather(const Op& op) {
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

  // Constant shapes: 0 copies, and -1 is known when everything else is, copied axes aside.
  void reshape(const Op& op) {
    const Extents& x = in(op, 0).axes;
    const auto target = list(op, "shape", 1);
    const size_t rank = rank_out(op);
    if (!target || target->size() != rank) {
      const auto& elements = in(op, 1).elements;
      set_axes(op, 0, elements && elements->size() == rank ? *elements
                                                           : Extents(rank, kUnknownExtent));
      return;
    }
    Extents axes(rank, kKnownExtent);
    std::vector<bool> copied(std::max(rank, x.size()), false);
    for (size_t i = 0; i < rank; ++i) {
      if ((*target)[i] == 0 && i < x.size()) {
        axes[i] = x[i];
        copied[i] = x[i] != kKnownExtent;
      }
    }
    bool rest_known = true;
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

  // Each element of the computed shape is known, the extent of the same axis of the operand, or the
  // one that may be -1.
  bool becomes_constant(const Op& op) const {
    const auto& elements = in(op, 1).elements;
    const OpId maker = has(op, 1) ? graph_.tensor(op.inputs[1]).producer : OpId();
    if (!elements || in(op, 1).constant || !maker.valid() ||
        graph_.op(maker).op_type != "Concat") {
      return false;
    }
    const Extents& x = in(op, 0).axes;
    size_t computed = 0;
    for (size_t i = 0; i < elements->size(); ++i) {
      const Extent element = (*elements)[i];
      const bool copies = i < x.size() && element > 0 && element == x[i];
      computed += element != kKnownExtent && !copies ? 1 : 0;
    }
    return computed <= 1;
  }

  void flatten(const Op& op) {
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

  void squeeze(const Op& op) {
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

  void unsqueeze(const Op& op) {
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

  void expand(const Op& op) {
    const auto& elements = in(op, 1).elements;
    if (!elements) {
      return lost(op);
    }
    const size_t rank = rank_out(op);
    const Extents& x = in(op, 0).axes;
    const ConstValue* target = graph_.constant(op.inputs[1]);
    Extents axes(rank, kKnownExtent);
    for (size_t k = 0; k < rank; ++k) {
      Merged merged;
      if (k < x.size()) {
        const Dim dim = shape_of(op, 0)[static_cast<int>(x.size() - 1 - k)];
        merged.add(x[x.size() - 1 - k], dim.known() ? dim.extent() : 0);
      }
      if (k < elements->size()) {
        const size_t i = elements->size() - 1 - k;
        merged.add((*elements)[i], target != nullptr ? target->as_int(i) : 0);
      }
      axes[rank - 1 - k] = merged.result();
    }
    set_axes(op, 0, std::move(axes));
  }

  void shape(const Op& op) {
    const Extents& x = in(op, 0).axes;
    const auto rank = static_cast<int64_t>(x.size());
    const auto bound = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
    const int64_t begin = bound(op.attributes.int_or("start", 0));
    const int64_t end = std::max(begin, bound(op.attributes.int_or("end", rank)));
    out(op).elements = Extents(x.begin() + begin, x.begin() + end);
  }

  void filled(const Op& op) {
    const auto& elements = in(op, 0).elements;
    set_axes(op, 0, elements ? *elements : Extents(rank_out(op), kUnknownExtent));
  }

  void pad(const Op& op) {
    const auto pads = list(op, "pads", 1);
    Extents axes = in(op, 0).axes;
    const bool listed = pads && pads->size() == 2 * axes.size();
    for (size_t i = 0; i < axes.size(); ++i) {
      const bool untouched = listed && (*pads)[i] + (*pads)[i + axes.size()] == 0;
      axes[i] = untouched || (listed && axes[i] == kKnownExtent) ? axes[i] : kUnknownExtent;
    }
    set_axes(op, 0, std::move(axes));
  }

  void resize(const Op& op) {
    const bool by_sizes = has(op, 3);
    const auto& sizes = in(op, 3).elements;
    if (by_sizes ? !sizes.has_value() : !is_constant_input(op, has(op, 2) ? 2 : 1)) {
      return lost(op);
    }
    Extents axes = in(op, 0).axes;
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i] = by_sizes && i < sizes->size()       ? (*sizes)[i]
                : axes[i] == kKnownExtent ? kKnownExtent
                                          : kUnknownExtent;
    }
    set_axes(op, 0, std::move(axes));
  }

  void tile(const Op& op) {
    Extents axes = in(op, 0).axes;
    for (Extent& state : axes) {
      state = state == kKnownExtent && in(op, 1).constant ? kKnownExtent : kUnknownExtent;
    }
    set_axes(op, 0, std::move(axes));
  }

  void reduce(const Op& op) {
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

  const Graph& graph_;
  std::vector<Facts> facts_;
};

}  // namespace

OpenDims::OpenDims(const Graph& graph, const std::vector<BoundDim>& dims) {
  Follower follower(graph);
  std::unordered_map<std::string, TensorId> inputs;
  for (const TensorId input : graph.inputs()) {
    inputs.emplace(graph.tensor(input).name, input);
  }
  bool any = false;
  Extent symbol = 0;
  for (const BoundDim& dim : dims) {
    ++symbol;
    for (const DimPlace& place : dim.places) {
      const auto it = inputs.find(place.input);
      if (it != inputs.end()) {
        follower.open(it->second, place.axis, symbol);
        any = true;
      }
    }
  }
  if (!any) {
    return;
  }
  follower.run();
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    if (!all_known(follower.facts(TensorId(t)).axes)) {
      axes_.emplace(graph.tensor(TensorId(t)).name, follower.facts(TensorId(t)).axes);
    }
  }
  constant_ops_ = std::move(follower.constant_ops);
  constant_reshapes_ = std::move(follower.constant_reshapes);
}

Extent OpenDims::extent(const std::string& tensor, int axis) const {
  const auto it = axes_.find(tensor);
  if (it == axes_.end() || axis < 0 || static_cast<size_t>(axis) >= it->second.size()) {
    return kKnownExtent;
  }
  return it->second[static_cast<size_t>(axis)];
}

}  // namespace dfsim::inline graphs
