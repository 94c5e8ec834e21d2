#include <fmt/format.h>

#include <charconv>

#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/instance_source.h"
#include "cli/progress.h"
#include "opmodel/model_loader.h"
#include "report/html/html_page.h"
#include "report/roofline.h"

namespace dfsim::cli {
namespace {

constexpr size_t kMaxSweep = 64;

struct RooflineOptions {
  ModelOptions model;
  std::string hardware;
  std::string runtime;
  std::string cost_model;
  std::string device;
  std::string sweep;
  bool json = false;
  size_t top = 10;
  std::string svg;
  std::string html;
  std::string output = "-";
};

// What is swept and its values: "batch=1,8,32", or a named dimension.
struct Sweep {
  std::string name;
  std::vector<int64_t> values;
};

StatusOr<Sweep> parse_sweep(const std::string& text) {
  Sweep sweep;
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid_input(
        fmt::format("--sweep: found '{}', expected batch=1,8,32 or NAME=1,8,32 for a dimension",
                    printable(text)));
  }
  sweep.name = text.substr(0, equals);
  for (const std::string& part : split(text.substr(equals + 1), ',')) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 1) {
      return invalid_input(
          fmt::format("--sweep: '{}' is not a whole number above 0", printable(part)));
    }
    if (!sweep.values.empty() && value <= sweep.values.back()) {
      return invalid_input(
          fmt::format("--sweep: {} after {}, expected rising values", value, sweep.values.back()));
    }
    sweep.values.push_back(value);
  }
  if (sweep.values.size() < 2 || sweep.values.size() > kMaxSweep) {
    return invalid_input(
        fmt::format("--sweep: {} values, expected 2 to {}", sweep.values.size(), kMaxSweep));
  }
  return sweep;
}

StatusOr<DeviceId> find_device(const Platform& platform, const std::string& name) {
  std::vector<std::string> names;
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    names.push_back(platform.devices[d].name);
    if (name.empty() || platform.devices[d].name == name) {
      return DeviceId(d);
    }
  }
  return invalid_input(unknown_name_message("device", name, names));
}

StatusOr<Roofline> roofline_of(const RooflineOptions& options, const ModelOptions& model_options,
                               const Platform& platform, const CostModel& cost_model) {
  DFSIM_ASSIGN_OR_RETURN(const DeviceId device, find_device(platform, options.device));
  DFSIM_ASSIGN_OR_RETURN(const LoadedModel model, load_model(model_options, platform.runtime));
  DFSIM_ASSIGN_OR_RETURN(const CostTable costs,
                         make_cost_table(model.workload.rows, platform, cost_model));
  return make_roofline({model.name, model.report.batch, model.executed, model.workload, costs,
                        platform, device, cost_model.name()});
}

StatusOr<std::string> roofline(const RooflineOptions& options, Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_machine(options.hardware, options.runtime));
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> cost_model,
                         load_cost_model_for(platform, options.cost_model));
  std::vector<Roofline> rooflines;
  std::vector<Trajectory> lines;
  Sweep sweep;
  if (options.sweep.empty()) {
    progress.stage("costing " + options.model.path);
    DFSIM_ASSIGN_OR_RETURN(Roofline one,
                           roofline_of(options, options.model, platform, *cost_model));
    rooflines.push_back(std::move(one));
  } else {
    DFSIM_ASSIGN_OR_RETURN(sweep, parse_sweep(options.sweep));
    std::vector<double> values;
    for (const int64_t value : sweep.values) {
      progress.stage(fmt::format("costing {} at {} {}", options.model.path, sweep.name, value));
      ModelOptions model = options.model;
      if (sweep.name == "batch") {
        model.batch = value;
      } else {
        model.dims.push_back(fmt::format("{}={}", sweep.name, value));
      }
      DFSIM_ASSIGN_OR_RETURN(Roofline one, roofline_of(options, model, platform, *cost_model));
      rooflines.push_back(std::move(one));
      values.push_back(static_cast<double>(value));
    }
    lines = make_trajectories(rooflines, values);
  }
  if (!options.svg.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(options.svg, roofline_svg(rooflines.back(), lines)));
  }
  if (!options.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(options.html, roofline_json(rooflines, sweep.name, lines)));
    DFSIM_RETURN_IF_ERROR(write_file(options.html, page));
  }
  if (options.json) {
    return roofline_json(rooflines, sweep.name, lines);
  }
  std::string text = roofline_text(rooflines.back(), options.top);
  if (!lines.empty()) {
    text += '\n';
    text += trajectories_text(sweep.name, lines);
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
      "roofline", "What rate each operator of a model reaches, and what limits it");
  auto options = std::make_shared<RooflineOptions>();
  options->model.add_to(command);
  command
      ->add_option("--hw", options->hardware,
                   "A hardware file, or the name of a built-in one (see dfsim hardware)")
      ->required()
      ->option_text("FILE|NAME");
  command->add_option("--device", options->device, "One of its devices; default: the first")
      ->option_text("NAME");
  command
      ->add_option("--runtime", options->runtime,
                   "How the framework executes: a runtime file or the name of a built-in one; "
                   "default: what the hardware file names")
      ->option_text("FILE|NAME");
  command
      ->add_option("--cost-model", options->cost_model,
                   "Operator times: a model's folder, the name of a built-in one, or sol for the "
                   "speed-of-light bound; default: what each device names")
      ->option_text("DIR|NAME");
  command
      ->add_option("--sweep", options->sweep,
                   "Also trajectories over a rising dimension: batch=1,8,32 or NAME=128,512,2048")
      ->option_text("NAME=A,B,...");
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
