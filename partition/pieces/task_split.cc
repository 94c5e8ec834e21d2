// TaskSplitter writes the task graph of pieces: it prices each length of piece once, then copies
// the lowered tasks and turns every edge into edges between the pieces that have bytes in common.
#include "partition/pieces/task_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "partition/pieces/op_cuts.h"
#include "partition/pieces/op_parts.h"
#include "partition/pieces/tensor_runs.h"

namespace dfsim::inline partition {
namespace {

// An operator in pieces, ready to be written.
struct Cut {
  int factor = 0;
  std::vector<int64_t> bounds;
  FactorMap map;
  std::vector<uint32_t> rows;  // cost row of each piece
};

class TaskSplitter {
 public:
  explicit TaskSplitter(const LoweredTasks& lowered)
      : lowered_(lowered), graph_(lowered.ops), cuts_(graph_), root_(graph_.tensor_count()) {}

  StatusOr<SplitTasks> run(const std::vector<TaskCut>& splits, const CostModel& model) {
    DFSIM_RETURN_IF_ERROR(cut_ops(splits));
    DFSIM_RETURN_IF_ERROR(price(model));
    follow_tensors();
    name_data();
    for (size_t t = 0; t < lowered_.tasks.task_count(); ++t) {
      add_task(TaskId(t));
    }
    keep_unread_data();
    std::vector<uint32_t> order;
    DFSIM_ASSIGN_OR_RETURN(result_.tasks, builder_.build(&order));
    for (const uint32_t inserted : order) {
      if (!lowered_.dispatch_ns.empty()) {
        result_.dispatch_ns.push_back(dispatch_ns_[inserted]);
      }
    }
    return std::move(result_);
  }

 private:
  Status cut_ops(const std::vector<TaskCut>& splits) {
    for (const TaskCut& split : splits) {
      Cut cut;
      cut.factor = split.factor;
      cut.map = op_factors(graph_, split.op);
      const bool fits = split.pieces > 1 && split.factor >= 0 &&
                        static_cast<size_t>(split.factor) < cut.map.factors.size() &&
                        has_static_operands(graph_, graph_.op(split.op)) &&
                        has_plain_parts(graph_, split.op, cut.map, split.factor) &&
                        cut.map.factors[static_cast<size_t>(split.factor)].extent >= split.pieces;
      if (!fits) {
        return invalid_input(fmt::format(
            "operator '{}': cannot be cut into {} pieces along that factor; choose a parallel "
            "factor that is at least that long",
            printable(graph_.op(split.op).name), split.pieces));
      }
      cut.bounds =
          even_bounds(cut.map.factors[static_cast<size_t>(split.factor)].extent, split.pieces);
      cut_of_.emplace(split.op.value(), std::move(cut));
    }
    return ok_status();
  }

  // Rows for the lengths of pieces that occur, behind those of the lowered model.
  Status price(const CostModel& model) {
    const size_t old_rows = lowered_.costs.rows();
    PartDescriber parts(graph_);
    std::vector<uint32_t> whole_row;  // by new row, that of its operator
    for (size_t t = 0; t < lowered_.tasks.task_count(); ++t) {
      const OpId op = lowered_.tasks.op(TaskId(t));
      const auto found = op.valid() ? cut_of_.find(op.value()) : cut_of_.end();
      if (found == cut_of_.end()) {
        continue;
      }
      Cut& cut = found->second;
      std::map<int64_t, uint32_t> row_of;
      for (size_t k = 0; k + 1 < cut.bounds.size(); ++k) {
        const int64_t extent = cut.bounds[k + 1] - cut.bounds[k];
        const auto [it, is_new] =
            row_of.try_emplace(extent, static_cast<uint32_t>(old_rows + whole_row.size()));
        if (is_new) {
          whole_row.push_back(lowered_.tasks.cost_row(TaskId(t)));
          DFSIM_RETURN_IF_ERROR(parts.add(op, cut.map, cut.factor, extent));
        }
        cut.rows.push_back(it->second);
      }
    }
    DFSIM_ASSIGN_OR_RETURN(const std::vector<OpDescriptor> rows, parts.finish());
    const size_t devices = lowered_.platform.devices.size();
    result_.costs = CostTable(old_rows + rows.size(), devices);
    std::vector<OpCost> priced(rows.size());
    for (size_t d = 0; d < devices; ++d) {
      const DeviceId device(d);
      result_.costs.interval_scale(device) = lowered_.costs.interval_scale(device);
      for (uint32_t row = 0; row < old_rows; ++row) {
        result_.costs.at(row, device) = lowered_.costs.at(row, device);
      }
      DFSIM_RETURN_IF_ERROR(model.predict(rows, lowered_.platform.devices[d], priced));
      for (size_t k = 0; k < rows.size(); ++k) {
        const auto row = static_cast<uint32_t>(old_rows + k);
        result_.costs.at(row, device) = priced[k];
        if (!lowered_.costs.feasible(whole_row[k], device)) {
          result_.costs.at(row, device).time_ns = CostTable::kInfeasible;
        }
      }
    }
    return ok_status();
  }

  // How produced tensors are cut, and which tensor's bytes a view shows.
  void follow_tensors() {
    for (size_t i = 0; i < graph_.tensor_count(); ++i) {
      root_[i] = TensorId(i);
    }
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      const Op& op = graph_.op(OpId(i));
      const auto found = cut_of_.find(static_cast<uint32_t>(i));
      if (found != cut_of_.end()) {
        cuts_.cut_op(OpId(i), found->second.map, found->second.factor, found->second.bounds);
      }
      for (const TensorId output : op.outputs) {
        if (op.op_class == OpClass::kView && output.valid() && op.inputs[0].valid()) {
          root_[output.index()] = root_[op.inputs[0].index()];
        }
      }
    }
  }

  // The tensor of each data item: outputs of its operator in order, or an input that the host hands
  // out, by its name.
  void name_data() {
    const ExecGraph& tasks = lowered_.tasks;
    std::map<std::string, TensorId> inputs;
    for (const TensorId input : graph_.inputs()) {
      inputs["input " + graph_.tensor(input).name] = input;
    }
    std::vector<size_t> next(tasks.task_count(), 0);
    for (size_t d = 0; d < tasks.data_count(); ++d) {
      const TaskId producer = tasks.data_producer(DataId(d));
      TensorId tensor;
      if (tasks.op(producer).valid()) {
        const auto& outputs = graph_.op(tasks.op(producer)).outputs;
        size_t& k = next[producer.index()];
        while (k < outputs.size() && !outputs[k].valid()) {
          ++k;
        }
        tensor = k < outputs.size() ? outputs[k++] : TensorId();
      } else if (const auto it = inputs.find(tasks.name(producer)); it != inputs.end()) {
        tensor = it->second;
      }
      tensor_of_.push_back(tensor);
    }
  }

  const Cut* cut_of(TaskId task) const {
    const OpId op = lowered_.tasks.op(task);
    const auto found = op.valid() ? cut_of_.find(op.value()) : cut_of_.end();
    return found == cut_of_.end() ? nullptr : &found->second;
  }

  void add_task(TaskId id) {
    const ExecGraph& tasks = lowered_.tasks;
    const Cut* const cut = cut_of(id);
    const size_t pieces = cut == nullptr ? 1 : cut->rows.size();
    const std::string name = tasks.name(id);
    std::vector<TaskId> made;
    for (size_t k = 0; k < pieces; ++k) {
      ExecGraphBuilder::Task task;
      task.op = tasks.op(id);
      task.cost_row = cut == nullptr ? tasks.cost_row(id) : cut->rows[k];
      task.name = cut == nullptr ? name : fmt::format("{}#{}", name, k + 1);
      task.workspace_bytes = tasks.workspace_bytes(id) / static_cast<Bytes>(pieces);
      task.resident_bytes = resident_bytes(id, cut, k);
      made.push_back(builder_.add_task(std::move(task)));
      if (!lowered_.dispatch_ns.empty()) {
        dispatch_ns_.push_back(lowered_.dispatch_ns[id.index()]);
      }
    }
    pieces_.push_back(std::move(made));
    for (const uint32_t edge : tasks.in_edge_indices(id)) {
      add_edges(tasks.edges()[edge], id, cut);
    }
  }

  // A piece holds its part of the parameters that carry the factor, and the others whole.
  Bytes resident_bytes(TaskId id, const Cut* cut, size_t k) const {
    const Bytes whole = lowered_.tasks.resident_bytes(id);
    if (cut == nullptr || whole == 0) {
      return whole;
    }
    const Op& op = graph_.op(lowered_.tasks.op(id));
    Bytes all = 0;
    Bytes part = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && graph_.tensor(op.inputs[i]).role != TensorRole::kActivation) {
        all += graph_.tensor(op.inputs[i]).bytes().value();
        part += part_bytes(graph_, op.inputs[i], cut->map.inputs[i], cut->factor,
                           cut->bounds[k + 1] - cut->bounds[k]);
      }
    }
    return all > 0 ? static_cast<Bytes>(static_cast<double>(whole) * static_cast<double>(part) /
                                        static_cast<double>(all))
                   : whole;
  }

  // The part of a tensor that the reader needs: its cut in the coordinates of the tensor that owns
  // the bytes; none = all of it.
  std::optional<TensorRuns> needed(const Op& op, size_t input, const Cut& cut) const {
    const auto runs = runs_of(cut.map.inputs[input], cut.factor, cut.bounds);
    const TensorId shown = op.inputs[input];
    const TensorId root = root_[shown.index()];
    if (!runs.has_value() || shown == root) {
      return runs;
    }
    return graph_.tensor(root).shape.is_static()
               ? through_view(*runs, graph_.tensor(shown).shape, graph_.tensor(root).shape)
               : std::nullopt;
  }

  // One edge of the lowered graph becomes an edge for each two pieces that have bytes in common.
  void add_edges(const Edge& edge, TaskId reader, const Cut* cut) {
    const TensorId tensor = tensor_of_[edge.data.index()];
    bool met = false;
    if (cut != nullptr && tensor.valid()) {
      const Op& op = graph_.op(lowered_.tasks.op(reader));
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i].valid() && root_[op.inputs[i].index()] == tensor) {
          connect(edge, reader, needed(op, i, *cut));
          met = true;
        }
      }
    }
    if (!met) {
      connect(edge, reader, std::nullopt);
    }
  }

  void connect(const Edge& edge, TaskId reader, const std::optional<TensorRuns>& need) {
    const TensorId tensor = tensor_of_[edge.data.index()];
    const auto& made = pieces_[edge.from.index()];
    const std::optional<TensorRuns> have =
        made.size() > 1 && tensor.valid() ? cuts_.of(tensor) : std::nullopt;
    for (size_t j = 0; j < made.size(); ++j) {
      const double held = have.has_value() ? common_share(*have, j, *have, j) : 1;
      for (size_t k = 0; k < pieces_[reader.index()].size(); ++k) {
        double share = held;
        if (need.has_value()) {
          share = have.has_value() ? common_share(*have, j, *need, k)
                                   : common_share(*need, k, *need, k);
        }
        if (share <= 0) {
          continue;
        }
        const bool whole = share >= held * (1 - 1e-12);
        const DataId data =
            data_of(edge.data, j, held,
                    whole ? std::pair(-1.0, 0.0) : std::pair(share, run_start(*need, k)));
        builder_.add_edge(data, pieces_[reader.index()][k]);
      }
    }
  }

  static double run_start(const TensorRuns& runs, size_t k) {
    return static_cast<double>(runs.dim) * 1e15 + static_cast<double>(runs.bounds[k]);
  }

  // The data of producer's piece `j`: all of it, or a part of a size and place; readers of the same
  // part share it.
  DataId data_of(DataId from, size_t j, double held, std::pair<double, double> part) {
    const auto key = std::make_tuple(from.value(), j, part.first, part.second);
    const auto [it, is_new] = data_.try_emplace(key);
    if (is_new) {
      const double share = part.first < 0 ? held : part.first;
      const auto bytes = static_cast<Bytes>(
          std::llround(share * static_cast<double>(lowered_.tasks.data_bytes(from))));
      const TaskId producer = pieces_[lowered_.tasks.data_producer(from).index()][j];
      it->second =
          builder_.add_data(producer, bytes, part.first < 0 && lowered_.tasks.data_is_output(from));
    }
    return it->second;
  }

  // Results that no task reads, or tasks read in parts only, though they leave the model.
  void keep_unread_data() {
    const ExecGraph& tasks = lowered_.tasks;
    std::vector<bool> read(tasks.data_count(), false);
    for (const Edge& edge : tasks.edges()) {
      read[edge.data.index()] = true;
    }
    for (size_t d = 0; d < tasks.data_count(); ++d) {
      const DataId data(d);
      const auto& made = pieces_[tasks.data_producer(data).index()];
      for (size_t j = 0; (!read[d] || tasks.data_is_output(data)) && j < made.size(); ++j) {
        const auto& runs = tensor_of_[d].valid() ? cuts_.of(tensor_of_[d]) : std::nullopt;
        data_of(data, j, made.size() > 1 && runs ? common_share(*runs, j, *runs, j) : 1, {-1, 0});
      }
    }
  }

  const LoweredTasks& lowered_;
  const Graph& graph_;
  OpCuts cuts_;
  std::unordered_map<uint32_t, Cut> cut_of_;  // by operator
  std::vector<TensorId> root_;                // by tensor: whose bytes it shows
  std::vector<TensorId> tensor_of_;           // by data
  ExecGraphBuilder builder_;
  std::vector<std::vector<TaskId>> pieces_;  // by task of the lowered model
  std::vector<TimeNs> dispatch_ns_;          // by task of the builder
  std::map<std::tuple<uint32_t, size_t, double, double>, DataId> data_;
  SplitTasks result_;
};

}  // namespace

StatusOr<SplitTasks> split_tasks(const LoweredTasks& lowered, const std::vector<TaskCut>& splits,
                                 const CostModel& model) {
  return TaskSplitter(lowered).run(splits, model);
}

}  // namespace dfsim::inline partition
