// sweep(): points that import the same graph form a group. A thread takes a whole group, so that
// threads seldom wait for each other and only as many graphs are in memory as there are threads; a
// thread that finds no new group helps with those that others began. All results are functions of
// their point alone, which is why neither the threads nor the journal can change a row.
#include "study/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/cancellation.h"
#include "base/hash.h"
#include "base/text.h"
#include "schedulers/registry.h"
#include "study/chain/machine_source.h"
#include "study/chain/model_run.h"
#include "study/chain/precision_choice.h"
#include "study/prediction/prediction.h"
#include "study/sweep/input_versions.h"
#include "study/sweep/sweep_costs.h"
#include "study/sweep/sweep_groups.h"
#include "study/sweep/sweep_journal.h"
#include "study/sweep/sweep_machines.h"
#include "study/sweep/sweep_parts.h"
#include "study/sweep/sweep_plan.h"

namespace dfsim::inline study {
namespace {

SweepFigures sweep_figures(const Prediction& prediction, size_t tasks) {
  SweepFigures figures;
  figures.latency_ns = prediction.latency_ns;
  figures.interval = prediction.interval;
  figures.throughput_per_s = prediction.throughput_per_s;
  figures.batch = prediction.batch;
  figures.peak_memory_bytes = prediction.peak_memory_bytes;
  figures.memory_bytes = prediction.memory_bytes;
  figures.weight_bytes = prediction.weight_bytes;
  figures.parameters = prediction.parameters;
  figures.macs = prediction.macs;
  figures.flops = prediction.flops;
  figures.achieved_flops_per_s = prediction.achieved_flops_per_s;
  figures.device_busy_ns = prediction.device_busy_ns;
  figures.host_busy_ns = prediction.host_busy_ns;
  figures.tasks = tasks;
  figures.unresolved_ops = prediction.unknown.ops;
  figures.bound_only_fraction = prediction.bound_only_share;
  return figures;
}

// An import names the option --dim, which a sweep has as --param.
Status with_own_options(const Status& failure) {
  constexpr std::string_view kImports = "--dim";
  constexpr std::string_view kOwn = "--param";
  std::string message = failure.message();
  for (size_t at = message.find(kImports); at != std::string::npos;
       at = message.find(kImports, at + kOwn.size())) {
    message.replace(at, kImports.size(), kOwn);
  }
  return Status(failure.code(), message);
}

class Sweeper {
 public:
  Sweeper(const SweepOptions& options, const Progress& progress)
      : options_(options), progress_(progress) {}

  StatusOr<SweepResult> run() {
    DFSIM_ASSIGN_OR_RETURN(SweepPlan plan, plan_sweep(options_));
    if (options_.part.count > 1) {
      plan = plan.part(SweepParts(plan, options_.part.count).points(options_.part.index));
    }
    DFSIM_RETURN_IF_ERROR(load(std::move(plan)));
    if (!options_.journal.empty()) {
      const FinishedPoints finished = index_points();
      DFSIM_ASSIGN_OR_RETURN(
          journal_, SweepJournal::open(options_.journal, options_.program, taker(finished)));
      // Failed points are tried again.
      for (size_t p = 0; p < is_done_.size(); ++p) {
        is_done_[p] = is_done_[p] && result_.rows[p].error.empty();
      }
      result_.kept = static_cast<size_t>(std::ranges::count(is_done_, true));
    }
    make_groups();
    explain_sharing();
    if (result_.kept > 0) {
      progress_.note(fmt::format("{} of {} points are finished in {}", result_.kept,
                                 result_.points.size(), options_.journal));
    }
    run_threads();
    DFSIM_RETURN_IF_ERROR(error_);
    return std::move(result_);
  }

  StatusOr<MergedSweep> merge(const std::vector<std::string>& journals) {
    DFSIM_ASSIGN_OR_RETURN(SweepPlan plan, plan_sweep(options_));
    DFSIM_RETURN_IF_ERROR(load(std::move(plan)));
    MergedSweep merged;
    const FinishedPoints finished = index_points();
    const SweepParts parts(result_.points, journals.size());
    for (size_t part = 0; part < journals.size(); ++part) {
      if (std::error_code error; std::filesystem::exists(journals[part], error)) {
        DFSIM_RETURN_IF_ERROR(
            read_finished_points(journals[part], options_.program, taker(finished)));
      }
      const size_t missing = merged.missing;
      for (const uint32_t p : parts.points(part)) {
        merged.missing += is_done_[p] ? 0 : 1;
      }
      if (merged.missing > missing) {
        merged.incomplete.push_back(part);
      }
    }
    merged.result = std::move(result_);
    return merged;
  }

 private:
  // The points by the digest of their key, to find those of a journal.
  using FinishedPoints = std::vector<std::pair<uint64_t, uint32_t>>;

  FinishedPoints index_points() {
    FinishedPoints finished;
    finished.reserve(result_.points.size());
    for (uint32_t p = 0; p < result_.points.size(); ++p) {
      finished.emplace_back(Hasher().add(key_of(result_.points[p])).digest(), p);
    }
    std::sort(finished.begin(), finished.end());
    is_done_.resize(result_.points.size());
    return finished;
  }

  // Stores the row of each point that has such a key; `finished` outlives what is returned. Two
  // keys may have one digest, which is why the keys themselves are compared.
  TakeFinishedPoint taker(const FinishedPoints& finished) {
    return [this, &finished](const std::string& key, const SweepRow& row) {
      const uint64_t digest = Hasher().add(key).digest();
      for (auto found = std::ranges::lower_bound(finished, std::pair(digest, uint32_t{0}));
           found != finished.end() && found->first == digest; ++found) {
        const uint32_t p = found->second;
        if (key_of(result_.points[p]) == key) {
          DFSIM_RETURN_IF_ERROR(result_.rows.set(p, row));
          is_done_[p] = true;
        }
      }
      return ok_status();
    };
  }

  // Checks the settings of the points and loads their machines.
  Status load(SweepPlan points) {
    result_.points = std::move(points);
    DFSIM_ASSIGN_OR_RETURN(result_.rows, SweepRows::make(result_.points.size()));
    DFSIM_RETURN_IF_ERROR(check_training());
    DFSIM_RETURN_IF_ERROR(check_policies());
    DFSIM_RETURN_IF_ERROR(check_precisions());
    DFSIM_RETURN_IF_ERROR(progress_.stage("loading machines"));
    return machines_.load(result_.points, options_.cost_model);
  }

  // Looks at the whole sweep, as a part of it may have no point that trains.
  Status check_training() const {
    const bool trains = std::ranges::count(options_.axes.modes, "train") > 0 ||
                        std::ranges::count(options_.points, "train", &SweepPoint::mode) > 0;
    TrainingChoice training = options_.training;
    training.mode = trains ? "train" : "infer";
    return training.options().status();
  }

  Status check_policies() const {
    const PolicyRegistry registry;
    std::string checked;
    for (const SweepPoint& point : result_.points) {
      if (point.policy != checked) {
        DFSIM_RETURN_IF_ERROR(registry.find(point.policy).status());
        checked = point.policy;
      }
    }
    return ok_status();
  }

  // Names alone: a machine without units for a precision makes points fail.
  Status check_precisions() const {
    std::string checked;
    for (const SweepPoint& point : result_.points) {
      if (point.precision != checked && !point.precision.empty()) {
        const Status known = check_precision_name(point.precision);
        DFSIM_RETURN_IF_ERROR(known.with_place("--precision"));
      }
      checked = point.precision;
    }
    return ok_status();
  }

  // Logs the imports that points share, and the cost models of their machines.
  void explain_sharing() const {
    if (!progress_.explains()) {
      return;
    }
    machines_.explain(progress_);
    progress_.decide("sweep", {{"points", std::to_string(result_.points.size())},
                               {"kept", std::to_string(result_.kept)},
                               {"imports", std::to_string(groups_.size())},
                               {"machines", std::to_string(machines_.size())}});
  }

  // Points without a row yet, by what they import, in order of the plan.
  void make_groups() {
    std::map<SweepImport, SweepGroup*> by_import;
    for (uint32_t p = 0; p < result_.points.size(); ++p) {
      if (!is_done_.empty() && is_done_[p]) {
        continue;
      }
      SweepGroup*& group = by_import[import_of(result_.points[p])];
      if (group == nullptr) {
        group = groups_.emplace_back(std::make_unique<SweepGroup>()).get();
      }
      group->points.push_back(p);
    }
  }

  void run_threads() {
    size_t count = options_.threads > 0 ? options_.threads : std::thread::hardware_concurrency();
    count = std::clamp<size_t>(count, 1, std::max<size_t>(1, result_.points.size()));
    run_on_threads(count, [this] { work(); });
  }

  void work() {
    for (size_t g = next_group_.fetch_add(1); g < groups_.size(); g = next_group_.fetch_add(1)) {
      work_on(*groups_[g]);
    }
    for (const std::unique_ptr<SweepGroup>& group : groups_) {
      work_on(*group);
    }
  }

  void work_on(SweepGroup& group) {
    for (size_t i = group.next.fetch_add(1); i < group.points.size() && !stopped_;
         i = group.next.fetch_add(1)) {
      const size_t p = group.points[i];
      if (begin(p)) {
        run_point(p, *group.shared());
      }
      group.finish_one();
    }
  }

  // Reports the point; false when the sweep is to end.
  bool begin(size_t p) {
    const std::lock_guard lock(progress_mutex_);
    if (!stopped_) {
      const SweepPoint point = result_.points[p];
      stop_at(progress_.stage(fmt::format("point {} of {}: {} on {}", result_.kept + ++begun_,
                                          result_.points.size(), model_name(point.model),
                                          printable(point.hardware))));
      progress_.advance(static_cast<double>(result_.kept + begun_ - 1),
                        static_cast<double>(result_.points.size()), "points");
    }
    return !stopped_;
  }

  // With progress_mutex_ held.
  void stop_at(Status status) {
    if (!status.ok() && error_.ok()) {
      error_ = std::move(status);
      stopped_ = true;
    }
  }

  void run_point(size_t p, SharedGraphs& graphs) {
    const SweepPoint point = result_.points[p];
    SweepRow row;
    auto figures = predict_point(point, graphs);
    const SweepMachine& machine = machines_.of(point);
    row.runtime = machine.usable.ok() ? machine.platform.runtime.name : point.runtime;
    if (figures.ok()) {
      row.figures = *figures;
    } else {
      const bool usable = figures.status().code() != StatusCode::kUnsupported;
      row.error = (usable ? "" : "unsupported: ") + figures.status().message();
    }
    Status kept = result_.rows.set(p, row);
    if (kept.ok() && journal_ != nullptr) {
      kept = journal_->add(key_of(point), row);
    }
    if (!kept.ok()) {
      const std::lock_guard lock(progress_mutex_);
      stop_at(std::move(kept));
    }
  }

  // Settings of training steps do not concern points that infer.
  TrainingChoice training_of(const SweepPoint& point) const {
    TrainingChoice training;
    if (point.mode == "train") {
      training = options_.training;
      training.mode = point.mode;
    }
    return training;
  }

  StatusOr<SweepFigures> predict_point(const SweepPoint& point, SharedGraphs& graphs) const {
    const SweepMachine& machine = machines_.of(point);
    DFSIM_RETURN_IF_ERROR(machine.usable);
    const ModelOptions model_options = model_options_of(point);
    const TrainingChoice training = training_of(point);
    DFSIM_RETURN_IF_ERROR(check_trains(training, machine.platform));
    // Whether the machine has such a precision is its own matter; the rest is shared.
    DFSIM_RETURN_IF_ERROR(resolve_precision(point.precision, machine.platform).status());
    const auto& imported = graphs.imported.get([&] { return import_model(model_options); });
    if (!imported.ok()) {
      return with_own_options(imported.status());
    }
    ImportReport report = imported->report;  // for the notes of the choice, which no row has
    DFSIM_ASSIGN_OR_RETURN(PrecisionPlan plan,
                           choose_precision(point.precision, training.is_training(),
                                            machine.platform, imported->graph, &report));
    MadeOnce<LoadedModel>* rewritten = nullptr;
    {
      const std::lock_guard lock(graphs.mutex);
      rewritten =
          &graphs.rewritten[{point.mode, std::move(plan), machine.platform.runtime.source_file,
                             runs_on_cpu(machine.platform)}];
    }
    const auto& model = rewritten->get(
        [&] { return load_imported(*imported, model_options, training, machine.platform); });
    if (!model.ok()) {
      return model.status();
    }
    const SharedCostModel costs(*machine.cost_model, graphs.costs);
    DFSIM_ASSIGN_OR_RETURN(const ModelRun run, ModelRun::prepare(*model, machine.platform, costs,
                                                                 {point.policy, options_.seed}));
    DFSIM_ASSIGN_OR_RETURN(const SimulatedModel simulated, run.simulate());
    DFSIM_ASSIGN_OR_RETURN(const Prediction totals,
                           make_totals({*model, machine.platform, machine.cost_model->name(),
                                        run.costs(), run.tasks(), simulated}));
    return sweep_figures(totals, model->workload.graph.task_count());
  }

  ModelOptions model_options_of(const SweepPoint& point) const {
    ModelOptions options = options_.model;
    options.path = point.model;
    options.batch = point.batch;
    options.precision = point.precision;
    for (const auto& [name, extent] : point.param) {
      options.dims.push_back(fmt::format("{}={}", name, extent));
    }
    return options;
  }

  // The versions of the model and the file of precisions of a point. Any thread.
  std::string versions_of(const SweepPoint& point) {
    const std::lock_guard lock(versions_mutex_);
    std::string& model = versions_["model " + point.model];
    if (model.empty()) {
      model = model_version(point.model);
    }
    std::string& precision = versions_["precision " + point.precision];
    if (precision.empty()) {
      precision = file_version(point.precision);
    }
    return model + "|" + precision;
  }

  // The point, and a digest of everything else that its figures depend on. Any thread.
  std::string key_of(const SweepPoint& point) {
    Hasher rest;
    rest.add(options_.program).add(versions_of(point)).add(machines_.of(point).version);
    rest.add(options_.training.optimizer).add(options_.training.recompute).add(options_.seed);
    for (const auto* list :
         {&options_.model.dims, &options_.model.input_shapes, &options_.model.trip_counts}) {
      rest.add(join(*list, ";"));
    }
    rest.add(options_.model.branch)
        .add(options_.model.signature)
        .add(options_.model.strict ? 1 : 0);
    std::string key =
        fmt::format("{:016x}|{}|{}|{}|{}|{}|{}|{}", rest.digest(), point.model, point.hardware,
                    point.runtime, point.precision, point.mode, point.policy, point.batch);
    for (const auto& [name, extent] : point.param) {
      key += fmt::format("|{}={}", name, extent);
    }
    return key;
  }

  const SweepOptions& options_;
  const Progress& progress_;
  SweepResult result_;
  SweepMachines machines_;
  std::unique_ptr<SweepJournal> journal_;
  std::vector<std::unique_ptr<SweepGroup>> groups_;
  std::atomic<size_t> next_group_ = 0;
  std::vector<bool> is_done_;  // by point, with a journal: it is in there
  std::mutex versions_mutex_;
  std::map<std::string, std::string> versions_;  // by kind of file and path
  std::mutex progress_mutex_;                    // of what follows
  size_t begun_ = 0;
  Status error_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

size_t SweepResult::failed() const {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(),
                                           [](const SweepRow& row) { return !row.error.empty(); }));
}

size_t SweepResult::incomplete() const {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const SweepRow& row) {
    return row.error.empty() && !is_complete(row.figures);
  }));
}

bool is_limit(const SweepFigures& figures) {
  return !is_complete(figures) || figures.bound_only_fraction > kMuchBoundOnly;
}

bool is_too_large(const SweepFigures& figures) {
  return figures.memory_bytes > 0 && figures.peak_memory_bytes > figures.memory_bytes;
}

StatusOr<SweepResult> sweep(const SweepOptions& options, const Progress& progress) {
  return Sweeper(options, progress).run();
}

StatusOr<MergedSweep> merge_sweep(const SweepOptions& options,
                                  const std::vector<std::string>& journals) {
  return Sweeper(options, {}).merge(journals);
}

Status remove_journal(const SweepOptions& options) {
  std::error_code error;
  if (!options.journal.empty()) {
    std::filesystem::remove(options.journal, error);
  }
  return error ? failed(options.journal + ": cannot be removed: " + error.message()) : ok_status();
}

}  // namespace dfsim::inline study
