// dfsim compare: scheduling policies side by side, every plan simulated.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/instance_source.h"
#include "report/comparison.h"
#include "report/gantt.h"
#include "report/html/html_page.h"
#include "schedulers/plugin.h"

namespace dfsim::cli {
namespace {

constexpr double kMaxBandwidth = 1e18;
constexpr double kMaxBudgetS = 1e6;

struct Options {
  std::vector<std::string> graphs;
  std::vector<std::string> hardware;
  std::vector<size_t> processors;
  double bandwidth = 125e6;
  ModelOptions model;
  std::string runtime;
  std::string cost_model;
  std::string policies = "all";
  std::vector<std::string> plugins;
  std::string gantt = "best";
  std::string unit = "auto";
  std::string memory = "track";
  bool json = false;
  bool csv = false;
  std::string output = "-";
  std::string html;
  std::string trace_format = "json";
  CompareOptions compare;
};

Status check(const Options& options) {
  if (!(options.bandwidth >= 1 && options.bandwidth <= kMaxBandwidth)) {
    return invalid_input(fmt::format("--bandwidth is {}, expected 1 to {} bytes per second",
                                     options.bandwidth, kMaxBandwidth));
  }
  if (!(options.compare.policy.time_budget_s >= 0 &&
        options.compare.policy.time_budget_s <= kMaxBudgetS)) {
    return invalid_input(fmt::format("--time-budget is {}, expected 0 to {} seconds",
                                     options.compare.policy.time_budget_s, kMaxBudgetS));
  }
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

// Every machine that each graph is to run on.
std::vector<MachineChoice> machines_of(const Options& options) {
  std::vector<MachineChoice> machines;
  for (const std::string& hardware : options.hardware) {
    machines.push_back({hardware, 0, options.bandwidth, options.runtime, options.cost_model});
  }
  for (const size_t processors : options.processors) {
    machines.push_back({"", processors, options.bandwidth, "", ""});
  }
  if (machines.empty()) {
    machines.push_back({"", 0, options.bandwidth, "", ""});
  }
  return machines;
}

StatusOr<std::string> gantt_of(const Options& options, const Comparison& comparison,
                               const ExecGraph& graph, const TimeFormat& format) {
  const PolicyOutcome* shown = comparison.best();
  if (options.gantt != "best") {
    const auto named = std::ranges::find(comparison.policies, options.gantt, &PolicyOutcome::name);
    if (named == comparison.policies.end()) {
      std::vector<std::string> names = {"best", "none"};
      for (const PolicyOutcome& outcome : comparison.policies) {
        names.push_back(outcome.name);
      }
      return invalid_input(unknown_name_message("policy to draw", options.gantt, names));
    }
    shown = named->status.ok() ? &*named : nullptr;
  }
  return shown == nullptr ? std::string()
                          : "\n" + gantt_text(comparison, *shown, graph, format, text_width());
}

// The table and chart of one problem.
StatusOr<std::string> text_of(const Options& options, const Comparison& comparison,
                              const ExecGraph& graph) {
  DFSIM_ASSIGN_OR_RETURN(const TimeFormat format, time_format(options.unit, comparison.unitless));
  std::string text = fit_lines(comparison_text(comparison, format));
  if (options.gantt != "none") {
    DFSIM_ASSIGN_OR_RETURN(const std::string gantt, gantt_of(options, comparison, graph, format));
    text += gantt;
  }
  return text;
}

// Fails when no policy had a result: there is nothing to compare.
Status check_any_result(const Comparison& comparison) {
  if (comparison.policies.empty() || comparison.policies.front().status.ok()) {
    return ok_status();
  }
  const PolicyOutcome& first = comparison.policies.front();
  return Status(first.status.code(),
                fmt::format("{}: no policy gave a schedule; {}: {}", printable(comparison.graph),
                            first.name, first.status.message()));
}

Status run(Options& options) {
  DFSIM_RETURN_IF_ERROR(check(options));
  DFSIM_ASSIGN_OR_RETURN(options.compare.memory, memory_policy(options.memory));
  PolicyRegistry registry;
  for (const std::string& plugin : options.plugins) {
    DFSIM_RETURN_IF_ERROR(load_plugin(plugin, registry));
  }
  options.compare.keep_tasks_of = options.gantt;
  const bool svg = options.output.ends_with(".svg");
  const std::vector<MachineChoice> machines = machines_of(options);
  const bool single = options.graphs.size() * machines.size() == 1;
  std::vector<Comparison> comparisons;
  std::string text;
  std::string drawing;
  for (const std::string& path : options.graphs) {
    for (const MachineChoice& machine : machines) {
      DFSIM_ASSIGN_OR_RETURN(const ProblemInstance instance,
                             load_instance(path, options.model, machine));
      DFSIM_ASSIGN_OR_RETURN(const std::vector<const PolicyInfo*> policies,
                             registry.select(options.policies, instance.graph.task_count()));
      options.compare.perfetto_traces = options.trace_format == "perfetto";
      if (machines.size() > 1) {
        options.compare.trace_prefix = instance.graph_name + "." + instance.hardware_name;
      }
      auto compared = compare_policies(instance, policies, options.compare);
      if (!compared.ok()) {
        return compared.status().with_place(path);
      }
      DFSIM_RETURN_IF_ERROR(check_any_result(*compared));
      if (!options.json && !options.csv) {
        DFSIM_ASSIGN_OR_RETURN(const std::string part, text_of(options, *compared, instance.graph));
        text += part + (single ? "" : "\n");
      }
      if (svg && single) {
        DFSIM_ASSIGN_OR_RETURN(const TimeFormat format,
                               time_format(options.unit, compared->unitless));
        drawing = comparison_svg(*compared, instance.graph, format);
      }
      // Only totals are needed from here on.
      for (PolicyOutcome& outcome : compared->policies) {
        outcome.result.tasks = std::vector<TaskRecord>();  // {} would keep its memory
      }
      comparisons.push_back(std::move(*compared));
    }
  }
  if (!single) {
    const std::vector<PolicySummary> summary = summarise(comparisons);
    text += summary_table(summary, comparisons.size());
    drawing = profile_svg(summary, comparisons.size());
  }
  if (!options.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(options.html, comparison_json(comparisons)));
    DFSIM_RETURN_IF_ERROR(write_file(options.html, page));
  }
  if (options.json) {
    text = comparison_json(comparisons);
  } else if (options.csv) {
    text = comparison_csv(comparisons);
  }
  if (svg) {
    DFSIM_RETURN_IF_ERROR(write_file(options.output, drawing));
  }
  return write_file(svg ? "-" : options.output, text);
}

void add_input_options(CLI::App* command, Options& options) {
  command
      ->add_option("GRAPH", options.graphs,
                   "Task graphs (STG, DOT, WfFormat, DAX, dfsim JSON) or ONNX models")
      ->required()
      ->option_text("FILE...");
  command
      ->add_option("--hw", options.hardware,
                   "A hardware file, or the name of a built-in one; repeatable")
      ->option_text("FILE|NAME");
  command
      ->add_option("--procs", options.processors,
                   "That many identical processors (task graphs); repeatable")
      ->option_text("N")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--bandwidth", options.bandwidth,
                   "Bytes per second of links, for task graphs with bytes but no rate; default: "
                   "1.25e8")
      ->option_text("X");
  options.model.add_dims_to(command);
  command
      ->add_option("--runtime", options.runtime,
                   "How the framework executes: a runtime file or the name of a built-in one; "
                   "default: what the hardware file names")
      ->option_text("FILE|NAME");
  command
      ->add_option("--cost-model", options.cost_model,
                   "Operator times of models: a model's folder, the name of a built-in one, or sol "
                   "for the speed-of-light bound; default: what each device names")
      ->option_text("DIR|NAME");
}

void add_policy_options(CLI::App* command, Options& options) {
  std::vector<std::string> names;
  for (const PolicyInfo& policy : builtin_policies()) {
    names.push_back(policy.name);
  }
  command
      ->add_option("--policies", options.policies,
                   "all (the default: those that take a graph of this size), or some of: " +
                       join(names, ", "))
      ->option_text("all|A,B,C");
  command
      ->add_option("--plugin", options.plugins,
                   "A shared library with more policies (docs/schedulers.md); repeatable")
      ->option_text("FILE.so");
  command->add_option("--seed", options.compare.seed, "Of policies that draw lots; default: 0")
      ->option_text("N");
  command
      ->add_option("--time-budget", options.compare.policy.time_budget_s,
                   "Seconds for anneal and optimal; makes results depend on the machine")
      ->option_text("S");
  command->add_flag("!--no-planning-time", options.compare.timing,
                    "Leave out the time spent planning, the one figure that differs from run to "
                    "run");
  command
      ->add_option("--iterations", options.compare.policy.iterations,
                   "Steps of anneal, nodes of optimal; default: their own")
      ->option_text("N");
}

}  // namespace

void register_compare(Registrar& registrar) {
  auto options = std::make_shared<Options>();
  CLI::App* command = registrar.app().add_subcommand(
      "compare", "Scheduling policies side by side, each plan simulated");
  add_input_options(command, *options);
  add_policy_options(command, *options);
  command
      ->add_option(
          "--memory", options->memory,
          "When a device's memory is full: track (go on and say so), fail, wait, spill (to "
          "the host), or off (not simulated); default: track")
      ->option_text("POLICY");
  command
      ->add_option("--unit", options->unit,
                   "How times are shown: auto, ms, us, or none (as written in the file); default: "
                   "auto")
      ->option_text("UNIT");
  command
      ->add_option("--gantt", options->gantt,
                   "The policy whose run is drawn: best, none or a name; default: best")
      ->option_text("POLICY");
  CLI::Option* json = command->add_flag("--json", options->json, "Everything as JSON");
  command->add_flag("--csv", options->csv, "One row per policy as CSV")->excludes(json);
  command
      ->add_option("-o,--output", options->output,
                   "Where the result goes; - is stdout. A name that ends in .svg gets a drawing, "
                   "and the text still goes to stdout")
      ->option_text("FILE");
  command->add_option("--html", options->html, "Also write a report to look at, one offline file")
      ->option_text("OUT.html");
  command
      ->add_option("--trace", options->compare.trace_folder,
                   "Write each policy's timeline there, for Perfetto or chrome://tracing")
      ->option_text("DIR");
  command
      ->add_option("--trace-format", options->trace_format,
                   "Of --trace: json, or perfetto for its own format, a fraction of the size")
      ->check(CLI::IsMember({"json", "perfetto"}))
      ->option_text("FORMAT")
      ->capture_default_str();
  registrar.on_run(command, [options] { return run(*options); });
}

}  // namespace dfsim::cli
