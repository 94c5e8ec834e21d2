// SplitChooser: prices a piece of every operator along every factor, then walks the graph once and
// cuts what pays, or what can go on with the pieces that are there.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "hardware/route.h"
#include "partition/pieces/op_cuts.h"
#include "partition/pieces/op_parts.h"
#include "partition/pieces/task_split.h"

namespace dfsim::inline partition {
namespace {

constexpr double kFollowerGain = 0.9;  // an operator follows when a piece takes less than that

class SplitChooser {
 public:
  SplitChooser(const LoweredTasks& lowered, int pieces)
      : lowered_(lowered),
        graph_(lowered.ops),
        pieces_(pieces),
        routes_(lowered.platform),
        parts_(graph_),
        rows_of_(graph_.op_count()),
        cuts_(graph_) {
    for (size_t t = 0; t < lowered.tasks.task_count(); ++t) {
      if (lowered.tasks.op(TaskId(t)).valid()) {
        rows_of_[lowered.tasks.op(TaskId(t)).index()] = lowered.tasks.cost_row(TaskId(t));
      }
    }
  }

  StatusOr<std::vector<TaskCut>> run(SplitRule rule, const CostModel& model) {
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      DFSIM_RETURN_IF_ERROR(add_options(OpId(i)));
    }
    DFSIM_RETURN_IF_ERROR(price(model));
    if (rule == SplitRule::kBatch) {
      cut_inputs();
    }
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      const OpId id(i);
      if (graph_.op(id).op_class == OpClass::kView) {
        cuts_.see_view(id);
        continue;
      }
      const Option* chosen = rule == SplitRule::kBatch ? follow(id, 1.0) : nullptr;
      if (rule == SplitRule::kWorthIt) {
        chosen = worth_it(id);
        chosen = chosen != nullptr ? chosen : follow(id, kFollowerGain);
      }
      if (chosen != nullptr) {
        splits_.push_back({id, chosen->factor, static_cast<int>(chosen->bounds.size()) - 1});
        cuts_.cut_op(id, chosen->map, chosen->factor, chosen->bounds);
      }
    }
    return std::move(splits_);
  }

 private:
  // A factor that an operator can be cut along.
  struct Option {
    OpId op;
    int factor = 0;
    std::vector<int64_t> bounds;
    FactorMap map;
    size_t row = 0;  // of its longest piece
  };

  size_t device_count() const { return lowered_.platform.devices.size(); }

  TimeNs whole_ns(OpId id, size_t device) const {
    return lowered_.costs.time_ns(*rows_of_[id.index()], DeviceId(device));
  }

  // Operators that several devices can run, by each factor with plain parts.
  Status add_options(OpId id) {
    const Op& op = graph_.op(id);
    if (!rows_of_[id.index()].has_value() || op.op_class == OpClass::kView ||
        op.outputs.size() != 1 || !has_static_operands(graph_, op)) {
      return ok_status();
    }
    size_t devices = 0;
    for (size_t d = 0; d < device_count(); ++d) {
      devices += whole_ns(id, d) >= 0 ? 1 : 0;
    }
    if (devices < 2) {
      return ok_status();
    }
    FactorMap map = op_factors(graph_, id);
    for (size_t f = 0; f < map.factors.size(); ++f) {
      const auto factor = static_cast<int>(f);
      if (map.factors[f].extent < 2 || !has_plain_parts(graph_, id, map, factor)) {
        continue;
      }
      Option option = {id, factor, even_bounds(map.factors[f].extent, pieces_), map, prices_++};
      DFSIM_RETURN_IF_ERROR(parts_.add(id, map, factor, option.bounds[1]));
      options_[id.value()].push_back(std::move(option));
    }
    return ok_status();
  }

  Status price(const CostModel& model) {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<OpDescriptor> rows, parts_.finish());
    piece_ns_.resize(device_count());
    std::vector<OpCost> costs(rows.size());
    for (size_t d = 0; d < device_count(); ++d) {
      DFSIM_RETURN_IF_ERROR(model.predict(rows, lowered_.platform.devices[d], costs));
      for (const OpCost& cost : costs) {
        piece_ns_[d].push_back(cost.time_ns);
      }
    }
    return ok_status();
  }

  void cut_inputs() {
    for (const TensorId input : graph_.inputs()) {
      if (is_activation(graph_, input) && graph_.tensor(input).shape.is_static() &&
          graph_.tensor(input).shape.rank() > 0 && graph_.tensor(input).shape[0].extent() > 1) {
        cuts_.cut_tensor(input, {0, even_bounds(graph_.tensor(input).shape[0].extent(), pieces_)});
      }
    }
  }

  size_t home_of(OpId id) const {
    size_t home = device_count();
    for (size_t d = 0; d < device_count(); ++d) {
      if (whole_ns(id, d) >= 0 &&
          (home == device_count() || whole_ns(id, d) < whole_ns(id, home))) {
        home = d;
      }
    }
    return home;
  }

  // When the last of the pieces is done, on the devices that finish theirs first, while the
  // operands come from the fastest device and the results go back there.
  TimeNs finish_ns(const Option& option, size_t home) const {
    const Op& op = graph_.op(option.op);
    const int64_t extent = option.bounds[1];
    Bytes sent = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      sent += is_activation(graph_, op.inputs[i])
                  ? part_bytes(graph_, op.inputs[i], option.map.inputs[i], option.factor, extent)
                  : 0;
    }
    const Bytes back =
        part_bytes(graph_, op.outputs[0], option.map.outputs[0], option.factor, extent);
    std::vector<TimeNs> finishes;
    for (size_t d = 0; d < device_count(); ++d) {
      const Route& there = routes_.route(static_cast<uint32_t>(home), static_cast<uint32_t>(d));
      const Route& here = routes_.route(static_cast<uint32_t>(d), static_cast<uint32_t>(home));
      if (whole_ns(option.op, d) < 0 || (d != home && (!there.reachable || !here.reachable))) {
        continue;
      }
      const TimeNs links = d == home ? 0 : there.idle_ns(sent) + here.idle_ns(back);
      finishes.push_back(piece_ns_[d][option.row] + links);
    }
    std::sort(finishes.begin(), finishes.end());
    const size_t pieces = option.bounds.size() - 1;
    if (finishes.empty()) {
      return whole_ns(option.op, home);
    }
    // Fewer devices than pieces: some run several.
    const size_t rounds = (pieces + finishes.size() - 1) / finishes.size();
    return finishes[std::min(pieces, finishes.size()) - 1] * static_cast<TimeNs>(rounds);
  }

  const Option* worth_it(OpId id) const {
    const auto found = options_.find(id.value());
    const Option* best = nullptr;
    if (found == options_.end()) {
      return best;
    }
    const size_t home = home_of(id);
    TimeNs least = whole_ns(id, home);
    for (const Option& option : found->second) {
      if (!shares_well(graph_, id, option.map, option.factor)) {
        continue;
      }
      const TimeNs time_ns = finish_ns(option, home);
      if (time_ns < least) {
        least = time_ns;
        best = &option;
      }
    }
    return best;
  }

  // The factor along which the operands are cut already, where a piece takes less than `gain` of
  // the whole.
  const Option* follow(OpId id, double gain) const {
    const auto found = options_.find(id.value());
    if (found == options_.end()) {
      return nullptr;
    }
    const size_t home = home_of(id);
    for (const Option& option : found->second) {
      const auto bounds = cuts_.bounds_to_follow(graph_.op(id), option.map, option.factor);
      if (bounds.has_value() && *bounds == option.bounds &&
          static_cast<double>(piece_ns_[home][option.row]) <=
              gain * static_cast<double>(whole_ns(id, home))) {
        return &option;
      }
    }
    return nullptr;
  }

  const LoweredTasks& lowered_;
  const Graph& graph_;
  int pieces_;
  RouteTable routes_;
  PartDescriber parts_;
  std::vector<std::optional<uint32_t>> rows_of_;  // by operator
  size_t prices_ = 0;
  std::unordered_map<uint32_t, std::vector<Option>> options_;  // by operator
  std::vector<std::vector<TimeNs>> piece_ns_;                  // by device and price
  OpCuts cuts_;
  std::vector<TaskCut> splits_;
};

}  // namespace

StatusOr<std::vector<TaskCut>> choose_splits(const LoweredTasks& lowered, SplitRule rule,
                                             int pieces, const CostModel& model) {
  return SplitChooser(lowered, pieces).run(rule, model);
}

}  // namespace dfsim::inline partition
