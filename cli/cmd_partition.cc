// dfsim partition: a model over many devices, every plan simulated.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/instance_source.h"
#include "cli/progress.h"
#include "opmodel/model_loader.h"
#include "partition/cached_model.h"
#include "partition/parallel_degrees.h"
#include "report/partitioning.h"

namespace dfsim::cli {
namespace {

struct Options {
  ModelOptions model;
  std::string hardware;
  std::string runtime;
  std::string cost_model;
  std::string strategy = "auto";
  size_t devices = 0;
  uint32_t micro_batches = 0;
  std::string schedule = "1f1b";
  uint32_t chunks = 2;
  std::string collectives = "model";
  bool json = false;
  std::string output;
  std::string trace;
  std::string svg;
};

// The model at every size of a micro-batch that plans ask for.
class GraphSource {
 public:
  GraphSource(const ModelOptions& options, const RuntimeSpec& runtime)
      : options_(options), runtime_(runtime) {}

  // The batch as given, or as the model has it.
  StatusOr<int64_t> batch() {
    if (options_.batch > 0) {
      return options_.batch;
    }
    DFSIM_ASSIGN_OR_RETURN(const LoadedModel model, load_model(options_, runtime_));
    const int64_t batch = batch_of(model.executed);
    if (batch < 1) {
      return invalid_input(
          fmt::format("{}: no input has a batch dimension; say it with --batch N", options_.path));
    }
    return batch;
  }

  StatusOr<const Graph*> graph(int64_t batch) {
    const auto [it, is_new] = graphs_.try_emplace(batch);
    if (!is_new) {
      return &it->second;
    }
    ModelOptions options = options_;
    options.batch = batch;
    auto model = load_model(options, runtime_);
    if (!model.ok()) {
      graphs_.erase(it);
      return model.status();
    }
    if (batch_of(model->executed) != batch) {
      graphs_.erase(it);
      return invalid_input(fmt::format(
          "{}: its batch is fixed at {}, a plan needs micro-batches of {}; export the model with "
          "a dynamic batch or choose other --micro-batches",
          options.path, batch_of(model->executed), batch));
    }
    it->second = std::move(model->executed);
    return &it->second;
  }

 private:
  ModelOptions options_;
  const RuntimeSpec& runtime_;
  std::map<int64_t, Graph> graphs_;
};

class Partitioner {
 public:
  Partitioner(const Options& options, const Platform& platform, const CostModel& model)
      : options_(options),
        platform_(platform),
        model_(model),
        graphs_(options.model, platform.runtime),
        mode_(options.collectives == "flow" ? CollectiveMode::kFlow : CollectiveMode::kModel) {}

  StatusOr<Partitioning> run(Progress& progress) {
    result_.model = model_name(options_.model.path);
    result_.hardware = platform_.name;
    result_.runtime = platform_.runtime.name;
    result_.cost_model = model_.name();
    result_.collectives = options_.collectives;
    DFSIM_RETURN_IF_ERROR(plan_file());
    if (result_.batch == 0) {
      DFSIM_ASSIGN_OR_RETURN(result_.batch, graphs_.batch());
    }
    progress.stage("one device");
    DFSIM_RETURN_IF_ERROR(run_single());
    if (file_ != nullptr) {
      progress.stage(options_.strategy);
      DFSIM_RETURN_IF_ERROR(add(file_->micro_batches, [&](const Graph& graph) {
        return resolve_plan(*file_, graph, platform_);
      }));
    } else {
      DFSIM_RETURN_IF_ERROR(run_strategies(progress));
    }
    rank_plans(&result_.plans);
    return std::move(result_);
  }

  // The best plan again, for its trace and drawing.
  Status draw(const Partitioning& partitioning) {
    const PlanOutcome* best = partitioning.best();
    if (best == nullptr || (options_.trace.empty() && options_.svg.empty())) {
      return ok_status();
    }
    DFSIM_ASSIGN_OR_RETURN(const Graph* graph,
                           graphs_.graph(partitioning.batch / best->micro_batches));
    DFSIM_ASSIGN_OR_RETURN(const PlanSpec spec, resolve_plan(best->plan, *graph, platform_));
    std::string trace;
    DFSIM_ASSIGN_OR_RETURN(const PlanRun run, run_plan(spec, *graph, platform_, model_, mode_,
                                                       options_.trace.empty() ? nullptr : &trace));
    if (!options_.trace.empty()) {
      DFSIM_RETURN_IF_ERROR(write_file(options_.trace, trace));
    }
    return options_.svg.empty() ? ok_status()
                                : write_file(options_.svg, plan_svg(*best, run, *graph, platform_));
  }

 private:
  // Reads the strategy as a file unless it is a name.
  Status plan_file() {
    result_.batch = options_.model.batch;
    std::vector<std::string> names = strategy_names();
    if (std::find(names.begin(), names.end(), options_.strategy) != names.end()) {
      return ok_status();
    }
    std::error_code error;
    if (!std::filesystem::exists(options_.strategy, error)) {
      return not_found(unknown_name_message("strategy", options_.strategy, names) +
                       ", or the path of a plan file");
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
    DFSIM_ASSIGN_OR_RETURN(const Graph* graph, graphs_.graph(result_.batch));
    DFSIM_ASSIGN_OR_RETURN(const PlanSpec spec, degrees_spec({}, *graph, platform_));
    DFSIM_ASSIGN_OR_RETURN(const PlanRun run, run_plan(spec, *graph, platform_, model_, mode_));
    result_.single =
        measure_plan(spec, run, *graph, platform_, result_.model, result_.batch, nullptr);
    return ok_status();
  }

  Status run_strategies(Progress& progress) {
    const size_t there = compute_devices(platform_).size();
    const size_t devices = options_.devices == 0 ? there : options_.devices;
    if (devices > there) {
      return invalid_input(fmt::format("--devices {}: '{}' has {} devices for it", devices,
                                       printable(platform_.name), there));
    }
    if (options_.strategy == "uneven") {
      progress.stage("uneven");
      return add(1, [&](const Graph& graph) { return uneven_spec(graph, platform_, model_); });
    }
    if (devices < 2) {
      return invalid_input(fmt::format(
          "'{}' has one device to run on; partitioning needs a node of several, such as dgx-a100 "
          "(see dfsim hardware)",
          printable(platform_.name)));
    }
    DFSIM_ASSIGN_OR_RETURN(const PipelineSchedule schedule,
                           pipeline_schedule_of(options_.schedule));
    const auto count = static_cast<int64_t>(devices);
    const int64_t node = node_size(platform_, count);
    for (ParallelDegrees degrees :
         degrees_of(options_.strategy, count, node, result_.batch, options_.micro_batches)) {
      degrees.schedule = schedule;
      degrees.chunks = schedule == PipelineSchedule::kInterleaved ? options_.chunks : 1;
      if (degrees.chunks > 1 && degrees.replicate) {
        continue;  // chunks belong to devices of their own
      }
      progress.stage(degrees_name(degrees));
      DFSIM_RETURN_IF_ERROR(add(
          degrees.micro_batches,
          [&](const Graph& graph) { return degrees_spec(degrees, graph, platform_); },
          degrees_name(degrees)));
    }
    if (options_.strategy != "auto" && options_.strategy != "search") {
      return ok_status();
    }
    for (const std::vector<MeshAxis>& mesh : search_meshes(count, node)) {
      progress.stage("search");
      DFSIM_RETURN_IF_ERROR(add(
          1, [&](const Graph& graph) { return searched_spec(mesh, graph, platform_, model_); },
          "search"));
    }
    return ok_status();
  }

  // Runs one plan. What is wrong with it is its outcome, unless it was asked for alone.
  template <typename MakeSpec>
  Status add(uint32_t micro_batches, const MakeSpec& make_spec, const std::string& name = "") {
    auto outcome = evaluate(micro_batches, make_spec);
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

  template <typename MakeSpec>
  StatusOr<PlanOutcome> evaluate(uint32_t micro_batches, const MakeSpec& make_spec) {
    if (result_.batch % micro_batches != 0) {
      return invalid_input(fmt::format(
          "the batch of {} does not divide into {} micro-batches; choose another --batch or "
          "--micro-batches",
          result_.batch, micro_batches));
    }
    DFSIM_ASSIGN_OR_RETURN(const Graph* graph, graphs_.graph(result_.batch / micro_batches));
    DFSIM_ASSIGN_OR_RETURN(PlanSpec spec, make_spec(*graph));
    spec.micro_batches = micro_batches;
    DFSIM_ASSIGN_OR_RETURN(const PlanRun run, run_plan(spec, *graph, platform_, model_, mode_));
    return measure_plan(spec, run, *graph, platform_, result_.model, result_.batch,
                        &result_.single);
  }

  const Options& options_;
  const Platform& platform_;
  const CostModel& model_;
  GraphSource graphs_;
  CollectiveMode mode_;
  std::unique_ptr<PlanFile> file_;
  Partitioning result_;
};

Status run(const Options& options, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_machine(options.hardware, options.runtime));
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> trained,
                         load_cost_model_for(platform, options.cost_model));
  const std::unique_ptr<CostModel> model = make_cached_model(*trained);
  Partitioner partitioner(options, platform, *model);
  StatusOr<Partitioning> partitioning = failed("nothing was partitioned");
  {
    Progress progress(quiet);
    partitioning = partitioner.run(progress);
  }
  if (!partitioning.ok()) {
    return partitioning.status();
  }
  if (const PlanOutcome* best = partitioning->best(); best != nullptr && !options.output.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(options.output, plan_yaml(best->plan)));
  }
  DFSIM_RETURN_IF_ERROR(partitioner.draw(*partitioning));
  return write_file(
      "-", options.json ? partitioning_json(*partitioning) : partitioning_text(*partitioning));
}

void add_machine_options(CLI::App* command, Options& options) {
  command
      ->add_option("--hw", options.hardware,
                   "A hardware file, or the name of a built-in one with several devices")
      ->required()
      ->option_text("FILE|NAME");
  command
      ->add_option("--runtime", options.runtime,
                   "How the framework executes: a runtime file or the name of a built-in one; "
                   "default: what the hardware file names")
      ->option_text("FILE|NAME");
  command
      ->add_option("--cost-model", options.cost_model,
                   "Operator times: a model's folder, the name of a built-in one, or sol for the "
                   "speed-of-light bound; default: what each device names")
      ->option_text("DIR|NAME");
  command
      ->add_option("--collectives", options.collectives,
                   "model: by formula, once all are there; flow: as messages on the links, in "
                   "contention with everything else; default: model")
      ->option_text("MODE")
      ->check(CLI::IsMember({"model", "flow"}));
}

}  // namespace

void register_partition(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "partition", "A model over many devices: data, tensor and pipeline parallel, simulated");
  auto options = std::make_shared<Options>();
  options->model.add_to(command);
  add_machine_options(command, *options);
  command
      ->add_option(
          "--strategy", options->strategy,
          "auto (the default: all of the others), dp, tp, pp, hybrid, search; uneven; or a plan "
          "file as -o writes it (docs/partitioning.md)")
      ->option_text("NAME|FILE");
  command
      ->add_option("--devices", options->devices,
                   "How many devices share the work; default: all accelerators, or all CPUs")
      ->option_text("N")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--micro-batches", options->micro_batches,
                   "Into how many parts the batch is cut for a pipeline; default: the best of 1, "
                   "2 and 4 for each stage")
      ->option_text("N")
      ->check(CLI::Range(1, 65536));
  command
      ->add_option("--schedule", options->schedule,
                   "Of a pipeline: 1f1b, gpipe or interleaved; default: 1f1b")
      ->option_text("NAME");
  command
      ->add_option("--chunks", options->chunks,
                   "Parts of the model on each device of an interleaved pipeline; default: 2")
      ->option_text("N")
      ->check(CLI::Range(1, 64));
  command->add_flag("--json", options->json, "Everything as JSON");
  command->add_option("-o,--output", options->output, "Write the best plan there, as YAML")
      ->option_text("PLAN.yaml");
  command
      ->add_option("--trace", options->trace,
                   "Write the best plan's timeline, for Perfetto or chrome://tracing")
      ->option_text("OUT.json");
  command->add_option("--svg", options->svg, "Draw the best plan")->option_text("OUT.svg");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
