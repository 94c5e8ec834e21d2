#include <fmt/format.h>

#include <iterator>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/roofline_source.h"
#include "report/html/html_page.h"
#include "report/roofline.h"

namespace dfsim::cli {
namespace {

struct RooflineOptions {
  RooflineSource source;
  std::vector<std::string> sweep;
  bool json = false;
  size_t top = 10;
  std::string svg;
  std::string html;
  std::string output = "-";
};

// All rooflines of one line of trajectories, and the lines.
struct Swept {
  std::string name;
  std::vector<RooflineReport> rooflines;
  std::vector<Trajectory> lines;
};

// The first sweep is what trajectories run over; each value of a second one gives lines of its own.
StatusOr<Swept> sweep_over(const RooflineOptions& options, RooflineKind kind, Progress& progress) {
  std::vector<Sweep> sweeps;
  for (const std::string& text : options.sweep) {
    DFSIM_ASSIGN_OR_RETURN(Sweep sweep, parse_sweep(text));
    sweeps.push_back(std::move(sweep));
  }
  if (kind == RooflineKind::kTrace) {
    return invalid_input("--sweep: a trace has one size and one machine; give a model or runs");
  }
  if (sweeps.size() > 2 || (sweeps.size() == 2 && sweeps[0].name == sweeps[1].name)) {
    return invalid_input("--sweep: expected at most two, of different things");
  }
  Swept swept;
  swept.name = sweeps[0].name;
  const std::vector<int64_t> none = {0};
  for (const int64_t other : sweeps.size() > 1 ? sweeps[1].values : none) {
    std::vector<RooflineReport> rooflines;
    std::vector<double> values;
    for (const int64_t value : sweeps[0].values) {
      std::map<std::string, int64_t> at = {{sweeps[0].name, value}};
      std::string where = fmt::format("{} {}", sweeps[0].name, value);
      if (other > 0) {
        at[sweeps[1].name] = other;
        where += fmt::format(", {} {}", sweeps[1].name, other);
      }
      progress.stage(fmt::format("costing {} at {}", options.source.model.path, where));
      DFSIM_ASSIGN_OR_RETURN(RooflineReport one, load_roofline(options.source, kind, at));
      rooflines.push_back(std::move(one));
      values.push_back(static_cast<double>(value));
    }
    const SweepKind over = swept.name == "threads" ? SweepKind::kThreads : SweepKind::kWork;
    for (Trajectory& line : make_trajectories(rooflines, values, over)) {
      line.name += other > 0 ? fmt::format(", {} {}", sweeps[1].name, other) : "";
      swept.lines.push_back(std::move(line));
    }
    std::move(rooflines.begin(), rooflines.end(), std::back_inserter(swept.rooflines));
  }
  return swept;
}

StatusOr<std::string> roofline(const RooflineOptions& options, Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const RooflineKind kind, roofline_kind(options.source.model.path));
  Swept swept;
  if (options.sweep.empty()) {
    progress.stage("costing " + options.source.model.path);
    DFSIM_ASSIGN_OR_RETURN(RooflineReport one, load_roofline(options.source, kind, {}));
    swept.rooflines.push_back(std::move(one));
  } else {
    DFSIM_ASSIGN_OR_RETURN(swept, sweep_over(options, kind, progress));
  }
  const RooflineReport& last = swept.rooflines.back();
  if (!options.svg.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(options.svg, roofline_svg(last, swept.lines)));
  }
  const auto json = [&swept] { return roofline_json(swept.rooflines, swept.name, swept.lines); };
  if (!options.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page, html_page(options.html, json()));
    DFSIM_RETURN_IF_ERROR(write_file(options.html, page));
  }
  if (options.json) {
    return json();
  }
  std::string text = fit_lines(roofline_text(last, options.top));
  if (!swept.lines.empty()) {
    text += '\n';
    text += fit_lines(trajectories_text(swept.name, swept.lines));
  }
  return text;
}

Status run(const RooflineOptions& options, bool quiet) {
  StatusOr<std::string> text = failed("there is no roofline");
  {
    Progress progress(quiet);
    text = roofline(options, progress);
  }
  if (!text.ok()) {
    return text.status();
  }
  return write_file(options.output, *text);
}

}  // namespace

void register_roofline(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "roofline", "What rate each operator of a model or trace reaches, and what limits it");
  auto options = std::make_shared<RooflineOptions>();
  options->source.model.add_to(command);
  command
      ->add_option("--hw", options->source.hardware,
                   "A hardware file, or the name of a built-in one (see dfsim hardware)")
      ->required()
      ->option_text("FILE|NAME");
  command->add_option("--device", options->source.device, "One of its devices; default: the first")
      ->option_text("NAME");
  command
      ->add_option("--runtime", options->source.runtime,
                   "How the framework executes: a runtime file or the name of a built-in one; "
                   "default: what the hardware file names")
      ->option_text("FILE|NAME");
  command
      ->add_option("--cost-model", options->source.cost_model,
                   "Operator times: a model's folder, the name of a built-in one, or sol for the "
                   "speed-of-light bound; default: what each device names")
      ->option_text("DIR|NAME");
  command
      ->add_option(
          "--sweep", options->sweep,
          "Also trajectories: over batch=1,8,32, over NAME=128,512 for a dimension, or over "
          "threads=1,2,4 on CPUs whose hardware files were measured at each count; a "
          "second --sweep gives lines for each of its values")
      ->option_text("NAME=A,B,...");
  command
      ->add_option("--networks", options->source.networks,
                   "For runs: folders with the measured networks' ONNX files; default: those that "
                   "ship")
      ->option_text("DIR...");
  command->add_flag("--json", options->json, "Everything as JSON");
  command->add_option("--top", options->top, "How many of the slowest operators are listed")
      ->option_text("N")
      ->capture_default_str();
  command->add_option("--html", options->html, "Also write a report to look at, one offline file")
      ->option_text("OUT.html");
  command->add_option("--svg", options->svg, "Also draw it there")->option_text("OUT.svg");
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
