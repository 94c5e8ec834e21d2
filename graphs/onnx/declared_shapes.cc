// Two uses of the shapes that a file declares: apply() believes them where inference finds none,
// and apply_given() lets --dim say what an inner dimension is. A declared shape gives such a
// dimension its name; where none does, "TENSOR[AXIS]" is its name.
#include "graphs/onnx/declared_shapes_internal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/onnx/tensor_reader_internal.h"

namespace dfsim::inline graphs {

void DeclaredShapes::index() {
  if (indexed_) {
    return;
  }
  indexed_ = true;
  index_names();
  for (const BoundDim& dim : dims_) {
    extents_.emplace(dim.name, dim.extent);
    if (std::find(inner_.begin(), inner_.end(), dim.name) != inner_.end()) {
      given_.push_back({.name = dim.name, .extent = dim.extent});
    }
  }
}

void DeclaredShapes::index_names() {
  if (names_indexed_) {
    return;
  }
  names_indexed_ = true;
  for (const auto* list : {&graph_.value_info(), &graph_.output()}) {
    for (const auto& info : *list) {
      by_name_.emplace(info.name(), &info);
    }
  }
}

std::vector<DeclaredAxes> DeclaredShapes::axes() {
  index_names();
  std::vector<DeclaredAxes> result;
  for (const auto& [name, info] : by_name_) {
    if (!info->type().tensor_type().has_shape()) {
      continue;
    }
    DeclaredAxes declared{name, {}};
    for (const auto& dim : info->type().tensor_type().shape().dim()) {
      declared.axes.emplace_back();
      if (dim.has_dim_value() && dim.dim_value() >= 0) {
        declared.axes.back() = "";
      } else if (!dim.dim_param().empty()) {
        declared.axes.back() = dim.dim_param();
      }
    }
    result.push_back(std::move(declared));
  }
  std::sort(result.begin(), result.end(),
            [](const DeclaredAxes& a, const DeclaredAxes& b) { return a.tensor < b.tensor; });
  return result;
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

bool DeclaredShapes::is_inner(const GraphBuilder& builder, const std::string& name) {
  index_names();
  bool found = std::any_of(by_name_.begin(), by_name_.end(), [&](const auto& entry) {
    const auto& dims = entry.second->type().tensor_type().shape().dim();
    return std::any_of(dims.begin(), dims.end(),
                       [&](const auto& dim) { return dim.dim_param() == name; });
  });
  if (const size_t bracket = name.rfind('['); !found && bracket != std::string::npos) {
    const TensorId id = builder.find_tensor(name.substr(0, bracket));
    const std::string axis = name.substr(bracket + 1);
    found = id.valid() && !builder.tensor(id).is_input && axis.size() == 2 && axis[0] >= '0' &&
            axis[0] <= '9' && axis[1] == ']';
  }
  if (found) {
    inner_.push_back(name);
  }
  return found;
}

std::vector<std::string> DeclaredShapes::names_of_open_extents(const GraphBuilder& builder,
                                                               OpId op) {
  index_names();
  std::vector<std::string> names;
  for (const TensorId output : builder.op(op).outputs) {
    if (!output.valid() || !builder.tensor(output).shape.has_rank()) {
      continue;
    }
    const Tensor& tensor = builder.tensor(output);
    const auto it = by_name_.find(tensor.name);
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      if (tensor.shape[axis].known()) {
        continue;
      }
      std::string name = fmt::format("{}[{}]", tensor.name, axis);
      if (it != by_name_.end() && axis < it->second->type().tensor_type().shape().dim_size()) {
        const std::string& symbol = it->second->type().tensor_type().shape().dim(axis).dim_param();
        name = symbol.empty() ? name : symbol;
      }
      names.push_back(std::move(name));
    }
  }
  return names;
}

DeclaredShapes::Given* DeclaredShapes::find_given(const GraphBuilder& builder, const Tensor& tensor,
                                                  const Shape& declared, int axis) {
  std::string symbol;
  if (axis < declared.rank() && declared[axis].is_symbol()) {
    symbol = builder.symbols()[declared[axis].symbol_index()];
  }
  const auto it = std::find_if(given_.begin(), given_.end(), [&](const Given& given) {
    return given.name == symbol || given.name == fmt::format("{}[{}]", tensor.name, axis);
  });
  return it != given_.end() ? &*it : nullptr;
}

void DeclaredShapes::apply_given(GraphBuilder& builder, OpId op) {
  index();
  for (const TensorId output : builder.op(op).outputs) {
    if (!output.valid()) {
      continue;
    }
    const auto it = by_name_.find(builder.tensor(output).name);
    const auto type = it != by_name_.end() ? read_type(it->second->type(), &builder)
                                           : StatusOr<DeclaredType>(DeclaredType());
    const Shape declared = type.ok() ? type->shape : Shape();
    Tensor& tensor = builder.tensor(output);
    const bool exact =
        tensor.shape.is_static() && (!tensor.data_dependent || builder.constant(output) != nullptr);
    const Shape& shape = tensor.shape.has_rank() ? tensor.shape : declared;
    if (!shape.has_rank()) {
      continue;
    }
    Dims dims = shape.dims();
    bool changed = false;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      Given* given = find_given(builder, tensor, declared, axis);
      if (given == nullptr) {
        continue;
      }
      Dim& dim = dims[static_cast<size_t>(axis)];
      if ((exact || !tensor.data_dependent) && dim.known()) {
        given->found = dim.extent();
        given->used = given->used || given->found == given->extent;
        continue;
      }
      dim = Dim(given->extent);
      given->used = changed = true;
    }
    if (!changed) {
      continue;
    }
    tensor.shape = Shape(std::move(dims));
    // The op itself made the bound that the user replaced: no other extent of it is one.
    const std::vector<TensorId>& inputs = builder.op(op).inputs;
    tensor.data_dependent = std::any_of(inputs.begin(), inputs.end(), [&](TensorId input) {
      return input.valid() && builder.tensor(input).data_dependent;
    });
  }
}

Status DeclaredShapes::check_given() const {
  for (const Given& given : given_) {
    if (given.used) {
      continue;
    }
    return invalid_input(
        given.found >= 0
            ? fmt::format("--dim {}: is {}, but the model's other extents make it {}; leave it out",
                          printable(given.name), given.extent, given.found)
            : fmt::format("--dim {}: no tensor with this dimension has a known rank; use "
                          "--input-shape",
                          printable(given.name)));
  }
  return ok_status();
}

}  // namespace dfsim::inline graphs
