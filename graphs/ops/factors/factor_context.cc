// Bookkeeping for factor rules: which dimension of which operand carries which factor. finish()
// takes back what cannot be split, such as a factor that one operand carries twice (a diagonal).
#include "graphs/ops/factors/factor_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dfsim::inline graphs {
namespace {

const Shape& shape_or_unknown(const Graph& graph, const std::vector<TensorId>& ids, size_t i) {
  static const Shape kUnknown;
  return i < ids.size() && ids[i].valid() ? graph.tensor(ids[i]).shape : kUnknown;
}

std::vector<std::vector<FactorDim>> dims_of(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<std::vector<FactorDim>> dims(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    dims[i].resize(static_cast<size_t>(shape_or_unknown(graph, ids, i).rank()));
  }
  return dims;
}

// A factor twice in one operand is a diagonal, which cannot be split.
bool repeats(const std::vector<FactorDim>& dims) {
  std::set<int> seen;
  return std::any_of(dims.begin(), dims.end(), [&seen](const FactorDim& dim) {
    return dim.factor != FactorDim::kWhole && !seen.insert(dim.factor).second;
  });
}

}  // namespace

FactorContext::FactorContext(const Graph& graph, const Op& op) : graph_(graph), op_(op) {
  map_.inputs = dims_of(graph, op.inputs);
  map_.outputs = dims_of(graph, op.outputs);
  for (const TensorId output : op.outputs) {
    map_.has_output.push_back(output.valid());
  }
}

const Shape& FactorContext::input(size_t i) const {
  return shape_or_unknown(graph_, op_.inputs, i);
}

const Shape& FactorContext::output(size_t i) const {
  return shape_or_unknown(graph_, op_.outputs, i);
}

std::optional<std::vector<int64_t>> FactorContext::ints_from(std::string_view attribute,
                                                             size_t input, bool* absent) const {
  *absent = false;
  if (has_input(input)) {
    const ConstValue* value = graph_.constant(op_.inputs[input]);
    if (value == nullptr) {
      return std::nullopt;
    }
    std::vector<int64_t> numbers(value->size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = value->as_int(i);
    }
    return numbers;
  }
  if (const auto* list = attributes().get_ints(attribute)) {
    return *list;
  }
  *absent = true;
  return std::nullopt;
}

int64_t FactorContext::extent(const Shape& shape, int dim) const {
  if (dim < 0 || dim >= shape.rank()) {
    fits_ = false;
    return 1;
  }
  return shape[dim].extent();
}

void FactorContext::flag(std::vector<bool>& flags, int axis, bool value) const {
  if (axis < 0 || axis >= static_cast<int>(flags.size())) {
    fits_ = false;
  } else {
    flags[static_cast<size_t>(axis)] = value;
  }
}

int FactorContext::at(const std::vector<int>& factors, int axis) const {
  if (axis < 0 || axis >= static_cast<int>(factors.size())) {
    fits_ = false;
    return FactorDim::kWhole;
  }
  return factors[static_cast<size_t>(axis)];
}

int FactorContext::add(std::string label, int64_t extent, Reduction reduction) {
  if (extent < 2) {
    return FactorDim::kWhole;
  }
  map_.factors.push_back({std::move(label), extent, reduction, -1});
  return static_cast<int>(map_.factors.size()) - 1;
}

void FactorContext::carry(std::vector<FactorDim>& dims, const Shape& shape, int dim, int factor,
                          int64_t block) {
  if (factor == FactorDim::kWhole) {
    return;
  }
  if (dim < 0 || dim >= shape.rank() || block < 1 || shape[dim].extent() % block != 0 ||
      shape[dim].extent() / block != map_.factors[static_cast<size_t>(factor)].extent) {
    fits_ = false;
    return;
  }
  dims[static_cast<size_t>(dim)] = {factor, block};
}

void FactorContext::carry_in(size_t i, int dim, int factor, int64_t block) {
  if (has_input(i)) {
    carry(map_.inputs[i], input(i), dim, factor, block);
  }
}

void FactorContext::carry_out(size_t i, int dim, int factor, int64_t block) {
  if (has_output(i)) {
    carry(map_.outputs[i], output(i), dim, factor, block);
  }
}

void FactorContext::carry_broadcast(size_t i, const std::vector<int>& factors, int last) {
  for (int dim = 0; dim < input(i).rank(); ++dim) {
    const int axis = last - (input(i).rank() - 1 - dim);
    if (in_extent(i, dim) == 1) {
      continue;
    }
    if (axis < 0 || axis >= static_cast<int>(factors.size())) {
      fits_ = false;
    } else {
      carry_in(i, dim, factors[static_cast<size_t>(axis)]);
    }
  }
}

FactorMap FactorContext::finish() {
  const auto lacks_reduction = [this](int factor) {
    return map_.factors[static_cast<size_t>(factor)].reduction == Reduction::kNone &&
           map_.kind(factor) == FactorKind::kContracted;
  };
  bool sound = fits_;
  for (int f = 0; sound && f < static_cast<int>(map_.factors.size()); ++f) {
    const auto has = [f](const std::vector<FactorDim>& dims) { return carries(dims, f); };
    const bool used = std::any_of(map_.inputs.begin(), map_.inputs.end(), has) ||
                      std::any_of(map_.outputs.begin(), map_.outputs.end(), has);
    sound = used && !lacks_reduction(f);
  }
  sound = sound && std::none_of(map_.inputs.begin(), map_.inputs.end(), repeats) &&
          std::none_of(map_.outputs.begin(), map_.outputs.end(), repeats);
  if (!sound && map_.unsplittable.empty()) {
    map_.unsplittable = "its shapes do not fit the rule of its operator";
  }
  if (map_.factors.empty() && map_.unsplittable.empty()) {
    map_.unsplittable = "no dimension that may be split is longer than 1";
  }
  if (!map_.unsplittable.empty()) {
    FactorMap none;
    none.inputs = dims_of(graph_, op_.inputs);
    none.outputs = dims_of(graph_, op_.outputs);
    none.has_output = std::move(map_.has_output);
    none.unsplittable = std::move(map_.unsplittable);
    return none;
  }
  return std::move(map_);
}

std::vector<int> add_axis_factors(FactorContext& context, const std::vector<bool>& whole) {
  const Shape& x = context.input(0);
  std::vector<int> factors(static_cast<size_t>(x.rank()), FactorDim::kWhole);
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis >= static_cast<int>(whole.size()) || whole[static_cast<size_t>(axis)]) {
      continue;
    }
    const int64_t extent = context.in_extent(0, axis);
    const int factor = context.add(fmt::format("dim{}", axis), extent);
    factors[static_cast<size_t>(axis)] = factor;
    context.carry_in(0, axis, factor);
    for (size_t o = 0; o < context.output_count(); ++o) {
      if (context.has_output(o) && context.output(o).rank() == x.rank() &&
          context.out_extent(o, axis) == extent) {
        context.carry_out(o, axis, factor);
      }
    }
  }
  return factors;
}

}  // namespace dfsim::inline graphs
