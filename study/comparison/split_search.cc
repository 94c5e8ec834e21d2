// --split: SplitSearch makes a problem of each way to cut the model, compares the policies on it,
// and runs the best way once more with everything that was asked for (traces, noise).
#include "study/comparison/split_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/text.h"
#include "graphs/taskgraph/task_graph.h"
#include "opmodel/cached_model.h"
#include "partition/pieces/task_split.h"
#include "schedulers/comm_model.h"

namespace dfsim::inline study {
namespace {

constexpr int kMostPieces = 64;
constexpr size_t kMostTakenBack = 24;  // operators whose cut is tried to be taken back

std::string_view rule_name(SplitRule rule) {
  return rule == SplitRule::kBatch ? "batch" : "worth it";
}

class SplitSearch {
 public:
  SplitSearch(const CompareRequest& request, const PolicyRegistry& registry, CostedModel costed,
              const Progress& progress)
      : request_(request),
        registry_(registry),
        costed_(std::move(costed)),
        progress_(progress),
        model_(make_cached_model(*costed_.cost_model)),
        trial_(request) {
    trial_.split.clear();
    trial_.options.record = {};
    trial_.options.noise.runs = 0;
  }

  StatusOr<ComparedProblem> run() {
    DFSIM_ASSIGN_OR_RETURN(whole_, costed_.problem());
    DFSIM_ASSIGN_OR_RETURN(single_ns_, try_way({}, TriedSplit()));
    const bool any = request_.split == "auto";
    if (!any) {
      best_ = Way();  // whole operators are there to compare with only
    }
    for (const int pieces : piece_counts()) {
      for (const SplitRule rule : {SplitRule::kWorthIt, SplitRule::kBatch}) {
        DFSIM_ASSIGN_OR_RETURN(const std::vector<TaskCut> splits,
                               choose_splits(lowered(), rule, pieces, *model_));
        if (splits.empty() || !tried_.insert(key_of(splits)).second) {
          continue;
        }
        TriedSplit row;
        row.pieces = pieces;
        row.rule = rule_name(rule);
        DFSIM_RETURN_IF_ERROR(try_way(splits, std::move(row)).status());
      }
    }
    if (best_.row == kNone) {
      return invalid_input(fmt::format(
          "{}: --split {}: no operator can be cut into pieces that several devices may run; leave "
          "the option out",
          request_.graph, request_.split));
    }
    if (any && !best_.splits.empty()) {
      DFSIM_RETURN_IF_ERROR(take_cuts_back());
    }
    return finish();
  }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();
  struct Way {
    std::vector<TaskCut> splits;
    size_t row = kNone;
    TimeNs makespan_ns = std::numeric_limits<TimeNs>::max();
    std::string policy;
  };

  std::vector<int> piece_counts() const {
    std::vector<int> counts;
    const auto devices =
        static_cast<int>(std::min<size_t>(costed_.platform.devices.size(), kMostPieces));
    if (request_.split != "auto") {
      int pieces = 0;
      std::from_chars(request_.split.data(), request_.split.data() + request_.split.size(), pieces);
      return {pieces};
    }
    for (int pieces = 2; pieces < devices; pieces *= 2) {
      counts.push_back(pieces);
    }
    if (devices > 1) {
      counts.push_back(devices);
    }
    return counts;
  }

  // Equal cuts are tried once, whatever rule they come from.
  static std::vector<std::pair<uint32_t, int>> key_of(const std::vector<TaskCut>& splits) {
    std::vector<std::pair<uint32_t, int>> key;
    for (const TaskCut& split : splits) {
      key.emplace_back(split.op.value(), split.factor * (kMostPieces + 1) + split.pieces);
    }
    return key;
  }

  LoweredTasks lowered() const {
    return {costed_.loaded.executed, whole_.graph, whole_.costs, whole_.dispatch_ns,
            costed_.platform};
  }

  StatusOr<ProblemInstance> problem_of(const std::vector<TaskCut>& splits) const {
    if (splits.empty()) {
      return costed_.problem();
    }
    DFSIM_ASSIGN_OR_RETURN(SplitTasks pieces, split_tasks(lowered(), splits, *model_));
    ProblemInstance problem;
    problem.graph_name = whole_.graph_name;
    problem.hardware_name = whole_.hardware_name;
    problem.graph = std::move(pieces.tasks);
    problem.costs = std::move(pieces.costs);
    problem.platform = costed_.platform;
    problem.cost_model = whole_.cost_model;
    problem.dispatch_ns = std::move(pieces.dispatch_ns);
    problem.group_small_tasks = whole_.group_small_tasks;
    DFSIM_ASSIGN_OR_RETURN(problem.comm, make_comm_model(costed_.platform));
    return problem;
  }

  // Compares the policies on the cut and keeps it when it is the best so far. Returns the time of
  // one device alone.
  StatusOr<TimeNs> try_way(const std::vector<TaskCut>& splits, TriedSplit row) {
    DFSIM_ASSIGN_OR_RETURN(ProblemInstance problem, problem_of(splits));
    row.operators = splits.size();
    row.tasks = problem.graph.task_count();
    DFSIM_ASSIGN_OR_RETURN(
        const ComparedProblem compared,
        compare_loaded(trial_, registry_, std::move(problem), costed_.loaded.unknown, progress_));
    const PolicyOutcome* const best = compared.comparison.best();
    row.policy = best == nullptr ? "" : best->name;
    row.makespan_ns = best == nullptr ? 0 : best->makespan_ns;
    rows_.push_back(row);
    if (best != nullptr && best->makespan_ns < best_.makespan_ns) {
      best_ = {splits, rows_.size() - 1, best->makespan_ns, best->name};
    }
    return compared.comparison.single_device_ns;
  }

  // Operators from the longest on: its cut is taken back where the best policy is faster without.
  Status take_cuts_back() {
    std::vector<TaskCut> order = best_.splits;
    const auto time_of = longest_times();
    std::ranges::stable_sort(order, [&](const TaskCut& a, const TaskCut& b) {
      return time_of[a.op.index()] > time_of[b.op.index()];
    });
    order.resize(std::min(order.size(), kMostTakenBack));
    CompareRequest one = trial_;
    one.policies = best_.policy;
    std::vector<TaskCut> kept = best_.splits;
    TimeNs least = best_.makespan_ns;
    for (const TaskCut& candidate : order) {
      std::vector<TaskCut> fewer = kept;
      std::erase_if(fewer, [&](const TaskCut& split) { return split.op == candidate.op; });
      DFSIM_ASSIGN_OR_RETURN(ProblemInstance problem, problem_of(fewer));
      DFSIM_ASSIGN_OR_RETURN(
          const ComparedProblem compared,
          compare_loaded(one, registry_, std::move(problem), costed_.loaded.unknown, progress_));
      const PolicyOutcome* const best = compared.comparison.best();
      if (best != nullptr && best->makespan_ns < least) {
        least = best->makespan_ns;
        kept = std::move(fewer);
      }
    }
    if (least == best_.makespan_ns) {
      return ok_status();
    }
    TriedSplit row;
    row.pieces = rows_[best_.row].pieces;
    row.rule = "fewer";
    return try_way(kept, std::move(row)).status();
  }

  // By operator, on its fastest device.
  std::vector<TimeNs> longest_times() const {
    std::vector<TimeNs> times(costed_.loaded.executed.op_count(), 0);
    for (size_t t = 0; t < whole_.graph.task_count(); ++t) {
      const OpId op = whole_.graph.op(TaskId(t));
      TimeNs least = std::numeric_limits<TimeNs>::max();
      for (size_t d = 0; op.valid() && d < whole_.costs.devices(); ++d) {
        const TimeNs time = whole_.costs.time_ns(whole_.graph.cost_row(TaskId(t)), DeviceId(d));
        least = time >= 0 ? std::min(least, time) : least;
      }
      if (op.valid()) {
        times[op.index()] = least;
      }
    }
    return times;
  }

  StatusOr<ComparedProblem> finish() {
    CompareRequest final_request = request_;
    final_request.split.clear();
    DFSIM_ASSIGN_OR_RETURN(ProblemInstance problem, problem_of(best_.splits));
    DFSIM_ASSIGN_OR_RETURN(ComparedProblem compared,
                           compare_loaded(final_request, registry_, std::move(problem),
                                          costed_.loaded.unknown, progress_));
    Comparison& comparison = compared.comparison;
    rows_[best_.row].chosen = true;
    comparison.splits = std::move(rows_);
    // One device runs whole operators: pieces would only add launches.
    const double scale =
        comparison.single_device_ns <= 0
            ? 1
            : static_cast<double>(single_ns_) / static_cast<double>(comparison.single_device_ns);
    comparison.single_device_ns = single_ns_;
    for (PolicyOutcome& outcome : comparison.policies) {
      outcome.speedup *= scale;
      outcome.efficiency *= scale;
    }
    return compared;
  }

  const CompareRequest& request_;
  const PolicyRegistry& registry_;
  CostedModel costed_;
  const Progress& progress_;
  std::unique_ptr<CostModel> model_;
  CompareRequest trial_;
  ProblemInstance whole_;
  TimeNs single_ns_ = 0;
  std::vector<TriedSplit> rows_;
  std::set<std::vector<std::pair<uint32_t, int>>> tried_;
  Way best_;
};

}  // namespace

Status check_split(const std::string& split) {
  int pieces = 0;
  const char* const end = split.data() + split.size();
  const std::from_chars_result parsed = std::from_chars(split.data(), end, pieces);
  const bool number = parsed.ec == std::errc() && parsed.ptr == end;
  return split == "auto" || (number && pieces >= 2 && pieces <= kMostPieces)
             ? ok_status()
             : invalid_input(fmt::format("--split is '{}', expected auto or 2 to {} pieces",
                                         printable(split), kMostPieces));
}

StatusOr<ComparedProblem> compare_splits(const CompareRequest& request,
                                         const PolicyRegistry& registry, const Progress& progress) {
  DFSIM_RETURN_IF_ERROR(check_split(request.split));
  if (looks_like_task_graph(request.graph)) {
    return invalid_input(fmt::format(
        "{}: found a task graph, whose tasks cannot be cut; --split is for models: leave it out",
        printable(request.graph)));
  }
  DFSIM_ASSIGN_OR_RETURN(CostedModel costed,
                         load_costed_model(request.model, request.graph, request.machine));
  return SplitSearch(request, registry, std::move(costed), progress).run();
}

}  // namespace dfsim::inline study
