// dfsim train: profiles in, a trained cost model out.

#include <memory>

#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "report/measurements/training_views.h"
#include "study/training/train.h"

namespace dfsim::cli {
namespace {

struct TrainCommand : TrainRequest {
  bool no_lookup = false;
  bool no_rows = false;
  bool json = false;
};

StatusOr<TrainResult> train_with_progress(const TrainRequest& request, bool quiet) {
  ProgressLine line(quiet);
  return train(request, line.callbacks());
}

Status run_train(const TrainCommand& command, bool quiet) {
  TrainRequest request = command;
  request.keep_lookup = !command.no_lookup;
  request.keep_rows = !command.no_rows;
  request.dfsim_version = DFSIM_VERSION;
  DFSIM_ASSIGN_OR_RETURN(const TrainResult result, train_with_progress(request, quiet));
  return write_result("-", command.json ? training_json(result) : fit_lines(training_text(result)));
}

OptionTable train_options(TrainCommand& o) {
  return joined(
      {profile_options(o.inputs, /*positional=*/true),
       {
           {.names = "-o,--output",
            .target = &o.directory,
            .help = "Folder of the model; created if it does not exist",
            .value = "DIR"},
           {.names = "--overheads",
            .target = &o.overheads,
            .help = "Time that measuring added to each operator: a JSON object of the profiles' "
                    "device names and microseconds; predictions subtract it",
            .value = "FILE.json"},
           {.names = "--bare",
            .target = &o.bare,
            .help = "Hardware file of a CPU of the profiles that `dfsim calibrate --roofs only` "
                    "wrote, with that CPU's name in the profiles as its `model`: files of the same "
                    "kind from other machines compare with it; repeatable",
            .value = "FILE",
            .one_at_a_time = true},
           {.names = "--extend",
            .target = &o.extend,
            .help = "Add the profiles to the model in this folder, in place unless -o says where",
            .value = "DIR"},
           {.names = "--hw",
            .target = &o.hardware,
            .help = "Hardware file whose devices the profiles name, in addition to the built-in "
                    "ones; repeatable",
            .value = "FILE",
            .one_at_a_time = true,
            .suggest = hardware_names},
           {.names = "--name",
            .target = &o.name,
            .help = "Name of the model; default: that of its folder",
            .value = "NAME"},
           {.names = "--seed",
            .target = &o.seed,
            .help = "Seed of the split and of the trees",
            .value = "N",
            .show_default = true},
           {.names = "--threads",
            .target = &o.threads,
            .help = "Parts trained at the same time; 0 = one per core. Does not change the result",
            .value = "N",
            .range = {0, 256}},
           {.names = "--rounds",
            .target = &o.rounds,
            .help = "Most trees per part; 0: chosen for each class",
            .value = "N",
            .range = {0, 100000}},
           {.names = "--no-lookup",
            .target = &o.no_lookup,
            .help = "Do not keep the times of the measured shapes"},
           {.names = "--lookup-device",
            .target = &o.lookup_devices,
            .help = "Keep the times of the measured shapes of this device only, as the profile "
                    "names it; the others teach the trees alone; may be repeated",
            .value = "NAME",
            .one_at_a_time = true},
           {.names = "--no-rows",
            .target = &o.no_rows,
            .help = "Do not keep the rows with the model; extending it later is then less exact"},
           {.names = "--keep-drift",
            .target = &o.keep_drift,
            .help = "Train on times that grow with the order of measurement as they are"},
           {.names = "--prior",
            .target = &o.prior,
            .help = "Learn over all devices of the profiles for devices that were not measured; "
                    "errors and intervals come from leaving whole devices out"},
           {.names = "--compact",
            .target = &o.compact,
            .help = "Write trees without what only XGBoost itself needs: a seventh of the size"},
           {.names = "--json", .target = &o.json, .help = "The report as JSON"},
       }});
}

}  // namespace

CommandSpec train_command() {
  const auto options = std::make_shared<TrainCommand>();
  return {
      .name = "train",
      .summary = "Train a cost model on measured operator times",
      .options = train_options(*options),
      .examples = {{"dfsim train ops.csv.gz -o my-model",
                    "a cost model from measured operator times"}},
      .run = [options](const GlobalOptions& global) { return run_train(*options, global.quiet); }};
}

}  // namespace dfsim::cli
