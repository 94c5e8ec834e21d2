// dfsim compare: scheduling policies side by side, every plan simulated.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <system_error>
#include <utility>

#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/study_commands.h"
#include "cli/terminal_text.h"
#include "cli/verdicts.h"
#include "report/html/html_page.h"
#include "report/predictions/comparison_views.h"
#include "report/svg/gantt.h"
#include "report/trace/trace_file.h"
#include "schedulers/plugin.h"
#include "study/comparison/compare.h"
#include "study/comparison/split_search.h"

namespace dfsim::cli {
namespace {

constexpr double kMaxBandwidth = 1e18;
constexpr double kMaxBudgetS = 1e6;

struct CompareCommand {
  std::vector<std::string> graphs;
  std::vector<std::string> hardware;
  std::vector<size_t> processors;
  double bandwidth = 125e6;
  ModelOptions model;
  std::string runtime;
  std::string cost_model;
  std::string policies = "all";
  std::string decide;
  std::string links;
  std::string split;
  double charge_ns = 0;
  std::string noise;
  std::vector<std::string> plugins;
  std::string gantt = "best";
  std::string unit = "auto";
  std::string memory = "track";
  bool json = false;
  bool csv = false;
  std::string output = "-";
  std::string html;
  std::string trace_folder;  // a trace per policy; "" = none
  std::string trace_format;  // "" = json
  bool allow_oversubscription = false;
  CompareOptions compare;
};

Status check(const CompareCommand& options) {
  if (!(options.bandwidth >= 1 && options.bandwidth <= kMaxBandwidth)) {
    return invalid_input(fmt::format("--bandwidth is {}, expected 1 to {} bytes per second",
                                     options.bandwidth, kMaxBandwidth));
  }
  if (!(options.compare.policy.time_budget_s >= 0 &&
        options.compare.policy.time_budget_s <= kMaxBudgetS)) {
    return invalid_input(fmt::format("--time-budget is {}, expected 0 to {} seconds",
                                     options.compare.policy.time_budget_s, kMaxBudgetS));
  }
  if (!options.trace_format.empty() && options.trace_folder.empty()) {
    return invalid_input("--trace-format without --trace; say where traces go with --trace DIR");
  }
  return options.split.empty() ? ok_status() : check_split(options.split);
}

// --decide, --charge-decisions, --repeat and --noise.
Status read_run_options(CompareCommand& command) {
  CompareOptions& compare = command.compare;
  constexpr double kMostChargeNs = 1e9;
  constexpr double kMostCv = 10;
  constexpr size_t kMostRuns = 1'000'000;
  if (!command.decide.empty()) {
    compare.decide = command.decide == "ahead" ? DecideWhen::kAhead : DecideWhen::kReady;
  }
  if (!(command.charge_ns >= 0 && command.charge_ns <= kMostChargeNs)) {
    return invalid_input(fmt::format("--charge-decisions is {}, expected 0 to {} nanoseconds",
                                     command.charge_ns, kMostChargeNs));
  }
  compare.charge_ns = static_cast<TimeNs>(command.charge_ns + 0.5);
  if (!(compare.policy.alpha >= 0 && compare.policy.ratio >= 0)) {
    return invalid_input(fmt::format("--alpha is {} and --ratio {}, expected 0 or more",
                                     compare.policy.alpha, compare.policy.ratio));
  }
  if (compare.noise.runs > kMostRuns) {
    return invalid_input(
        fmt::format("--repeat is {}, expected 1 to {} runs", compare.noise.runs, kMostRuns));
  }
  if (!command.noise.empty() && compare.noise.runs == 0) {
    return invalid_input("--noise without --repeat; say how many runs with --repeat N");
  }
  if (command.noise.empty() || command.noise == "measured") {
    return ok_status();
  }
  double cv = 0;
  const char* const end = command.noise.data() + command.noise.size();
  const std::from_chars_result parsed = std::from_chars(command.noise.data(), end, cv);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(cv > 0 && cv <= kMostCv)) {
    return invalid_input(fmt::format(
        "--noise is '{}', expected measured, or a standard deviation / time above 0 and up to {}",
        printable(command.noise), kMostCv));
  }
  compare.noise.cv = cv;
  return ok_status();
}

StatusOr<MemoryPolicy> memory_policy(const std::string& name) {
  const std::vector<std::string> names = {"off", "track", "fail", "wait", "spill"};
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    return invalid_input(unknown_name_message("memory policy", name, names));
  }
  return static_cast<MemoryPolicy>(found - names.begin());
}

// Every machine that each graph is to run on. Processors alone refuse --runtime and --cost-model.
std::vector<MachineChoice> machines_of(const CompareCommand& options) {
  std::vector<MachineChoice> machines;
  for (const std::string& hardware : options.hardware) {
    machines.push_back({hardware, 0, options.bandwidth, options.runtime, options.cost_model});
  }
  for (const size_t processors : options.processors) {
    machines.push_back({"", processors, options.bandwidth,
                        options.hardware.empty() ? options.runtime : "", options.cost_model});
  }
  if (machines.empty()) {
    machines.push_back({"", 0, options.bandwidth, options.runtime, options.cost_model});
  }
  for (MachineChoice& machine : machines) {
    if (!options.links.empty()) {
      machine.links = options.links == "fifo" ? TaskGraphLinks::kFifo : TaskGraphLinks::kFree;
    }
  }
  return machines;
}

StatusOr<std::string> gantt_of(const CompareCommand& options, const Comparison& comparison,
                               const ExecGraph& graph, const TimeFormat& format) {
  if (options.gantt == "all") {
    std::string text;
    for (const PolicyOutcome& outcome : comparison.policies) {
      text += outcome.status.ok()
                  ? '\n' + gantt_text(comparison, outcome, graph, format, text_width())
                  : "";
    }
    return text;
  }
  const PolicyOutcome* shown = comparison.best();
  if (options.gantt != "best") {
    const auto named = std::ranges::find(comparison.policies, options.gantt, &PolicyOutcome::name);
    if (named == comparison.policies.end()) {
      std::vector<std::string> names = {"all", "best", "none"};
      for (const PolicyOutcome& outcome : comparison.policies) {
        names.push_back(outcome.name);
      }
      return invalid_input(unknown_name_message("policy to draw", options.gantt, names));
    }
    shown = named->status.ok() ? &*named : nullptr;
  }
  std::string text;
  if (shown != nullptr) {
    text += '\n';
    text += gantt_text(comparison, *shown, graph, format, text_width());
  }
  return text;
}

// The table and chart of one problem.
StatusOr<std::string> text_of(const CompareCommand& options, const Comparison& comparison,
                              const ExecGraph& graph) {
  DFSIM_ASSIGN_OR_RETURN(const TimeFormat format, time_format(options.unit, comparison.unitless));
  std::string text = fit_lines(comparison_text(comparison, format));
  if (options.gantt != "none") {
    DFSIM_ASSIGN_OR_RETURN(const std::string gantt, gantt_of(options, comparison, graph, format));
    text += gantt;
  }
  return text;
}

// Compares on each graph and machine; their texts and the last drawing go where `output` says.
struct ComparisonOutput {
  std::vector<Comparison> comparisons;
  std::string text;
  std::string drawing;
};

StatusOr<ComparisonOutput> compare_all(const CompareCommand& command,
                                       const PolicyRegistry& registry, bool quiet) {
  ComparisonOutput output;
  ProgressLine line(quiet);
  const std::vector<MachineChoice> machines = machines_of(command);
  const bool is_single = command.graphs.size() * machines.size() == 1;
  CompareRequest request;
  request.model = command.model;
  request.policies = command.policies;
  request.split = command.split;
  request.options = command.compare;
  request.options.record = trace_folder_recorder(command.trace_folder, machines.size() > 1,
                                                 command.trace_format == "perfetto");
  for (const std::string& path : command.graphs) {
    for (const MachineChoice& machine : machines) {
      request.graph = path;
      request.machine = machine;
      DFSIM_ASSIGN_OR_RETURN(ComparedProblem compared,
                             compare(request, registry, line.callbacks()));
      const ExecGraph& graph = compared.problem.graph;
      if (!command.json && !command.csv) {
        DFSIM_ASSIGN_OR_RETURN(const std::string part,
                               text_of(command, compared.comparison, graph));
        output.text += part + (is_single ? "" : "\n");
      }
      if (is_single && (command.output.ends_with(".svg") || !command.html.empty())) {
        DFSIM_ASSIGN_OR_RETURN(const TimeFormat format,
                               time_format(command.unit, compared.comparison.unitless));
        output.drawing = comparison_svg(compared.comparison, graph, format, command.gantt == "all");
      }
      // Only totals are needed from here on.
      for (PolicyOutcome& outcome : compared.comparison.policies) {
        outcome.result.tasks = std::vector<TaskRecord>();  // {} would keep its memory
      }
      output.comparisons.push_back(std::move(compared.comparison));
    }
  }
  if (!is_single) {
    const std::vector<PolicySummary> summary = summarise(output.comparisons);
    const auto problems = static_cast<size_t>(std::ranges::count_if(
        output.comparisons, [](const Comparison& one) { return one.unknown.complete(); }));
    output.text += machines_table(rank_machines(output.comparisons));
    output.text += summary_table(summary, problems);
    output.drawing = profile_svg(summary, problems);
  }
  return output;
}

Status run_compare(CompareCommand& command, PolicyRegistry registry, bool quiet) {
  DFSIM_RETURN_IF_ERROR(check(command));
  DFSIM_RETURN_IF_ERROR(read_run_options(command));
  DFSIM_ASSIGN_OR_RETURN(command.compare.memory, memory_policy(command.memory));
  for (const std::string& plugin : command.plugins) {
    DFSIM_RETURN_IF_ERROR(load_plugin(plugin, registry));
  }
  command.compare.keep_tasks_of = command.gantt;
  DFSIM_ASSIGN_OR_RETURN(ComparisonOutput output, compare_all(command, registry, quiet));
  if (!command.html.empty()) {
    const std::string drawing = output.comparisons.size() == 1 ? output.drawing : "";
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(command.html, comparison_json(output.comparisons, drawing)));
    DFSIM_RETURN_IF_ERROR(write_file(command.html, page));
  }
  if (command.json) {
    output.text = comparison_json(output.comparisons);
  } else if (command.csv) {
    output.text = comparison_csv(output.comparisons);
  }
  const bool is_svg = command.output.ends_with(".svg");
  if (is_svg) {
    DFSIM_RETURN_IF_ERROR(write_file(command.output, output.drawing));
  }
  DFSIM_RETURN_IF_ERROR(write_file(is_svg ? "-" : command.output, output.text));
  for (const Comparison& comparison : output.comparisons) {
    DFSIM_RETURN_IF_ERROR(
        check_complete(comparison.graph, comparison.unknown, command.model.allow_incomplete));
    DFSIM_RETURN_IF_ERROR(check_fits(comparison.graph, missing_memory(comparison),
                                     "take a smaller batch, or devices with more memory",
                                     command.allow_oversubscription));
  }
  return ok_status();
}

OptionTable compare_inputs(CompareCommand& o) {
  return joined(
      {{
           {.names = "GRAPH",
            .target = &o.graphs,
            .help = "Task graphs (STG, DOT, WfFormat, DAX, TripletRun, dfsim JSON) or ONNX models",
            .value = "FILE...",
            .required = true},
           {.names = "--hw",
            .target = &o.hardware,
            .help = "A hardware file, the name of a built-in one, or a cluster of TripletRun; "
                    "repeatable",
            .value = "FILE|NAME",
            .suggest = hardware_names},
           {.names = "--procs",
            .target = &o.processors,
            .help = "That many identical processors (task graphs); repeatable",
            .value = "N",
            .range = {1, 1024}},
           {.names = "--bandwidth",
            .target = &o.bandwidth,
            .help = "Bytes per second of links, for task graphs with bytes but no rate; default: "
                    "1.25e8",
            .value = "X"},
           {.names = "--links",
            .target = &o.links,
            .help = "Between a task graph's processors: free (transfers never meet) or fifo (a "
                    "link between each two, one transfer at a time); default: as the file says",
            .value = "KIND",
            .choices = "free,fifo"},
       },
       dimension_options(o.model),
       {allow_incomplete_option(&o.model.allow_incomplete),
        allow_oversubscription_option(&o.allow_oversubscription),
        runtime_option(&o.runtime),
        precision_option(&o.model.precision),
        {.names = "--cost-model",
         .target = &o.cost_model,
         .help = "Operator times of models: a model's folder, the name of a built-in one, or sol "
                 "for the speed-of-light bound; default: what each device names",
         .value = "DIR|NAME",
         .suggest = cost_model_names}}});
}

OptionTable compared_policies(CompareCommand& o) {
  return {
      {.names = "--policies",
       .target = &o.policies,
       .help = "all (the default: those that take a graph of this size), or some of: " +
               join(policy_names(), ", "),
       .value = "all|A,B,C"},
      {.names = "--split",
       .target = &o.split,
       .help = "Cut operators that are worth splitting into up to K pieces, which every policy "
               "places; auto also chooses K and the operators",
       .value = "K|auto"},
      {.names = "--decide",
       .target = &o.decide,
       .help = "List policies decide ahead of the run, or when a task becomes ready; default: as "
               "each was published. NAME@ahead and NAME@ready in --policies do it for one",
       .value = "WHEN",
       .choices = "ahead,ready"},
      {.names = "--alpha",
       .target = &o.compare.policy.alpha,
       .help = "Weight of later generations in donf2, donfl2, adon and adonl; default: 0.5",
       .value = "X"},
      {.names = "--ratio",
       .target = &o.compare.policy.ratio,
       .help = "datacentric: a task goes to its largest input when moving that costs more than X "
               "times the task; default: 1",
       .value = "X"},
      {.names = "--charge-decisions",
       .target = &o.charge_ns,
       .help = "Count scheduling in the makespan: nanoseconds per look of a decision at a device "
               "or an input (docs/reference/schedulers.md)",
       .value = "NS"},
      {.names = "--repeat",
       .target = &o.compare.noise.runs,
       .help = "Also run each policy N times with drawn times, and count how often each one wins",
       .value = "N"},
      {.names = "--noise",
       .target = &o.noise,
       .help = "Times of --repeat: from the intervals of the operator times (measured, the "
               "default), or with a standard deviation of X times the time",
       .value = "measured|X"},
      {.names = "--plugin",
       .target = &o.plugins,
       .help = "A shared library with more policies (docs/reference/schedulers.md); repeatable",
       .value = "FILE.so"},
      {.names = "--seed",
       .target = &o.compare.seed,
       .help = "Seed of randomised policies; default: 0",
       .value = "N"},
      {.names = "--time-budget",
       .target = &o.compare.policy.time_budget_s,
       .help = "Seconds for anneal and optimal; makes results depend on the machine",
       .value = "S"},
      {.names = "--no-planning-time",
       .target = &o.compare.timing,
       .help = "Leave out the time spent planning, the one figure that differs from run to "
               "run",
       .sets = false},
      {.names = "--iterations",
       .target = &o.compare.policy.iterations,
       .help = "Steps of anneal, nodes of optimal; default: their own",
       .value = "N"},
  };
}

OptionTable compare_options(CompareCommand& o) {
  return joined(
      {compare_inputs(o),
       compared_policies(o),
       {
           {.names = "--memory",
            .target = &o.memory,
            .help = "When a device's memory is full: track (continue and report it), fail, wait, "
                    "spill (to the host), or off (not simulated); default: track",
            .value = "POLICY"},
           {.names = "--unit",
            .target = &o.unit,
            .help = "How times are shown: auto, ms, us, or none (as written in the file); default: "
                    "auto",
            .value = "UNIT"},
           {.names = "--gantt",
            .target = &o.gantt,
            .help = "The policy whose run is drawn: best, all, none or a name; default: best",
            .value = "POLICY"},
           json_option(&o.json),
           {.names = "--csv",
            .target = &o.csv,
            .help = "One row per policy as CSV",
            .excludes = "--json"},
           {.names = "-o,--output",
            .target = &o.output,
            .help = "Where the result goes; - is stdout. A name that ends in .svg gets a drawing, "
                    "and the text still goes to stdout",
            .value = "FILE"},
           html_option(&o.html),
           {.names = "--trace",
            .target = &o.trace_folder,
            .help = "Write each policy's timeline there, for Perfetto or chrome://tracing",
            .value = "DIR"},
           {.names = "--trace-format",
            .target = &o.trace_format,
            .help = "Format of --trace: json (the default), or perfetto (Perfetto's own format, a "
                    "fraction of the size)",
            .value = "FORMAT",
            .choices = "json,perfetto"},
       }});
}

}  // namespace

CommandSpec compare_command() { return compare_command_with({}); }

CommandSpec compare_command_with(PolicyRegistry policies) {
  const auto options = std::make_shared<CompareCommand>();
  return {.name = "compare",
          .summary = "Compare scheduling policies; simulate the plan of each",
          .options = compare_options(*options),
          .examples = {{"dfsim compare graph.json --procs 4",
                        "every policy that takes the graph, on four identical processors"},
                       {"dfsim compare model.onnx --hw dgx-a100 --policies heft,peft",
                        "two policies for a model"}},
          .run = [options, policies = std::move(policies)](const GlobalOptions& global) {
            return run_compare(*options, policies, global.quiet);
          }};
}

}  // namespace dfsim::cli
