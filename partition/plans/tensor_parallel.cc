// Finds Megatron's cuts without knowing models: a product whose columns flow to a later product
// through operators that keep the factor is cut by columns, and the later one by rows, so that
// one all-reduce follows both.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "graphs/ops/factors/factors.h"
#include "partition/plans/strategies.h"
#include "partition/sharding/lookup.h"

namespace dfsim::inline partition {
namespace {

class ColumnFinder {
 public:
  ColumnFinder(const Graph& graph, int64_t ways) : graph_(graph), ways_(ways) {
    for (size_t t = 0; t < graph.tensor_count(); ++t) {
      is_weight_.push_back(graph.tensor(TensorId(t)).role == TensorRole::kWeight);
    }
    for (size_t i = 0; i < graph.op_count(); ++i) {
      maps_.push_back(op_factors(graph, OpId(i)));
      find_made_weights(graph.op(OpId(i)));
    }
    is_row_.resize(graph.op_count(), false);
  }

  // The weight and its dimension to cut, for each op that is to be cut by columns; in graph order.
  std::vector<std::pair<TensorId, int>> run() {
    std::vector<std::pair<TensorId, int>> columns;
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      const Op& op = graph_.op(OpId(i));
      if (find_lookup(graph_, OpId(i), maps_[i])) {
        if (const int dim = vocabulary_rows(OpId(i)); dim >= 0) {
          columns.emplace_back(op.inputs[0], dim);
        }
        continue;
      }
      if (const auto own = own_columns(OpId(i))) {
        columns.push_back(*own);
        continue;
      }
      const auto weight = weight_of(OpId(i));
      if (is_row_[i] || weight == op.inputs.size()) {
        continue;
      }
      const std::vector<FactorDim>& dims = maps_[i].inputs[weight];
      for (size_t dim = 0; dim < dims.size(); ++dim) {
        if (is_column(OpId(i), weight, dims[dim].factor) &&
            (reaches_rows(OpId(i), dims[dim].factor) || is_last(OpId(i), dims[dim].factor))) {
          columns.emplace_back(op.inputs[weight], static_cast<int>(dim));
          break;
        }
      }
    }
    return columns;
  }

  // Extents that would be cut if they divided evenly, one line each, with fewer devices by which
  // they do.
  std::vector<std::string> kept_whole() const {
    std::vector<std::string> lines;
    for (const auto& [extent, ops] : refused_) {
      const Op& first = graph_.op(ops.begin()->first);
      const int64_t fewer = std::gcd(extent, ways_);
      const std::string advice =
          fewer > 1 ? fmt::format("; {} devices would divide it", fewer) : "";
      lines.push_back(fmt::format(
          "{} ({} of {} '{}'{}) does not divide by {} devices: kept whole on each{}", extent,
          ops.begin()->second, printable(first.op_type, 40), printable(first.name),
          ops.size() > 1 ? fmt::format(" and {} more", ops.size() - 1) : "", ways_, advice));
    }
    return lines;
  }

 private:
  // A weight that is cast or dequantised in each step is cut as the weight itself: the cut of the
  // result moves back to where it comes from (propagate_sharding()).
  void find_made_weights(const Op& op) {
    const auto is_fixed = [&](TensorId id) {
      return !id.valid() || is_weight_[id.index()] ||
             graph_.tensor(id).role == TensorRole::kConstant;
    };
    if (!op.inputs.empty() && op.inputs[0].valid() && is_weight_[op.inputs[0].index()] &&
        std::all_of(op.inputs.begin(), op.inputs.end(), is_fixed)) {
      for (const TensorId output : op.outputs) {
        if (output.valid()) {
          is_weight_[output.index()] = true;
        }
      }
    }
  }

  bool can_split(OpId id, int factor) {
    const FactorMap& map = maps_[id.index()];
    const Factor& f = map.factors[static_cast<size_t>(factor)];
    if (f.extent % ways_ != 0) {
      refused_[f.extent].emplace(id, f.label);
    }
    return map.can_split(factor, ways_);
  }

  // The dimension of a vocabulary's rows in the weight that the op looks up in, or -1.
  int vocabulary_rows(OpId id) {
    const Op& op = graph_.op(id);
    const auto lookup = find_lookup(graph_, id, maps_[id.index()]);
    const bool is_vocabulary = lookup && lookup->masked_input < 0 &&
                               lookup->extent >= kLeastVocabulary &&
                               is_weight_[op.inputs[0].index()];
    return is_vocabulary && can_split(id, lookup->factor) ? lookup->dim : -1;
  }

  // Whether the columns are a vocabulary's and the model ends with them.
  bool is_last(OpId id, int factor) const {
    const Op& op = graph_.op(id);
    const FactorMap& map = maps_[id.index()];
    return map.factors[static_cast<size_t>(factor)].extent >= kLeastVocabulary &&
           graph_.tensor(op.outputs[0]).is_output && graph_.consumers(op.outputs[0]).empty();
  }

  // The first input that is a weight with a contracted factor; the number of inputs without one.
  size_t weight_of(OpId id) const {
    const Op& op = graph_.op(id);
    const FactorMap& map = maps_[id.index()];
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool weight = op.inputs[i].valid() && is_weight_[op.inputs[i].index()];
      if (weight && std::any_of(map.inputs[i].begin(), map.inputs[i].end(),
                                [&](const FactorDim& dim) { return contracts(map, dim.factor); })) {
        return i;
      }
    }
    return op.inputs.size();
  }

  static bool contracts(const FactorMap& map, int factor) {
    return factor != FactorDim::kWhole && map.kind(factor) == FactorKind::kContracted;
  }

  // The columns of a weight whose results the same operator contracts with another one's rows, as
  // a mixture of experts does: a sum that several weights carry, and no activation. The last such
  // dimension comes first, as a part of each expert is as much work for every device, whichever
  // experts are chosen.
  std::optional<std::pair<TensorId, int>> own_columns(OpId id) {
    const Op& op = graph_.op(id);
    const FactorMap& map = maps_[id.index()];
    const size_t weight = weight_of(id);
    if (weight == op.inputs.size()) {
      return std::nullopt;
    }
    const std::vector<FactorDim>& dims = map.inputs[weight];
    for (size_t dim = dims.size(); dim-- > 0;) {
      const int factor = dims[dim].factor;
      if (contracts(map, factor) && is_of_weights(op, map, factor) && can_split(id, factor)) {
        return std::pair(op.inputs[weight], static_cast<int>(dim));
      }
    }
    return std::nullopt;
  }

  // Several weights carry the factor, and nothing else does.
  bool is_of_weights(const Op& op, const FactorMap& map, int factor) const {
    size_t matrices = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid() || !carries(map.inputs[i], factor)) {
        continue;
      }
      const TensorId input = op.inputs[i];
      if (!is_weight_[input.index()] && graph_.tensor(input).role != TensorRole::kConstant) {
        return false;
      }
      matrices += graph_.tensor(input).shape.rank() > 2 ? 1 : 0;
    }
    return matrices > 1;
  }

  // Parallel, and of the weight alone: no activation has to be cut for it.
  bool is_column(OpId id, size_t weight, int factor) {
    const FactorMap& map = maps_[id.index()];
    if (factor == FactorDim::kWhole || map.kind(factor) != FactorKind::kParallel) {
      return false;
    }
    const Op& op = graph_.op(id);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (i != weight && op.inputs[i].valid() && carries(map.inputs[i], factor) &&
          graph_.tensor(op.inputs[i]).role == TensorRole::kActivation &&
          !is_weight_[op.inputs[i].index()]) {
        return false;
      }
    }
    return can_split(id, factor);
  }

  // Follows the cut results until each way ends in a weight's rows; marks those ops.
  bool reaches_rows(OpId start, int factor) {
    std::vector<std::pair<OpId, int>> open = {{start, factor}};
    std::set<std::pair<OpId, int>> seen(open.begin(), open.end());
    std::set<size_t> rows;
    while (!open.empty()) {
      const auto [id, split] = open.back();
      open.pop_back();
      const Op& op = graph_.op(id);
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        const auto& dims = maps_[id.index()].outputs[o];
        for (size_t dim = 0; op.outputs[o].valid() && dim < dims.size(); ++dim) {
          if (dims[dim].factor == split && !follow(op.outputs[o], dim, &open, &seen, &rows)) {
            return false;
          }
        }
      }
    }
    for (const size_t row : rows) {
      is_row_[row] = true;
    }
    return !rows.empty();
  }

  bool follow(TensorId id, size_t dim, std::vector<std::pair<OpId, int>>* open,
              std::set<std::pair<OpId, int>>* seen, std::set<size_t>* rows) {
    if (graph_.tensor(id).is_output) {
      return false;  // whole for the caller
    }
    for (const OpId reader : graph_.consumers(id)) {
      const Op& op = graph_.op(reader);
      const FactorMap& map = maps_[reader.index()];
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const int factor = op.inputs[i] == id ? map.inputs[i][dim].factor : FactorDim::kWhole;
        if (op.inputs[i] != id) {
          continue;
        }
        if (factor == FactorDim::kWhole || !can_split(reader, factor)) {
          return false;
        }
        if (contracts(map, factor)) {
          if (weight_of(reader) == op.inputs.size()) {
            return false;  // a sum over parts without a weight to cut
          }
          rows->insert(reader.index());
        } else if (seen->insert({reader, factor}).second) {
          open->emplace_back(reader, factor);
        }
      }
    }
    return true;
  }

  const Graph& graph_;
  int64_t ways_;
  std::vector<FactorMap> maps_;
  std::vector<bool> is_weight_;  // by tensor: a weight, or made of weights alone
  std::vector<bool> is_row_;
  std::map<int64_t, std::map<OpId, std::string>> refused_;  // by extent: operators and labels
};

}  // namespace

StatusOr<std::vector<ShardingSeed>> tensor_parallel_seeds(const Graph& graph,
                                                          const DeviceMesh& mesh, AxisSet axis,
                                                          std::vector<std::string>* kept_whole) {
  std::vector<ShardingSeed> seeds;
  std::set<TensorId> seen;  // a weight that several ops read
  ColumnFinder finder(graph, mesh.size(axis));
  const auto columns = finder.run();
  const std::vector<std::string> refused = finder.kept_whole();
  if (kept_whole != nullptr) {
    *kept_whole = refused;
  }
  for (const auto& [weight, dim] : columns) {
    if (seen.insert(weight).second) {
      TensorSharding sharding = replicated(graph.tensor(weight).shape);
      sharding.dims[static_cast<size_t>(dim)] = axis;
      seeds.push_back({weight, std::move(sharding)});
    }
  }
  if (seeds.empty()) {
    return invalid_input(fmt::format(
        "tensor parallel: no weight's columns lead to another weight's rows without being needed "
        "whole in between; choose fewer devices or another strategy{}",
        refused.empty() ? "" : "; " + refused.front()));
  }
  return seeds;
}

}  // namespace dfsim::inline partition
