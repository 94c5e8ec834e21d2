// dfsim tune: the fastest settings of ONNX Runtime for one model on this machine, found with few
// measurements because predictions say where to look.

#include <memory>

#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "report/measurements/tuning_views.h"

namespace dfsim::cli {
namespace {

struct TuneCommand : TuneOptions {
  bool host = false;
  bool json = false;
  std::string output = "-";
};

Status run_tune(const TuneCommand& command, bool quiet) {
  if (!command.host) {
    return invalid_input("--host: not given; dfsim tune measures on this machine and on no other");
  }
  DFSIM_ASSIGN_OR_RETURN(const TuneResult result, tune_on_host(command, printed_notes(quiet)));
  const std::string model = model_name(command.model.path);
  return write_result(command.output, command.json ? tuning_json(result, model)
                                                   : fit_lines(tuning_text(result, model)));
}

OptionTable tune_options(TuneCommand& o) {
  return joined(
      {model_options(o.model),
       {
           {.names = "--host",
            .target = &o.host,
            .help = "Measure on this machine; run nothing else on it at the same time"},
           {.names = "--hw",
            .target = &o.hardware,
            .help = "The hardware file that predictions use to choose what to measure; default: "
                    "host.yaml in --dir, as dfsim calibrate writes it",
            .value = "FILE|NAME",
            .suggest = hardware_names},
           precision_option(&o.model.precision),
           {.names = "--dir",
            .target = &o.directory,
            .help = "Where measurements and the Python environment are kept; a stopped command "
                    "resumes from there",
            .value = "DIR",
            .show_default = true},
           {.names = "--batches",
            .target = &o.batches,
            .help = "Batch sizes to choose among, rising",
            .value = "A,B,..."},
           {.names = "--threads",
            .target = &o.threads,
            .help = "Most threads to use; 0 = one per core",
            .value = "N",
            .show_default = true,
            .range = {0, 1024}},
           {.names = "--budget",
            .target = &o.budget,
            .help = "Most settings to measure",
            .value = "N",
            .show_default = true,
            .range = {1, 1000}},
           {.names = "--seconds",
            .target = &o.seconds,
            .help = "Seconds to measure each setting",
            .value = "X",
            .show_default = true,
            .range = {0.1, 600.0}},
           {.names = "--python",
            .target = &o.python,
            .help = "Python 3.10 or newer to make an environment with; used as it is with "
                    "--no-install",
            .value = "FILE",
            .show_default = true},
           {.names = "--no-install",
            .target = &o.no_install,
            .help = "Use --python as it is; it needs numpy, onnx and onnxruntime"},
           {.names = "--json", .target = &o.json, .help = "The result as JSON"},
           output_option(&o.output),
       }});
}

}  // namespace

CommandSpec tune_command() {
  const auto options = std::make_shared<TuneCommand>();
  return {
      .name = "tune",
      .summary = "Find the fastest settings of ONNX Runtime for a model on this machine",
      .options = tune_options(*options),
      .examples = {{"dfsim tune model.onnx --host --dir my-cpu",
                    "the fastest threads and batch size on this machine"}},
      .run = [options](const GlobalOptions& global) { return run_tune(*options, global.quiet); }};
}

}  // namespace dfsim::cli
