// Imports the model again with one dimension at another extent and compares operator by
// operator. Two imports can be compared by index only when both have the same structure, so
// several extents are tried until one leaves the structure as it is.
#include "graphs/algorithms/symbol_study.h"

#include <algorithm>
#include <array>

namespace dfsim::inline graphs {
namespace {

// Whether both are the same graph, so that ops and tensors can be compared by index.
bool same_structure(const Graph& a, const Graph& b) {
  const auto same_name = [](const auto& x, const auto& y) { return x.name == y.name; };
  return std::equal(a.ops().begin(), a.ops().end(), b.ops().begin(), b.ops().end(), same_name) &&
         std::equal(a.tensors().begin(), a.tensors().end(), b.tensors().begin(), b.tensors().end(),
                    same_name);
}

void compare(const Graph& base, const Graph& other, StudiedSymbol* symbol) {
  for (size_t i = 0; i < base.tensor_count(); ++i) {
    const Tensor& tensor = other.tensor(TensorId(i));
    if (tensor.shape != base.tensor(TensorId(i)).shape ||
        tensor.sequence_length != base.tensor(TensorId(i)).sequence_length) {
      symbol->shapes.emplace(i, tensor.shape);
    }
  }
  const auto depends = [&](const std::vector<TensorId>& ids) {
    return std::any_of(ids.begin(), ids.end(), [&](TensorId id) {
      return id.valid() && symbol->shapes.count(id.index()) == 1;
    });
  };
  for (size_t i = 0; i < base.op_count(); ++i) {
    const Op& op = base.op(OpId(i));
    symbol->ops[i] = depends(op.inputs) || depends(op.outputs);
  }
}

// The options with another extent of one dimension. --batch would contradict that, so what it gave
// is given by name.
ImportOptions varied_options(const ImportOptions& options, const std::vector<BoundDim>& dims,
                             const BoundDim& dim, int64_t extent) {
  ImportOptions varied = options;
  if (options.batch && dim.origin == "given" && !options.dims.contains(dim.name)) {
    varied.batch.reset();
    for (const BoundDim& other : dims) {
      if (other.origin == "given") {
        varied.dims[other.name] = other.extent;
      }
    }
  }
  varied.dims[dim.name] = extent;
  return varied;
}

}  // namespace

size_t StudiedSymbol::op_count() const {
  return static_cast<size_t>(std::count(ops.begin(), ops.end(), true));
}

std::vector<StudiedSymbol> study_symbols(
    const ImportedModel& model, const ImportOptions& options,
    const std::function<StatusOr<ImportedModel>(const ImportOptions&)>& import_again) {
  std::vector<StudiedSymbol> symbols;
  for (const BoundDim& dim : model.report.dims) {
    const bool by_shape = dim.origin == "given" && !options.input_shapes.empty() &&
                          options.dims.count(dim.name) == 0;  // --input-shape would win
    if (dim.origin == "derived" || by_shape || symbols.size() == kMaxStudiedSymbols) {
      continue;
    }
    StudiedSymbol symbol;
    symbol.name = dim.name;
    symbol.extent = dim.extent;
    symbol.ops.resize(model.graph.op_count());
    // Multiples first, since windows and patches go into them as into the extent itself; large
    // ones, since a stride may hide a small step.
    const int64_t base = std::max<int64_t>(1, dim.extent);
    const std::array<int64_t, 6> others = {16 * base, 4 * base, 2 * base, base + 1, base + 32, 1};
    for (const int64_t other : others) {
      if (other == dim.extent || other > kMaxExtent) {
        continue;
      }
      const auto again = import_again(varied_options(options, model.report.dims, dim, other));
      if (again.ok() && same_structure(model.graph, again->graph) &&
          again->report.unresolved.size() <= model.report.unresolved.size()) {
        symbol.varied = other;
        compare(model.graph, again->graph, &symbol);
        break;
      }
    }
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

}  // namespace dfsim::inline graphs
