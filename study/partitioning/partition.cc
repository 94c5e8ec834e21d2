// The use case behind `dfsim partition`: loads the model at each micro-batch size that plans
// need, turns a strategy or file into plans, runs each, and ranks them. A plan that cannot be
// made becomes a row with its reason; it is an error only when the user asked for it alone.
#include "study/partitioning/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "graphs/passes/layout/split_weights.h"
#include "opmodel/cached_model.h"
#include "opmodel/model/model_loader.h"
#include "partition/plans/cluster.h"
#include "partition/plans/parallel_degrees.h"
#include "partition/plans/strategies.h"
#include "study/chain/machine_source.h"
#include "study/machines/explain_machine.h"

namespace dfsim::inline study {
namespace {

// Above so many devices, those that do the same are simulated once.
constexpr size_t kMostSimulated = 16;

StatusOr<std::optional<TrainingPlan>> training_of(const PartitionOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const std::optional<TrainingOptions> training, options.training.options());
  if (!training) {
    return std::optional<TrainingPlan>();
  }
  if (training->optimizer == OptimizerKind::kNone) {
    return invalid_input(
        "--optimizer none: plans exchange gradients for an update; choose sgd, momentum or adam");
  }
  constexpr double kBytesPerMb = 1 << 20;
  return std::optional<TrainingPlan>(
      TrainingPlan{*training, static_cast<Bytes>(options.bucket_mb * kBytesPerMb)});
}

// The model at every size of a micro-batch that plans ask for.
class GraphSource {
 public:
  GraphSource(const ModelOptions& options, const TrainingChoice& training, const Platform& platform)
      : options_(options), training_(training), platform_(platform) {}

  // The batch as given, or as the model has it.
  StatusOr<int64_t> batch() {
    if (options_.batch > 0) {
      return options_.batch;
    }
    DFSIM_ASSIGN_OR_RETURN(const LoadedModel model, load_forward(options_, training_, platform_));
    unknown_ = model.unknown;
    const int64_t batch = batch_of(model.executed);
    if (batch < 1) {
      return invalid_input(
          fmt::format("{}: no input has a batch dimension; say it with --batch N", options_.path));
    }
    return batch;
  }

  // For plans that cut weights, fused projections are taken apart.
  StatusOr<const Graph*> graph(int64_t batch, bool cuts_weights) {
    const auto known = graphs_.find({batch, cuts_weights});
    if (known != graphs_.end()) {
      return &known->second;
    }
    DFSIM_ASSIGN_OR_RETURN(Graph made, make_graph(batch));
    if (cuts_weights) {
      DFSIM_ASSIGN_OR_RETURN(made, split_fused_weights(made));
    }
    return &graphs_.emplace(std::pair(batch, cuts_weights), std::move(made)).first->second;
  }

  // The unknown part of the graphs that were loaded so far.
  const UnknownWork& unknown() const { return unknown_; }
  // Whether they are in mixed precision.
  bool autocast() const { return autocast_; }

 private:
  StatusOr<Graph> make_graph(int64_t batch) {
    ModelOptions options = options_;
    options.batch = batch;
    auto model = load_forward(options, training_, platform_);
    if (!model.ok()) {
      return model.status();
    }
    if (batch_of(model->executed) != batch) {
      return invalid_input(fmt::format(
          "{}: its batch is fixed at {}, a plan needs micro-batches of {}; export the model with "
          "a dynamic batch or choose other --micro-batches",
          options.path, batch_of(model->executed), batch));
    }
    unknown_ = unknown_.complete() ? model->unknown : unknown_;
    autocast_ = model->autocast;
    return std::move(model->executed);
  }

  ModelOptions options_;
  TrainingChoice training_;
  Platform platform_;
  UnknownWork unknown_;
  bool autocast_ = false;
  std::map<std::pair<int64_t, bool>, Graph> graphs_;
};

// Whether the rules of a plan are about parts that split_fused_weights() makes.
bool names_parts(const PlanFile& plan) {
  const auto is_part = [](const std::string& name) {
    return name.find(kWeightPart) != std::string::npos;
  };
  const auto has_part = [&](const auto& names) { return std::ranges::any_of(names, is_part); };
  return std::ranges::any_of(plan.tensors, has_part, &TensorRule::names) ||
         std::ranges::any_of(plan.ops, has_part, &OpRule::names) ||
         std::ranges::any_of(plan.until, has_part);
}

// Whether dfsim took fused projections apart before it made this plan: degrees_spec() calls the
// axis of tensor parallelism so.
bool cuts_weights(const PlanFile& plan) {
  return names_parts(plan) || std::ranges::any_of(plan.mesh, [](const MeshAxis& axis) {
           return axis.name == "tensor" && axis.size > 1;
         });
}

}  // namespace

class Partitioner::Impl {
 public:
  Impl(const PartitionOptions& options, Platform platform, std::unique_ptr<CostModel> trained)
      : options_(options),
        platform_(std::move(platform)),
        trained_(std::move(trained)),
        model_(make_cached_model(*trained_)),
        graphs_(options.model, options.training, platform_),
        mode_(options.collectives == "flow" ? CollectiveMode::kFlow : CollectiveMode::kModel) {}

  StatusOr<Partitioning> run(const Progress& progress) {
    result_.model = model_name(options_.model.path);
    result_.hardware = platform_.name;
    result_.runtime = platform_.runtime.name;
    result_.cost_model = model_->name();
    result_.collectives = options_.collectives;
    DFSIM_ASSIGN_OR_RETURN(result_.training, training_of(options_));
    result_.unfused_step = result_.training.has_value() && compiles_steps(platform_.runtime);
    DFSIM_RETURN_IF_ERROR(plan_file());
    if (result_.batch == 0) {
      DFSIM_ASSIGN_OR_RETURN(result_.batch, graphs_.batch());
    }
    explain_machine(platform_, result_.cost_model, progress);
    DFSIM_RETURN_IF_ERROR(progress.stage("one device"));
    DFSIM_RETURN_IF_ERROR(run_single());
    if (file_ != nullptr) {
      DFSIM_RETURN_IF_ERROR(check_plan_options());
      DFSIM_RETURN_IF_ERROR(progress.stage(options_.strategy));
      DFSIM_RETURN_IF_ERROR(add(file_->micro_batches, names_parts(*file_), [&](const Graph& graph) {
        return resolve_plan(*file_, graph, platform_);
      }));
    } else {
      DFSIM_RETURN_IF_ERROR(run_strategies(progress));
    }
    rank_plans(&result_.plans);
    explain_plans(progress);
    result_.unknown = graphs_.unknown();
    result_.allow_incomplete = options_.model.allow_incomplete;
    return std::move(result_);
  }

  StatusOr<RunOfPlan> run_again(const Partitioning& partitioning, const PlanOutcome& plan,
                                const MakeRecorder& record) {
    DFSIM_ASSIGN_OR_RETURN(
        const Graph* graph,
        graphs_.graph(partitioning.batch / plan.micro_batches, cuts_weights(plan.plan)));
    DFSIM_ASSIGN_OR_RETURN(PlanSpec spec, resolve_plan(plan.plan, *graph, platform_));
    complete(&spec, plan.plan.micro_batches);
    DFSIM_ASSIGN_OR_RETURN(PlanRun run, run_plan(spec, *graph, platform_, *model_, mode_, record));
    return RunOfPlan{*graph, std::move(run)};
  }

 private:
  // Every plan that was tried, best first, with its time or the reason why it has none.
  void explain_plans(const Progress& progress) const {
    for (const PlanOutcome& plan : result_.plans) {
      progress.decide(
          "plan", {{"name", plan.name},
                   plan.status.ok()
                       ? std::pair<std::string, std::string>("time", format_time(plan.makespan_ns))
                       : std::pair<std::string, std::string>("refused", plan.status.message())});
    }
  }

  // Reads the strategy as a file unless it is a name.
  Status plan_file() {
    result_.batch = options_.model.batch;
    const auto named = find_strategy(options_.strategy);
    if (named.ok()) {
      return ok_status();
    }
    std::error_code error;
    if (!std::filesystem::exists(options_.strategy, error)) {
      return not_found(named.status().message() + ", or the path of a plan file");
    }
    DFSIM_ASSIGN_OR_RETURN(PlanFile plan, load_plan(options_.strategy));
    if (!plan.model.empty() && plan.model != result_.model) {
      return invalid_input(
          fmt::format("{}: a plan for the model '{}', this is '{}'; remove the "
                      "key `model` if it is meant for both",
                      options_.strategy, printable(plan.model), result_.model));
    }
    result_.batch = result_.batch > 0 ? result_.batch : plan.batch;
    plan.micro_batches = options_.micro_batches > 0 ? options_.micro_batches : plan.micro_batches;
    file_ = std::make_unique<PlanFile>(std::move(plan));
    return ok_status();
  }

  Status run_single() {
    DFSIM_ASSIGN_OR_RETURN(const Graph* graph, graphs_.graph(result_.batch, false));
    DFSIM_ASSIGN_OR_RETURN(PlanSpec spec, degrees_spec({}, *graph, platform_));
    complete(&spec, 1);
    DFSIM_ASSIGN_OR_RETURN(const PlanRun run, run_plan(spec, *graph, platform_, *model_, mode_));
    result_.single =
        measure_plan(spec, run, *graph, platform_, result_.model, result_.batch, nullptr);
    return ok_status();
  }

  Status run_strategies(const Progress& progress) {
    const size_t there = compute_devices(platform_).size();
    const size_t devices = options_.devices == 0 ? there : options_.devices;
    if (devices > there) {
      return invalid_input(
          fmt::format("--devices {}: '{}' has {} devices for it; choose fewer, other hardware, or "
                      "more nodes of "
                      "a cluster with --nodes",
                      devices, printable(platform_.name), there));
    }
    DFSIM_ASSIGN_OR_RETURN(const Strategy* const strategy, find_strategy(options_.strategy));
    if (strategy->besides == Strategy::Besides::kUneven) {
      DFSIM_RETURN_IF_ERROR(chosen_schedule(false).status());
      DFSIM_RETURN_IF_ERROR(progress.stage(options_.strategy));
      return add(1, false,
                 [&](const Graph& graph) { return uneven_spec(graph, platform_, *model_); });
    }
    if (devices < 2 && there > 1) {
      return invalid_input(
          fmt::format("--devices {}: expected 2 to the {} devices of '{}'; dfsim predict times a "
                      "model on one device",
                      devices, there, printable(platform_.name)));
    }
    if (devices < 2) {
      return invalid_input(fmt::format(
          "'{}' has one device to run on; partitioning needs a node of several, such as dgx-a100 "
          "(see dfsim hardware)",
          printable(platform_.name)));
    }
    const auto count = static_cast<int64_t>(devices);
    const int64_t node = node_size(platform_, count);
    const auto all =
        degrees_of(options_.strategy, count, node, result_.batch, options_.micro_batches);
    const bool has_pipeline =
        std::ranges::any_of(all, [](const ParallelDegrees& d) { return d.stages > 1; });
    DFSIM_ASSIGN_OR_RETURN(const PipelineSchedule schedule, chosen_schedule(has_pipeline));
    double done = 0;
    for (ParallelDegrees degrees : all) {
      degrees.schedule = schedule;
      degrees.chunks = schedule == PipelineSchedule::kInterleaved ? chosen_chunks() : 1;
      if (degrees.replicate && (degrees.chunks > 1 || result_.training)) {
        continue;  // chunks belong to devices of their own, training shares the batch by dp
      }
      DFSIM_RETURN_IF_ERROR(progress.stage(degrees_name(degrees)));
      progress.advance(done++, static_cast<double>(all.size()), "plans");
      DFSIM_RETURN_IF_ERROR(add(
          degrees.micro_batches, degrees.tensor > 1,
          [&](const Graph& graph) { return degrees_spec(degrees, graph, platform_); },
          degrees_name(degrees)));
    }
    if (strategy->besides != Strategy::Besides::kSearch) {
      return some_plan();
    }
    for (const std::vector<MeshAxis>& mesh : search_meshes(count, node)) {
      DFSIM_RETURN_IF_ERROR(progress.stage("search"));
      DFSIM_RETURN_IF_ERROR(add(
          1, false,
          [&](const Graph& graph) { return searched_spec(mesh, graph, platform_, *model_); },
          "search"));
    }
    return some_plan();
  }

  uint32_t chosen_chunks() const { return options_.chunks > 0 ? options_.chunks : 2; }

  // Refuses settings of a pipeline where nothing would follow them.
  StatusOr<PipelineSchedule> chosen_schedule(bool has_pipeline) const {
    const bool given = !options_.schedule.empty();
    DFSIM_ASSIGN_OR_RETURN(const PipelineSchedule schedule,
                           pipeline_schedule_of(given ? options_.schedule : "1f1b"));
    if (!has_pipeline && (given || options_.chunks > 0)) {
      return invalid_input(fmt::format(
          "{}: --strategy {} cuts no pipeline; choose pp, hybrid or auto, or leave the option out",
          given ? "--schedule " + options_.schedule : fmt::format("--chunks {}", options_.chunks),
          printable(options_.strategy)));
    }
    if (options_.chunks > 0 && schedule != PipelineSchedule::kInterleaved) {
      return invalid_input(fmt::format(
          "--chunks {}: the schedule {} has one part of the model on each device; choose "
          "--schedule interleaved, or leave the option out",
          options_.chunks, pipeline_schedule_name(schedule)));
    }
    return schedule;
  }

  // A plan file has a schedule and chunks of its own.
  Status check_plan_options() const {
    if (options_.schedule.empty() && options_.chunks == 0) {
      return ok_status();
    }
    return invalid_input(fmt::format(
        "{}: {} and a plan file, which says that itself; change its keys `schedule` and `chunks`",
        printable(options_.strategy), options_.schedule.empty() ? "--chunks" : "--schedule"));
  }

  // The first plan's error where no plan can be made.
  Status some_plan() const {
    const auto& plans = result_.plans;
    const bool none =
        std::ranges::none_of(plans, [](const PlanOutcome& plan) { return plan.status.ok(); });
    return none && !plans.empty() ? plans.front().status.with_place(plans.front().name)
                                  : ok_status();
  }

  // Runs one plan. An error becomes the plan's outcome, unless the caller asked for this plan
  // alone.
  template <typename MakeSpec>
  Status add(uint32_t micro_batches, bool by_columns, const MakeSpec& make_spec,
             const std::string& name = "") {
    auto outcome = evaluate(micro_batches, by_columns, make_spec);
    if (outcome.ok()) {
      result_.plans.push_back(std::move(*outcome));
      return ok_status();
    }
    if (name.empty() || options_.strategy == "dp" || options_.strategy == "tp") {
      return outcome.status();
    }
    PlanOutcome failure;
    failure.name = name;
    failure.status = outcome.status();
    result_.plans.push_back(std::move(failure));
    return ok_status();
  }

  // Settings that plans do not have: the mode, and whether devices that do the same are simulated
  // once.
  void complete(PlanSpec* spec, uint32_t micro_batches) const {
    spec->micro_batches = micro_batches;
    spec->training = result_.training;
    spec->autocast = graphs_.autocast();
    size_t devices = std::max<size_t>(spec->groups, spec->devices.size());
    for (const MeshAxis& axis : spec->mesh) {
      devices *= static_cast<size_t>(std::max<int64_t>(1, axis.size));
    }
    spec->use_symmetry = !options_.every_device && devices > kMostSimulated;
  }

  template <typename MakeSpec>
  StatusOr<PlanOutcome> evaluate(uint32_t micro_batches, bool by_columns,
                                 const MakeSpec& make_spec) {
    if (result_.batch % micro_batches != 0) {
      return invalid_input(fmt::format(
          "the batch of {} does not divide into {} micro-batches; choose another --batch or "
          "--micro-batches",
          result_.batch, micro_batches));
    }
    DFSIM_ASSIGN_OR_RETURN(const Graph* graph,
                           graphs_.graph(result_.batch / micro_batches, by_columns));
    DFSIM_ASSIGN_OR_RETURN(PlanSpec spec, make_spec(*graph));
    complete(&spec, micro_batches);
    DFSIM_ASSIGN_OR_RETURN(const PlanRun run, run_plan(spec, *graph, platform_, *model_, mode_));
    return measure_plan(spec, run, *graph, platform_, result_.model, result_.batch,
                        &result_.single);
  }

  const PartitionOptions options_;
  const Platform platform_;
  const std::unique_ptr<CostModel> trained_;
  const std::unique_ptr<CostModel> model_;  // trained_, which remembers what it was asked
  GraphSource graphs_;
  CollectiveMode mode_;
  std::unique_ptr<PlanFile> file_;
  Partitioning result_;
};

Partitioner::Partitioner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Partitioner::~Partitioner() = default;

StatusOr<std::unique_ptr<Partitioner>> Partitioner::create(const PartitionOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(
      Platform platform,
      load_machine(options.hardware, runtime_for(options.model.path, options.runtime),
                   options.model.precision));
  DFSIM_RETURN_IF_ERROR(options.training.options().status());
  DFSIM_RETURN_IF_ERROR(check_trains(options.training, platform));
  if (options.nodes > 0) {
    DFSIM_ASSIGN_OR_RETURN(platform, resize_cluster(platform, options.nodes));
  }
  DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<CostModel> trained,
                         load_cost_model_for(platform, options.cost_model));
  return std::unique_ptr<Partitioner>(
      new Partitioner(std::make_unique<Impl>(options, std::move(platform), std::move(trained))));
}

StatusOr<Partitioning> Partitioner::run(const Progress& progress) { return impl_->run(progress); }

StatusOr<RunOfPlan> Partitioner::run_again(const Partitioning& partitioning,
                                           const PlanOutcome& plan, const MakeRecorder& record) {
  return impl_->run_again(partitioning, plan, record);
}

StatusOr<Partitioning> partition_model(const PartitionOptions& options, const Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<Partitioner> partitioner,
                         Partitioner::create(options));
  return partitioner->run(progress);
}

}  // namespace dfsim::inline study
