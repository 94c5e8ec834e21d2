
#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "cli/verdicts.h"
#include "report/html/html_page.h"
#include "report/rooflines/roofline_views.h"
#include "report/rooflines/trajectory_views.h"
#include "report/svg/roofline_svg.h"
#include "study/roofline/study_roofline.h"

namespace dfsim::cli {
namespace {

struct RooflineCommand : RooflineOptions {
  bool json = false;
  size_t top = 10;
  std::string svg;
  std::string html;
  std::string output = "-";
};

StatusOr<RooflineStudy> study_with_progress(const RooflineCommand& command, bool quiet) {
  ProgressLine line(quiet);
  return study_roofline(command, line.callbacks());
}

Status check_rooflines(const RooflineCommand& command, const RooflineStudy& found) {
  for (const RooflineReport& roofline : found.rooflines) {
    DFSIM_RETURN_IF_ERROR(check_complete(command.source.model.path, roofline.unknown,
                                         command.source.model.allow_incomplete));
  }
  return ok_status();
}

Status run_roofline(const RooflineCommand& command, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const RooflineStudy found, study_with_progress(command, quiet));
  const RooflineReport& last = found.rooflines.back();
  if (!command.svg.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(command.svg, roofline_svg(found.rooflines, found.lines)));
  }
  const auto json = [&found] { return roofline_json(found.rooflines, found.swept, found.lines); };
  if (!command.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page, html_page(command.html, json()));
    DFSIM_RETURN_IF_ERROR(write_file(command.html, page));
  }
  if (command.json) {
    DFSIM_RETURN_IF_ERROR(write_result(command.output, json()));
    return check_rooflines(command, found);
  }
  std::string text = fit_lines(roofline_text(last, command.top));
  if (!found.lines.empty()) {
    text += '\n';
    text += fit_lines(trajectories_text(found.swept, found.lines));
  }
  DFSIM_RETURN_IF_ERROR(write_result(command.output, text));
  return check_rooflines(command, found);
}

OptionTable roofline_options(RooflineCommand& o) {
  return joined(
      {model_options(o.source.model,
                     ". Or a trace with recorded shapes, or a runs file (CSV) of measured "
                     "latencies, recognised by their content"),
       {
           allow_incomplete_option(&o.source.model.allow_incomplete),
           {.names = "--hw",
            .target = &o.source.hardware,
            .help = "A hardware file, or the name of a built-in one (see dfsim hardware)",
            .value = "FILE|NAME",
            .required = true,
            .hint = "dfsim hardware lists the machines that dfsim knows",
            .suggest = hardware_names},
           {.names = "--device",
            .target = &o.source.device,
            .help = "One of its devices; default: the first",
            .value = "NAME"},
           runtime_option(&o.source.runtime),
           precision_option(&o.source.model.precision),
           cost_model_option(&o.source.cost_model),
           {.names = "--sweep",
            .target = &o.sweep,
            .help =
                "Also trajectories: over batch=1,8,32; NAME=128,512 for a dimension; "
                "precision=fp32,int8; layout=nchw,blocked (GPUs: channels-last); and on CPUs, "
                "extrapolated where no hardware file was measured so, threads=1,2,4 (the intra-op "
                "pool), processes=1,2,4, inter=1,2 (operators at once) or "
                "placement=free,compact,spread,node on NUMA nodes. A second and third --sweep give "
                "lines for each of their values",
            .value = "NAME=A,B,..."},
           {.names = "--networks",
            .target = &o.source.networks,
            .help = "For runs: folders with the measured networks' ONNX files; default: those that "
                    "ship",
            .value = "DIR..."},
           {.names = "--counters",
            .target = &o.source.counters,
            .help = "For traces: performance counters of the operators or kernels, which replace "
                    "the FLOPs and bytes counted from shapes: CSV of LIKWID's marker API, Nsight "
                    "Compute or nvprof",
            .value = "FILE..."},
           json_option(&o.json),
           {.names = "--top",
            .target = &o.top,
            .help = "Slowest operators to list",
            .value = "N",
            .show_default = true},
           html_option(&o.html),
           {.names = "--svg",
            .target = &o.svg,
            .help = "Also draw the roofline to this file",
            .value = "OUT.svg"},
           output_option(&o.output),
       }});
}

}  // namespace

CommandSpec roofline_command() {
  const auto options = std::make_shared<RooflineCommand>();
  return {
      .name = "roofline",
      .summary = "Show the rate that each operator of a model or trace reaches, and what limits it",
      .options = roofline_options(*options),
      .examples = {{"dfsim roofline model.onnx --hw a100 --sweep batch=1,8,32 --svg roofline.svg",
                    "each operator's rate at three batch sizes"}},
      .run = [options](const GlobalOptions& global) {
        return run_roofline(*options, global.quiet);
      }};
}

}  // namespace dfsim::cli
