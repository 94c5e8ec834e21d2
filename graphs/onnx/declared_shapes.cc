#include "graphs/onnx/declared_shapes_internal.h"
#include "graphs/onnx/tensor_reader_internal.h"

namespace dfsim::inline graphs {

void DeclaredShapes::index() {
  if (indexed_) {
    return;
  }
  indexed_ = true;
  for (const auto* list : {&graph_.value_info(), &graph_.output()}) {
    for (const auto& info : *list) {
      by_name_.emplace(info.name(), &info);
    }
  }
  for (const BoundDim& dim : dims_) {
    extents_.emplace(dim.name, dim.extent);
  }
}

Shape DeclaredShapes::with_numbers(const GraphBuilder& builder, const Shape& shape) const {
  if (!shape.has_rank()) {
    return Shape();
  }
  Dims dims = shape.dims();
  for (Dim& dim : dims) {
    if (!dim.is_symbol()) {
      continue;
    }
    const auto it = extents_.find(builder.symbols()[dim.symbol_index()]);
    dim = it != extents_.end() ? Dim(it->second) : dim;
  }
  return Shape(std::move(dims));
}

void DeclaredShapes::apply(GraphBuilder& builder, OpId op) {
  index();
  for (const TensorId output : builder.op(op).outputs) {
    if (!output.valid() || builder.tensor(output).shape.is_static()) {
      continue;
    }
    const auto it = by_name_.find(builder.tensor(output).name);
    if (it == by_name_.end()) {
      continue;
    }
    const auto type = read_type(it->second->type(), &builder);
    const Shape shape = type.ok() ? with_numbers(builder, type->shape) : Shape();
    if (shape.is_static()) {
      builder.tensor(output).dtype = type->dtype;
      builder.tensor(output).shape = shape;
    }
  }
}

}  // namespace dfsim::inline graphs
