#include <fmt/format.h>

#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/instance_source.h"
#include "cli/progress.h"
#include "datasets/traces/trace_reader.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "report/html/html_page.h"
#include "report/replay/replay_report.h"

namespace dfsim::cli {
namespace {

struct ReplayCommand {
  std::string trace;
  std::string hardware;
  std::string from;
  std::string cost_model;
  std::string policy;
  std::vector<std::string> scale;
  uint64_t seed = 1;
  bool json = false;
  size_t top = 10;
  std::string trace_out;
  std::string html;
  std::string output = "-";
};

// The built-in platform whose first device is what the trace names, or nothing.
std::optional<Platform> recorded_on(const std::string& device_name) {
  const std::string wanted = to_lower(device_name);
  for (const std::string& name :
       wanted.empty() ? std::vector<std::string>{} : builtin_platforms()) {
    auto platform = load_platform(name);
    if (platform.ok() && platform->devices.size() == 1 &&
        to_lower(platform->devices.front().model) == wanted) {
      return std::move(platform).value();
    }
  }
  return std::nullopt;
}

Status move_over(const ReplayCommand& command, const Trace& trace, ReplayGraph* graph,
                 std::vector<PieceSource>* sources, ReplayReport* report) {
  if (command.hardware.empty()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(command.hardware));
  std::optional<Platform> from;
  if (command.from.empty()) {
    from = recorded_on(trace.device_name);
  } else {
    DFSIM_ASSIGN_OR_RETURN(from, load_platform(command.from));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> costs,
                         load_cost_model_for(platform, command.cost_model));
  OtherHardware other{platform, *costs};
  other.from = from.has_value() ? &*from : nullptr;
  DFSIM_ASSIGN_OR_RETURN(*sources, move_to_hardware(trace, other, graph));
  report->hardware = platform.name;
  report->from = from.has_value() ? from->name : "";
  int64_t moved = 0;
  for (const PieceSource source : *sources) {
    moved += source != PieceSource::kMeasured ? 1 : 0;
  }
  report->changes.push_back({fmt::format("on {}{}", platform.name,
                                         report->from.empty() ? "" : " instead of " + report->from),
                             moved});
  return ok_status();
}

Status scale(const ReplayCommand& command, const Trace& trace, ReplayGraph* graph,
             std::vector<PieceSource>* sources, ReplayReport* report) {
  for (const std::string& text : command.scale) {
    DFSIM_ASSIGN_OR_RETURN(const ScaleRule rule, parse_scale_rule(text));
    std::vector<bool> scaled(graph->pieces.size(), false);
    const int64_t count = apply_scale(trace, rule, graph, &scaled);
    if (count == 0) {
      return invalid_input(fmt::format(
          "--scale: '{}' fits nothing in {}; expected host, device, compute, op, call, gap, "
          "kernel, communication, copy, memset, queue-gap, or a pattern of names such as "
          "'aten::*mm'",
          printable(rule.what), trace.path));
    }
    for (size_t p = 0; p < scaled.size(); ++p) {
      (*sources)[p] = scaled[p] ? PieceSource::kScaled : (*sources)[p];
    }
    report->changes.push_back({fmt::format("{} x {:g}", rule.what, rule.factor), count});
  }
  return ok_status();
}

StatusOr<ReplayRun> run_graph(const ReplayCommand& command, const ReplayGraph& graph,
                              ReplayReport* report) {
  if (command.policy.empty()) {
    return run_replay(graph);
  }
  const PolicyRegistry registry;
  DFSIM_ASSIGN_OR_RETURN(const PolicyInfo* policy, registry.find(command.policy));
  report->policy = policy->name;
  report->changes.push_back({"policy " + policy->name, graph.launched + graph.unlaunched});
  return run_replay_with(graph, *policy);
}

StatusOr<std::string> replay(const ReplayCommand& command, Progress& progress) {
  progress.stage("reading " + command.trace);
  DFSIM_ASSIGN_OR_RETURN(const Trace trace, read_trace(command.trace));
  progress.stage(fmt::format("replaying {} spans", trace.spans.size()));
  DFSIM_ASSIGN_OR_RETURN(const ReplayGraph recorded, make_replay_graph(trace));
  ReplayReport report;
  report.path = trace.path;
  report.format = trace.format;
  report.device_name = trace.device_name;
  report.pieces = recorded.pieces.size();
  report.dependencies = recorded.edges.size();
  report.launched = recorded.launched;
  report.unlaunched = recorded.unlaunched;
  report.too_early = recorded.too_early;
  report.measured_ns = recorded.span_ns;
  DFSIM_ASSIGN_OR_RETURN(report.same, run_replay(recorded));
  ReplayGraph graph = recorded;
  std::vector<PieceSource> sources(graph.pieces.size(), PieceSource::kMeasured);
  DFSIM_RETURN_IF_ERROR(move_over(command, trace, &graph, &sources, &report));
  DFSIM_RETURN_IF_ERROR(scale(command, trace, &graph, &sources, &report));
  DFSIM_ASSIGN_OR_RETURN(report.run, run_graph(command, graph, &report));
  DFSIM_ASSIGN_OR_RETURN(report.interval, replay_interval(graph, command.seed));
  add_replay_rows(trace, recorded, graph, sources, &report);
  const Trace replayed = replayed_trace(trace, graph, report.run);
  report.measured = analyze_trace(trace).breakdown;
  report.replayed = analyze_trace(replayed).breakdown;
  if (!command.trace_out.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(command.trace_out, kineto_json(replayed)));
  }
  if (!command.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(command.html, replay_json(report, &trace, &replayed)));
    DFSIM_RETURN_IF_ERROR(write_file(command.html, page));
  }
  return command.json ? replay_json(report, nullptr, nullptr)
                      : fit_lines(replay_text(report, command.top));
}

Status run(const ReplayCommand& command, bool quiet) {
  StatusOr<std::string> text = failed("nothing was replayed");
  {
    Progress progress(quiet);
    text = replay(command, progress);
  }
  if (!text.ok()) {
    return text.status();
  }
  return write_file(command.output, *text);
}

}  // namespace

void register_replay(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "replay", "A recorded run in the simulator: as it was, on other hardware, or changed");
  auto options = std::make_shared<ReplayCommand>();
  command->add_option("TRACE", options->trace, "A trace as dfsim analyze reads it")
      ->required()
      ->option_text("FILE");
  command
      ->add_option("--hw", options->hardware,
                   "Other hardware to replay on: a hardware file, or the name of a built-in one "
                   "(see dfsim hardware); device work gets the times that it would take there")
      ->option_text("FILE|NAME");
  command
      ->add_option("--from", options->from,
                   "The hardware of the recording, for ratios; default: the built-in one whose "
                   "device the trace names")
      ->option_text("FILE|NAME");
  command
      ->add_option("--cost-model", options->cost_model,
                   "Operator times on --hw: a model's folder, the name of a built-in one, or sol "
                   "for the speed-of-light bound; default: what its devices name")
      ->option_text("DIR|NAME");
  command
      ->add_option("--policy", options->policy,
                   "Place device work anew on the queues with a scheduling policy (see dfsim "
                   "compare); default: as recorded")
      ->option_text("NAME");
  command
      ->add_option("--scale", options->scale,
                   "Multiply times: WHAT is host, device, compute, op, call, gap, kernel, "
                   "communication, copy, memset, queue-gap, or a pattern of names with * and ?; "
                   "repeatable, factors multiply")
      ->option_text("WHAT=FACTOR");
  command->add_option("--seed", options->seed, "Of the draws behind the interval")
      ->option_text("N")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Everything as JSON");
  command->add_option("--top", options->top, "Rows of the table of operators")
      ->option_text("N")
      ->capture_default_str();
  command
      ->add_option("--trace", options->trace_out,
                   "Also write the replayed run as a trace, for dfsim analyze and diff and for "
                   "Perfetto")
      ->option_text("OUT.json");
  command->add_option("--html", options->html, "Also write a report to look at, one offline file")
      ->option_text("OUT.html");
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
