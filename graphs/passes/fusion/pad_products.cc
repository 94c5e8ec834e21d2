// TorchInductor pads the weights of products whose rows are not aligned (its pass pad_mm): GPU
// libraries have slow kernels for a vocabulary of 50,257. It copies the weight into wider rows,
// multiplies, and takes a view of the result. It does so where arithmetic limits the product, since
// others would only gain a copy.
//
// Here: weights of 16 bits, and their columns. Paper: Ansel et al. 2024
// (doi:10.1145/3620665.3640366).
#include <string>
#include <utility>
#include <vector>

#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int64_t kAligned = 8;  // elements of 16 bits: 16 bytes
// Multiply-adds per element of operands and result, from which on arithmetic limits GPUs.
constexpr double kLeastIntensity = 150;

class ProductPadder {
 public:
  explicit ProductPadder(EditableGraph& graph) : graph_(graph) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      if (graph_.alive(id) && wants_padding(graph_.op(id))) {
        pad(id);
      }
    }
  }

 private:
  bool is_weight(TensorId id) const {
    const OpId producer = graph_.producer(id);
    return graph_.is_parameter(id) || (producer.valid() && graph_.op(producer).op_type == "Cast" &&
                                       graph_.is_parameter(graph_.op(producer).inputs[0]));
  }

  // MatMul of an activation and a weight [K, N], without a bias.
  bool wants_padding(const Op& op) const {
    const bool linear = op.op_type == "linear" && op.domain == "aten";
    if ((op.op_type != "MatMul" || !op.domain.empty()) && !linear) {
      return false;
    }
    const TensorId w = op.inputs[1];
    const bool biased = op.inputs.size() > 2 && op.inputs[2].valid();
    if (biased || !is_weight(w) || dtype_bits(graph_.tensor(w).dtype) != 16 ||
        !graph_.shape(w).is_static() || graph_.shape(w).rank() != 2 ||
        !graph_.shape(op.outputs[0]).is_static() || graph_.shape(op.outputs[0]).rank() < 2) {
      return false;
    }
    const int64_t k = graph_.shape(w)[0].extent();
    const int64_t n = graph_.shape(w)[1].extent();
    if (n % kAligned == 0 || k % kAligned != 0 || n <= 1) {
      return false;
    }
    const auto rows = static_cast<double>(graph_.shape(op.outputs[0]).elements().value()) /
                      static_cast<double>(n);
    const auto columns = static_cast<double>(n);
    const auto depth = static_cast<double>(k);
    return rows * columns * depth >=
           kLeastIntensity * (rows * depth + depth * columns + rows * columns);
  }

  Shape wider(TensorId id, int64_t columns) const {
    Dims dims = graph_.shape(id).dims();
    dims[dims.size() - 1] = Dim(columns);
    return Shape(std::move(dims));
  }

  void pad(OpId id) {
    const Op op = graph_.op(id);
    const TensorId w = op.inputs[1];
    const TensorId y = op.outputs[0];
    const int64_t columns = graph_.shape(w)[1].extent();
    const int64_t padded = (columns + kAligned - 1) / kAligned * kAligned;
    const TensorId wide =
        graph_.add_tensor(op.name + "/padded_weight", graph_.tensor(w).dtype, wider(w, padded));
    const TensorId result =
        graph_.add_tensor(op.name + "/padded", graph_.tensor(y).dtype, wider(y, padded));
    Op product = op;
    product.inputs[1] = wide;
    product.outputs[0] = result;
    const int64_t last = graph_.shape(y).rank() - 1;
    graph_.remove_op(id);
    add(op, "Pad", {w, graph_.add_ints(op.name + "/pads", {0, 0, 0, padded - columns})}, wide);
    graph_.add_op(std::move(product));
    graph_.set_class(add(op, "Slice",
                         {result, graph_.add_ints(op.name + "/from", {0}),
                          graph_.add_ints(op.name + "/to", {columns}),
                          graph_.add_ints(op.name + "/axis", {last})},
                         y),
                     OpClass::kView);
  }

  OpId add(const Op& of, const std::string& type, std::vector<TensorId> inputs, TensorId output) {
    Op op;
    op.op_type = type;
    op.version = 13;
    op.name = of.name + "/" + type;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    set_origins(&op, origins_of(of));
    return graph_.add_op(std::move(op));
  }

  EditableGraph& graph_;
};

}  // namespace

void pad_products(EditableGraph& graph) { ProductPadder(graph).run(); }

}  // namespace dfsim::inline graphs
