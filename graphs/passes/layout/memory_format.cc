// PyTorch's memory format with channels last: the shapes stay, the strides change.
//
// Convolutions read and write it, and operators that work element by element, by channel or by
// window keep it. A copy converts where an image enters the model, and one before a Reshape that
// needs plain strides. Convolutions and batch normalisation, whose kernels differ, get the
// attribute `channels_last`; in a training step their gradients have it, too. PyTorch resizes such
// images by another kernel than those that serial_images.cc is about.
//
// Images can have these strides without anyone asking for them: a Transpose of tokens with their
// channels last is a view. A convolution keeps the format of its image, so hybrids of transformers
// and convolutions (ConvNeXt, PVT) run on channels last where no conversion was inserted.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/passes/layout/permutation.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kImageRank = 4;

class FormatKeeper {
 public:
  // Converts images to the format where a convolution reads them, or follows it where it appears.
  enum class Mode { kConvert, kFollow };

  FormatKeeper(EditableGraph& graph, Mode mode)
      : graph_(graph), converts_(mode == Mode::kConvert) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      if (graph_.alive(id)) {
        visit(id);
      }
    }
  }

 private:
  bool is_image(TensorId id) const { return id.valid() && graph_.shape(id).rank() == kImageRank; }
  bool is_last(TensorId id) const { return id.valid() && last_.contains(id); }
  // Both formats are one where there is one channel, or one pixel.
  bool is_either(TensorId id) const {
    const Shape& shape = graph_.shape(id);
    return shape.is_static() &&
           (shape[1].extent() == 1 || shape[2].extent() * shape[3].extent() == 1);
  }

  void visit(OpId id) {
    const Op& op = graph_.op(id);
    if (op.inputs.empty() || op.outputs.empty()) {
      return;
    }
    const TensorId x = op.inputs[0];
    if (op.op_type == "Conv" && op.domain.empty() && is_image(x) && !graph_.is_parameter(x)) {
      if (!converts_ && !is_last(x)) {
        return;
      }
      if (op.attributes.int_or(kChannelsLast, 0) == 0) {
        conv(id);
      }
      last_.insert(graph_.op(id).outputs[0]);
    } else if (op.op_type == "QLinearConv" && converts_) {
      last_.insert(op.outputs[0]);  // kernels of 8 bits have no other layout
    } else if (op.op_type == "Transpose") {
      transpose(op);
    } else if (op.op_type == "Reshape" || op.op_type == "Flatten") {
      if (!converts_ && turned_.contains(x) && splits_pixels(op)) {
        last_.insert(op.outputs[0]);
      } else if (converts_ && is_last(x) && !is_either(x) && !merges_pixels(op)) {
        graph_.set_input(id, 0, converted(x, "/to_channels_first"));
      }
    } else if (keeps_format(op)) {
      for (const TensorId output : op.outputs) {
        if (is_image(output)) {
          last_.insert(output);
        }
      }
      if (op.op_type == "BatchNormalization") {
        mark(id);
      } else if (is_last(x) && op.attributes.int_or(kSerialImages, 0) != 0) {
        graph_.attributes(id).set(std::string(kSerialImages), int64_t{0});
      }
    }
  }

  // Those that give an image, or tokens that become one, the strides of channels last.
  void transpose(const Op& op) {
    const TensorId x = op.inputs[0];
    const auto* perm = op.attributes.get_ints("perm");
    if (perm == nullptr || (!converts_ && op.op_class != OpClass::kView)) {
      return;  // one that copies leaves plain strides
    }
    if (is_image(x) && !is_last(x) && *perm == Permutation{0, 3, 1, 2}) {
      last_.insert(op.outputs[0]);
    } else if (*perm == Permutation{0, 2, 1}) {
      turned_.insert(op.outputs[0]);
    }
  }

  void mark(OpId id) { graph_.attributes(id).set(std::string(kChannelsLast), int64_t{1}); }

  void conv(OpId id) {
    const TensorId x = graph_.op(id).inputs[0];
    if (!is_last(x) && !is_either(x)) {
      graph_.set_input(id, 0, converted(x, "/to_channels_last"));
    }
    mark(id);
  }

  // [N, C, HW] to [N, C, H, W].
  bool splits_pixels(const Op& op) const {
    const Shape& from = graph_.shape(op.inputs[0]);
    const Shape& to = graph_.shape(op.outputs[0]);
    return from.is_static() && to.is_static() && to.rank() == kImageRank &&
           to[0].extent() == from[0].extent() && to[1].extent() == from[1].extent();
  }

  // [N, C, H, W] to [N, C, HW], whose strides fit either way.
  bool merges_pixels(const Op& op) const {
    const Shape& from = graph_.shape(op.inputs[0]);
    const Shape& to = graph_.shape(op.outputs[0]);
    return from.is_static() && to.is_static() && to.rank() == 3 &&
           to[0].extent() == from[0].extent() && to[1].extent() == from[1].extent();
  }

  bool keeps_format(const Op& op) const {
    constexpr std::array<std::string_view, 9> kTypes = {
        "Concat", "Pad",     "Resize",         "Split",           "Slice",
        "Cast",   "Dropout", "QuantizeLinear", "DequantizeLinear"};
    const bool by_class = op.op_class == OpClass::kElementwise || op.op_class == OpClass::kPool ||
                          op.op_type == "BatchNormalization" ||
                          op.op_type == "GroupNormalization" ||
                          op.op_type == "InstanceNormalization";
    if (!by_class && std::ranges::find(kTypes, op.op_type) == kTypes.end()) {
      return false;
    }
    return std::ranges::any_of(op.inputs, [this](TensorId id) { return is_last(id); });
  }

  // The tensor in the other format, converted once for all its readers.
  TensorId converted(TensorId from, std::string_view suffix) {
    TensorId& twin = converted_[from];
    if (twin.valid()) {
      return twin;
    }
    const Tensor tensor = graph_.tensor(from);
    const std::string name = tensor.name + std::string(suffix);
    twin = graph_.add_tensor(name, tensor.dtype, tensor.shape);
    Op op;
    op.op_type = "contiguous";
    op.domain = kAten;
    op.name = name;
    op.version = 1;
    op.inputs = {from};
    op.outputs = {twin};
    const OpId producer = graph_.producer(from);
    set_origins(&op, producer.valid() ? origins_of(graph_.op(producer))
                                      : std::vector<OpOrigin>{{"contiguous", name}});
    graph_.add_op(std::move(op));
    return twin;
  }

  EditableGraph& graph_;
  bool converts_;
  std::unordered_set<TensorId> last_;
  std::unordered_set<TensorId> turned_;  // [N, C, HW] with the strides of [N, HW, C]
  std::unordered_map<TensorId, TensorId> converted_;
};

}  // namespace

void keep_channels_last(EditableGraph& graph) {
  FormatKeeper(graph, FormatKeeper::Mode::kConvert).run();
}

void follow_channels_last(EditableGraph& graph) {
  FormatKeeper(graph, FormatKeeper::Mode::kFollow).run();
}

}  // namespace dfsim::inline graphs
