// dfsim tune: the fastest settings of ONNX Runtime for one model on this machine, or of any
// command, found with few measurements because predictions say where to look.

#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "report/measurements/command_tuning_views.h"
#include "report/measurements/tuning_views.h"
#include "study/tuning/command_tune.h"

namespace dfsim::cli {
namespace {

struct TuneCommand : TuneOptions {
  CommandTuneOptions any;  // command, behind "--"
  size_t runs = 0;         // --budget; 0 = the default of models or of commands
  bool host = false;
  bool json = false;
  std::string output = "-";
};

Status run_command_tune(const TuneCommand& command, bool quiet) {
  if (!command.model.path.empty()) {
    return invalid_input(
        fmt::format("MODEL: found '{}' in front of --, expected options alone; the command behind "
                    "-- brings its model",
                    printable(command.model.path)));
  }
  CommandTuneOptions options = command.any;
  options.budget = command.runs;
  options.threads = command.threads;
  DFSIM_ASSIGN_OR_RETURN(const CommandTuneResult result,
                         tune_command(options, printed_notes(quiet)));
  return write_result(command.output, command.json ? command_tuning_json(result)
                                                   : fit_lines(command_tuning_text(result)));
}

// Options of the one way to tune that the other ignores would mislead.
Status check_model_only(const TuneCommand& command) {
  const CommandTuneOptions& any = command.any;
  const char* given = !any.vary.empty()          ? "--vary"
                      : !any.time_metric.empty() ? "--metric"
                      : !any.rate_metric.empty() ? "--rate"
                      : any.fixed_work           ? "--fixed-work"
                                                 : nullptr;
  return given == nullptr ? ok_status()
                          : invalid_input(fmt::format(
                                "{}: is for commands; expected one behind --, as in dfsim tune -- "
                                "python run.py",
                                given));
}

Status run_tune(TuneCommand& command, bool quiet) {
  if (!command.any.command.empty()) {
    return run_command_tune(command, quiet);
  }
  if (command.model.path.empty()) {
    return invalid_input("--: no command follows; expected one, as in dfsim tune -- python run.py");
  }
  DFSIM_RETURN_IF_ERROR(check_model_only(command));
  command.budget = command.runs > 0 ? command.runs : command.budget;
  if (!command.host) {
    return invalid_input("--host: not given; dfsim tune measures on this machine and on no other");
  }
  DFSIM_ASSIGN_OR_RETURN(const TuneResult result, tune_on_host(command, printed_notes(quiet)));
  const std::string model = model_name(command.model.path);
  return write_result(command.output, command.json ? tuning_json(result, model)
                                                   : fit_lines(tuning_text(result, model)));
}

constexpr const char* kCommandGroup = "A command";

OptionTable command_options(CommandTuneOptions& o) {
  return {
      {.names = "--vary",
       .target = &o.vary,
       .help = "Values of a knob, the default's first: threads, processes, placement (free, "
               "compact, spread, node), batch, inter, or any name. {NAME} in the command becomes "
               "the value; without it NAME is an environment variable; repeatable",
       .value = "NAME=A,B,...",
       .group = kCommandGroup,
       .one_at_a_time = true},
      {.names = "--metric",
       .target = &o.time_metric,
       .help = "A time that the command prints, as a regular expression with one group; default: "
               "wall time",
       .value = "REGEX",
       .group = kCommandGroup,
       .excludes = "--rate"},
      {.names = "--rate",
       .target = &o.rate_metric,
       .help = "The same for a rate: samples per second of a copy",
       .value = "REGEX",
       .group = kCommandGroup},
      {.names = "--fixed-work",
       .target = &o.fixed_work,
       .help = "A run does the same work at every {batch}; default: work in proportion",
       .group = kCommandGroup},
      {.names = "--limit",
       .target = &o.limit_s,
       .help = "Seconds that a run may take",
       .value = "X",
       .group = kCommandGroup,
       .show_default = true,
       .range = {0.01, 86400}},
      {.names = "--warm-ups",
       .target = &o.warm_ups,
       .help = "First runs that do not count",
       .value = "N",
       .group = kCommandGroup,
       .show_default = true,
       .range = {0, 100}},
  };
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
            .target = &o.runs,
            .help = "Most settings of a model to measure (default: 12), or runs of a command "
                    "(default: a tenth of an exhaustive search's)",
            .value = "N",
            .range = {1, 100000}},
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
       },
       command_options(o.any)});
}

}  // namespace

CommandSpec tune_command() {
  const auto options = std::make_shared<TuneCommand>();
  return {
      .name = "tune",
      .summary =
          "Find the fastest settings of ONNX Runtime for a model, or of any command, on this "
          "machine",
      .options = tune_options(*options),
      .footer =
          "dfsim tune [OPTIONS] -- COMMAND... runs any command under settings of threads, "
          "processes, placement and what --vary names.",
      .examples = {{"dfsim tune model.onnx --host --dir my-cpu",
                    "the fastest threads and batch size on this machine"},
                   {"dfsim tune --vary batch=1,8,32 -- python infer.py --batch {batch}",
                    "the fastest threads, copies, placement and batch size of a program"}},
      .behind_dashes = &options->any.command,
      .run = [options](const GlobalOptions& global) { return run_tune(*options, global.quiet); }};
}

}  // namespace dfsim::cli
