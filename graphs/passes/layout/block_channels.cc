// ONNX Runtime's NCHWc layout: convolutions and what follows them work on blocks of channels.
//
// A tensor in blocks is made by a blocked operator. Blocked operators read each other directly;
// from the outside they read through ReorderInput, and everything else reads them through
// ReorderOutput. Block: 8 channels with AVX and AVX2, 16 with AVX-512.
#include <algorithm>
#include <unordered_map>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/passes/layout/blocked_extents.h"
#include "graphs/passes/layout/blocked_upsampling.h"
#include "graphs/passes/layout/permutation.h"
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {
namespace {

constexpr std::string_view kBlocked = kMicrosoftBlocked;
constexpr int64_t kInputAlignment = 4;  // channels that a blocked convolution may read

class Blocker {
 public:
  Blocker(EditableGraph& graph, int64_t block) : graph_(graph), block_(block) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      if (graph_.alive(id) && graph_.shape(graph_.op(id).outputs[0]).rank() == 4) {
        visit(id);
      }
    }
    for (const TensorId id : order_) {
      reorder_output(id);
    }
  }

 private:
  struct Blocked {
    TensorId tensor;     // the same values in blocks
    size_t readers = 0;  // of the plain tensor, before anything was blocked
    BlockedExtents extents;
  };

  void visit(OpId id) {
    const Op& op = graph_.op(id);
    const std::string_view type = op.op_type;
    if (type == "FusedConv" || (type == "Conv" && op.domain.empty())) {
      conv(id);
    } else if (type == "QuickGelu" || type == "Gelu") {
      elementwise(id);
    } else if (!op.domain.empty()) {
      return;
    } else if (type == "MaxPool" || type == "AveragePool" || type == "GlobalMaxPool" ||
               type == "GlobalAveragePool") {
      pool(id);
    } else if (type == "Resize") {
      upsample(id);
    } else if (type == "Add" || type == "Sum") {
      sum(id);
    } else if (type == "Mul") {
      product(id);
    } else if (type == "Concat") {
      concat(id);
    } else if (type == "Relu" || type == "Sigmoid" || type == "Tanh" || type == "LeakyRelu" ||
               type == "HardSigmoid" || type == "Clip") {
      activation(id);
    } else if (type == "BatchNormalization") {
      batch_norm(id);
    }
  }

  bool is_blocked(TensorId id) const { return id.valid() && blocked_.contains(id); }
  TensorId in_blocks(TensorId id) const { return blocked_.at(id).tensor; }

  bool aligned(TensorId id) const {
    const Shape& shape = graph_.shape(id);
    return shape.is_static() && shape.rank() == 4 && shape[1].extent() % block_ == 0;
  }

  TensorId add_in_blocks(std::string name, const Tensor& plain) {
    const TensorId twin = graph_.add_tensor(std::move(name), plain.dtype, plain.shape);
    graph_.set_channel_block(twin, static_cast<int>(block_));
    return twin;
  }

  // A twin of the plain tensor that holds it in blocks.
  TensorId add_blocked(TensorId plain) {
    const Tensor tensor = graph_.tensor(plain);
    const TensorId twin = add_in_blocks(tensor.name + "/blocks", tensor);
    size_t readers = graph_.readers(plain).size();
    readers += tensor.is_output ? 1 : 0;
    blocked_[plain] = {twin, readers, BlockedExtents::of(plain)};
    order_.push_back(plain);
    return twin;
  }

  // Replaces the op by its blocked version, which makes the twin of its result.
  void become(OpId id, Op op, std::string_view domain, const BlockedExtents& extents) {
    const TensorId plain = graph_.op(id).outputs[0];
    op.domain = domain;
    op.outputs = {add_blocked(plain)};
    blocked_.at(plain).extents = extents;
    graph_.fuse({id}, std::move(op));
  }

  // The result of a convolution or pool; what it reads before it reads blocks.
  BlockedExtents window_extents(const Op& op, const std::vector<int64_t>& kernel) const {
    return is_blocked(op.inputs[0]) ? strided_extents(op, blocked_.at(op.inputs[0]).extents, kernel)
                                    : BlockedExtents::of(op.outputs[0]);
  }

  void conv(OpId id) {
    Op op = graph_.op(id);
    const Shape& x = graph_.shape(op.inputs[0]);
    const Shape& w = graph_.shape(op.inputs[1]);
    if (!x.is_static() || w.rank() != 4 || !graph_.is_fixed(op.inputs[1]) ||
        graph_.tensor(op.inputs[1]).dtype != DType::kFloat32 || op.inputs.size() > 3 ||
        (op.inputs.size() == 3 && op.inputs[2].valid() && !graph_.is_fixed(op.inputs[2]))) {
      return;
    }
    const int64_t group = op.attributes.int_or("group", 1);
    const int64_t out = w[0].extent();
    const int64_t in = w[1].extent();  // per group
    bool reads_plain = false;
    if (group > 1) {
      const bool depthwise = in == 1 && out == group;
      // A depthwise convolution may fill its last block with channels that don't exist.
      if (depthwise ? out % kInputAlignment != 0
                    : out % block_ != 0 || in % block_ != 0 || out % group != 0 ||
                          out / group % block_ != 0) {
        return;
      }
    } else if (in < block_) {
      reads_plain = true;
    } else if (in % kInputAlignment != 0) {
      return;
    }
    const BlockedExtents extents = reads_plain ? BlockedExtents::of(op.outputs[0])
                                               : window_extents(op, {w[2].extent(), w[3].extent()});
    if (!reads_plain) {
      op.inputs[0] = is_blocked(op.inputs[0]) ? in_blocks(op.inputs[0]) : reorder_input(id);
    }
    op.op_type = "Conv";
    become(id, std::move(op), kBlocked, extents);
  }

  bool is_transpose(OpId id, const Permutation& perm) const {
    const Op* op = id.valid() ? &graph_.op(id) : nullptr;
    const auto* given = op != nullptr && op->op_type == "Transpose" && op->domain.empty()
                            ? op->attributes.get_ints("perm")
                            : nullptr;
    return given != nullptr && *given == perm;
  }

  // Reorders the op's first operand, once for all that read it so. A Transpose that moves channels
  // to the front for this op alone goes into the reorder.
  TensorId reorder_input(OpId id) {
    const TensorId plain = graph_.op(id).inputs[0];
    TensorId& twin = reordered_[plain];
    if (!twin.valid()) {
      const Tensor tensor = graph_.tensor(plain);
      twin = add_in_blocks(tensor.name + "/reordered", tensor);
      const OpId transpose = graph_.producer(plain);
      const bool last = is_transpose(transpose, {0, 3, 1, 2}) && graph_.sole_reader(plain).valid();
      const TensorId from = last ? graph_.op(transpose).inputs[0] : plain;
      add_reorder("ReorderInput", graph_.op(id).name, from, twin, last);
    }
    return twin;
  }

  void add_reorder(std::string_view type, const std::string& name, TensorId from, TensorId to,
                   bool channels_last) {
    const bool input = type == "ReorderInput";
    Op reorder;
    reorder.op_type = type;
    reorder.domain = kBlocked;
    reorder.name = name + (input ? "/reorder_input" : "/reorder_output");
    reorder.attributes.set("channels", graph_.shape(input ? to : from)[1].extent());
    reorder.attributes.set("channels_last", int64_t{channels_last});
    reorder.inputs = {from};
    reorder.outputs = {to};
    const OpId producer = graph_.producer(from);
    set_origins(&reorder, producer.valid() ? origins_of(graph_.op(producer))
                                           : std::vector<OpOrigin>{{std::string(type), name}});
    graph_.add_op(std::move(reorder));
  }

  // Pools with a window are worth a reorder of what they read, those over everything are not. ONNX
  // Runtime's kernel for blocks can't average windows that reach over the edge by both roundings.
  void pool(OpId id) {
    Op op = graph_.op(id);
    const bool global = op.op_type.starts_with("Global");
    if (op.op_type == "AveragePool" && op.attributes.int_or("ceil_mode", 0) != 0 &&
        op.attributes.int_or("count_include_pad", 0) != 0) {
      return;
    }
    if (op.outputs.size() > 1 || graph_.tensor(op.inputs[0]).dtype != DType::kFloat32 ||
        !aligned(op.inputs[0]) || !graph_.extent_known(op.inputs[0], 1) ||
        (global && !is_blocked(op.inputs[0]))) {
      return;
    }
    const auto* kernel = op.attributes.get_ints("kernel_shape");
    const BlockedExtents extents =
        window_extents(op, kernel != nullptr ? *kernel : std::vector<int64_t>());
    op.inputs[0] = is_blocked(op.inputs[0]) ? in_blocks(op.inputs[0]) : reorder_input(id);
    become(id, std::move(op), kBlocked, extents);
  }

  void upsample(OpId id) {
    Op op = graph_.op(id);
    if (!is_blocked(op.inputs[0]) || !has_blocked_upsampling(graph_, op)) {
      return;
    }
    const BlockedExtents extents = BlockedExtents::of(op.outputs[0]);
    op = blocked_upsampling(graph_, op);
    op.inputs = {in_blocks(op.inputs[0])};
    become(id, std::move(op), kBlocked, extents);
  }

  // As many channels in blocks in each operand.
  bool all_blocked(const Op& op) const {
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      return is_blocked(id) && graph_.shape(id)[1] == graph_.shape(op.inputs[0])[1];
    });
  }

  bool all_alike(const Op& op) const {
    const TensorId first = op.inputs[0];
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      for (int axis = 0; axis < 4; ++axis) {
        if (!same_blocked_extent(graph_, first, blocked_.at(first).extents, id,
                                 blocked_.at(id).extents, axis)) {
          return false;
        }
      }
      return true;
    });
  }

  // A convolution without activation whose result only this sum reads adds the other operand.
  void sum(OpId id) {
    Op op = graph_.op(id);
    if (op.inputs.size() < 2 || !all_blocked(op)) {
      return;
    }
    if (!all_alike(op)) {
      return sum_of_reshaped(id);
    }
    for (size_t i = 0; op.inputs.size() == 2 && i < 2; ++i) {
      const Blocked& mine = blocked_.at(op.inputs[i]);
      const OpId conv = graph_.producer(mine.tensor);
      const Op& producer = graph_.op(conv);
      if (producer.op_type != "Conv" || producer.domain != kBlocked || mine.readers != 1 ||
          producer.inputs.size() > 3 || producer.attributes.has("activation")) {
        continue;
      }
      const TensorId other = in_blocks(op.inputs[1 - i]);
      Op fused = producer;
      fused.inputs.resize(4);
      fused.inputs[3] = other;
      const BlockedExtents extents = mine.extents;
      drop(op.inputs[i]);
      fused.outputs = {add_blocked(op.outputs[0])};
      blocked_.at(op.outputs[0]).extents = extents;
      graph_.fuse({conv, id}, std::move(fused));
      return;
    }
    run_in_blocks(id);
  }

  // Tensors in blocks whose shapes may differ are added with the blocks as an axis of their own.
  void sum_of_reshaped(OpId id) {
    Op op = graph_.op(id);
    for (TensorId& input : op.inputs) {
      const TensorId from = in_blocks(input);
      const Tensor tensor = graph_.tensor(from);
      input = graph_.add_tensor(tensor.name + "/split", tensor.dtype, split(tensor.shape));
      add_reshape(op, from, input, true);
    }
    const TensorId plain = op.outputs[0];
    const TensorId twin = add_blocked(plain);
    const Tensor tensor = graph_.tensor(plain);
    op.outputs = {graph_.add_tensor(tensor.name + "/sum", tensor.dtype, split(tensor.shape))};
    const TensorId total = op.outputs[0];
    graph_.fuse({id}, op);
    add_reshape(op, total, twin, false);
  }

  Shape split(const Shape& shape) const {
    const int64_t blocks = (shape[1].extent() + block_ - 1) / block_;
    return Shape({shape[0], Dim(blocks), shape[2], shape[3], Dim(block_)});
  }

  void add_reshape(const Op& sum, TensorId from, TensorId to, bool into_blocks) {
    const int64_t blocks =
        (graph_.shape(into_blocks ? from : to)[1].extent() + block_ - 1) / block_;
    Op reshape;
    reshape.op_type = "Reshape";
    reshape.name = graph_.tensor(to).name + "/reshape";
    reshape.version = 14;
    const std::vector<int64_t> extents = into_blocks
                                             ? std::vector<int64_t>{0, blocks, 0, 0, block_}
                                             : std::vector<int64_t>{0, blocks * block_, 0, 0};
    reshape.inputs = {from, graph_.add_ints(reshape.name + "/extents", extents)};
    reshape.outputs = {to};
    set_origins(&reshape, origins_of(sum));
    graph_.add_op(std::move(reshape));
  }

  // The result has the extents of the first operand; a Concat's has channels of its own.
  void run_in_blocks(OpId id) {
    Op op = graph_.op(id);
    const std::string domain = op.domain;
    BlockedExtents extents = blocked_.at(op.inputs[0]).extents;
    if (op.op_type == "Concat") {
      extents.axes[1] = {op.outputs[0], 0};
    }
    std::transform(op.inputs.begin(), op.inputs.end(), op.inputs.begin(),
                   [&](TensorId input) { return is_blocked(input) ? in_blocks(input) : input; });
    become(id, std::move(op), domain, extents);
  }

  void product(OpId id) {
    const Op& op = graph_.op(id);
    for (size_t i = 0; i < 2; ++i) {
      if (is_blocked(op.inputs[i]) &&
          is_per_channel(graph_, op.inputs[1 - i], graph_.shape(op.inputs[i]))) {
        return depthwise(id, op.inputs[i], false);
      }
    }
    if (all_blocked(op) && all_alike(op)) {
      run_in_blocks(id);
    }
  }

  void concat(OpId id) {
    const Op& op = graph_.op(id);
    const bool fits = op.attributes.int_or("axis", 0) == 1 &&
                      std::all_of(op.inputs.begin(), op.inputs.end(),
                                  [&](TensorId in) { return is_blocked(in) && aligned(in); });
    if (fits) {
      run_in_blocks(id);
    }
  }

  void elementwise(OpId id) {
    if (is_blocked(graph_.op(id).inputs[0])) {
      run_in_blocks(id);
    }
  }

  void activation(OpId id) {
    const Op& op = graph_.op(id);
    if (!is_blocked(op.inputs[0])) {
      return;
    }
    const Blocked& source = blocked_.at(op.inputs[0]);
    const OpId conv = graph_.producer(source.tensor);
    const Op& producer = graph_.op(conv);
    if (producer.op_type != "Conv" || producer.domain != kBlocked || source.readers != 1 ||
        producer.attributes.has("activation")) {
      run_in_blocks(id);
      return;
    }
    Op fused = producer;
    fused.attributes.set("activation", op.op_type);
    const BlockedExtents extents = source.extents;
    const TensorId plain = op.outputs[0];
    drop(op.inputs[0]);
    fused.outputs = {add_blocked(plain)};
    blocked_.at(plain).extents = extents;
    graph_.fuse({conv, id}, std::move(fused));
  }

  void batch_norm(OpId id) {
    const Op& op = graph_.op(id);
    if (op.outputs.size() == 1 && is_blocked(op.inputs[0]) &&
        graph_.shape(op.inputs[0]).is_static()) {
      depthwise(id, op.inputs[0], true);
    }
  }

  // One multiply-add per element is a depthwise convolution of 1 x 1. ONNX Runtime makes its
  // weights itself and pads them, so the last block need not be full.
  void depthwise(OpId id, TensorId image, bool bias) {
    const Op& op = graph_.op(id);
    const Dim channels = graph_.shape(image)[1];
    Op conv;
    conv.op_type = "Conv";
    conv.name = op.name;
    conv.attributes.set("group", channels.extent());
    const DType dtype = graph_.tensor(image).dtype;
    conv.inputs = {in_blocks(image), graph_.add_weight(op.name + "/weight", dtype,
                                                       Shape({channels, Dim(1), Dim(1), Dim(1)}))};
    if (bias) {
      conv.inputs.push_back(graph_.add_weight(op.name + "/bias", dtype, Shape({channels})));
    }
    become(id, std::move(conv), kBlocked, blocked_.at(image).extents);
  }

  void drop(TensorId plain) {
    blocked_.erase(plain);
    std::erase(order_, plain);
  }

  // Operators that are not blocked read the blocked tensor through a reorder, which moves channels
  // to the end where a Transpose did that.
  void reorder_output(TensorId plain) {
    const TensorId twin = in_blocks(plain);
    const std::string name = graph_.op(graph_.producer(twin)).name;
    const auto reading = graph_.readers(plain);
    for (const OpId reader : std::vector<OpId>(reading.begin(), reading.end())) {
      if (is_transpose(reader, {0, 2, 3, 1})) {
        const TensorId last = graph_.op(reader).outputs[0];
        graph_.remove_op(reader);
        add_reorder("ReorderOutput", name, twin, last, true);
      }
    }
    if (graph_.tensor(plain).is_output || !graph_.readers(plain).empty()) {
      add_reorder("ReorderOutput", name, twin, plain, false);
    }
  }

  EditableGraph& graph_;
  int64_t block_;
  std::unordered_map<TensorId, Blocked> blocked_;  // by plain tensor
  std::vector<TensorId> order_;                    // plain tensors, as they were blocked
  std::unordered_map<TensorId, TensorId> reordered_;
};

}  // namespace

void block_channels_by_8(EditableGraph& graph) { Blocker(graph, 8).run(); }
void block_channels_by_16(EditableGraph& graph) { Blocker(graph, 16).run(); }

}  // namespace dfsim::inline graphs
