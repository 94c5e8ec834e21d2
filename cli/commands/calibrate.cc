// dfsim calibrate: a hardware file and a cost model of the machine it runs on.

#include <memory>

#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/terminal_text.h"
#include "report/measurements/calibration_views.h"

namespace dfsim::cli {
namespace {

struct CalibrateCommand : CalibrateOptions {
  bool json = false;
};

Status run_calibrate(const CalibrateCommand& command, bool quiet) {
  CalibrateOptions options = command;
  options.dfsim_version = DFSIM_VERSION;
  DFSIM_ASSIGN_OR_RETURN(const Calibration calibration, calibrate(options, printed_notes(quiet)));
  return write_result(
      "-", command.json ? calibration_json(calibration) : fit_lines(calibration_text(calibration)));
}

OptionTable calibrate_options(CalibrateCommand& o) {
  return {
      {.names = "--minutes",
       .target = &o.minutes,
       .help = "Minutes to measure; setup and training take additional time",
       .value = "N",
       .show_default = true,
       .range = {0.1, 1440.0}},
      {.names = "-o,--output",
       .target = &o.directory,
       .help = "Folder of the results; a stopped calibration resumes from it",
       .value = "DIR",
       .required = true},
      {.names = "--python",
       .target = &o.python,
       .help = "Python 3.10 or newer to make an environment with",
       .value = "PROGRAM",
       .show_default = true},
      {.names = "--no-install",
       .target = &o.no_install,
       .help = "Use that Python as it is; it has the collector's packages"},
      {.names = "--cover",
       .target = &o.cover,
       .help =
           "Measure the operators of this model instead of those of the zoo, as the file is and "
           "with its dimensions frozen; repeatable",
       .value = "MODEL.onnx",
       .one_at_a_time = true},
      {.names = "--like",
       .target = &o.like,
       .help =
           "Learn the operators of this measured CPU as well, which makes short calibrations more "
           "accurate; trains some minutes longer",
       .value = "NAME",
       .choices = "epyc-genoa,epyc-milan,epyc-turin,xeon-cascade-lake"},
      {.names = "--batch",
       .target = &o.batches,
       .help = "Batch size of the measured networks; repeatable; default: 1",
       .value = "N",
       .one_at_a_time = true},
      {.names = "--dim",
       .target = &o.dims,
       .help = "Another dimension of the models of --cover; repeatable",
       .value = "NAME=N",
       .one_at_a_time = true,
       .needs = "--cover"},
      {.names = "--threads",
       .target = &o.threads,
       .help = "Most threads of ONNX Runtime to measure with; 0 = one per core",
       .value = "N",
       .range = {0, 1024}},
      {.names = "--roofs",
       .target = &o.roofs,
       .help =
           "Measure the roofs of dfsim roofline with bare loops, skip that, or measure only them, "
           "in seconds and without Python",
       .value = "HOW",
       .show_default = true,
       .choices = "measure,skip,only"},
      {.names = "--json", .target = &o.json, .help = "The report as JSON"},
  };
}

}  // namespace

CommandSpec calibrate_command() {
  const auto options = std::make_shared<CalibrateCommand>();
  return {.name = "calibrate",
          .summary = "Measure this machine's CPU: a hardware file and a cost model for it",
          .options = calibrate_options(*options),
          .examples = {{"dfsim calibrate --minutes 10 -o my-cpu --like epyc-genoa",
                        "measures this machine for ten minutes and trains a cost model"}},
          .run = [options](const GlobalOptions& global) {
            return run_calibrate(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
