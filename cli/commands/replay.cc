
#include <memory>

#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/kept_memory.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "report/html/html_page.h"
#include "report/recordings/replay_views.h"
#include "report/trace/kineto_json.h"
#include "study/recorded/replay.h"

namespace dfsim::cli {
namespace {

struct ReplayCommand : ReplayOptions {
  bool json = false;
  size_t top = 10;
  std::string trace_out;
  std::string html;
  std::string output = "-";
};

StatusOr<Replay> replay_with_progress(const ReplayCommand& command, bool quiet) {
  keep_freed_memory();
  ProgressLine line(quiet);
  return replay(command, line.callbacks());
}

Status run_replay_command(const ReplayCommand& command, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const Replay result, replay_with_progress(command, quiet));
  if (!command.trace_out.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(command.trace_out, kineto_json(result.replayed)));
  }
  if (!command.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(
        const std::string page,
        html_page(command.html, replay_json(result.report, &result.measured, &result.replayed)));
    DFSIM_RETURN_IF_ERROR(write_file(command.html, page));
  }
  DFSIM_RETURN_IF_ERROR(write_result(
      command.output, command.json ? replay_json(result.report, nullptr, nullptr)
                                   : fit_lines(replay_text(result.report, command.top))));
  if (!result.report.hardware.empty() && result.report.moved == 0) {
    return failed(printable(command.trace) + ": nothing was moved to " + result.report.hardware +
                  (result.report.kept.reason.empty() ? ": the trace has no work that can be moved"
                                                     : ": " + result.report.kept.reason));
  }
  return ok_status();
}

OptionTable replay_options(ReplayCommand& o) {
  return joined({{
      {.names = "TRACE",
       .target = &o.trace,
       .help = "A trace as dfsim analyze reads it",
       .value = "FILE",
       .required = true},
      {.names = "--hw",
       .target = &o.hardware,
       .help = "Other hardware to replay on: a hardware file, or the name of a built-in one "
               "(see dfsim hardware); device work gets the times that it would take there",
       .value = "FILE|NAME",
       .suggest = hardware_names},
      {.names = "--from",
       .target = &o.from,
       .help = "The hardware of the recording, for ratios; default: the built-in one whose "
               "device the trace names",
       .value = "FILE|NAME",
       .suggest = hardware_names},
      {.names = "--cost-model",
       .target = &o.cost_model,
       .help = "Operator times on --hw: a model's folder, the name of a built-in one, or sol "
               "for the speed-of-light bound; default: what its devices name",
       .value = "DIR|NAME"},
      {.names = "--policy",
       .target = &o.policy,
       .help = "Let a scheduling policy place device work on the queues (see dfsim compare); "
               "default: as recorded",
       .value = "NAME",
       .suggest = policy_names},
      {.names = "--scale",
       .target = &o.scale,
       .help = "Multiply times: WHAT is host, device, compute, op, call, gap, kernel, "
               "communication, copy, memset, queue-gap, or a pattern of names with * and ?; "
               "repeatable, factors multiply",
       .value = "WHAT=FACTOR"},
      {.names = "--seed",
       .target = &o.seed,
       .help = "Seed of the draws behind the interval",
       .value = "N",
       .show_default = true},
      json_option(&o.json),
      {.names = "--top",
       .target = &o.top,
       .help = "Rows of the table of operators",
       .value = "N",
       .show_default = true},
      {.names = "--trace",
       .target = &o.trace_out,
       .help = "Also write the replayed run as a trace, for dfsim analyze and diff and for "
               "Perfetto",
       .value = "OUT.json"},
      html_option(&o.html),
      output_option(&o.output),
  }});
}

}  // namespace

CommandSpec replay_command() {
  const auto options = std::make_shared<ReplayCommand>();
  return {.name = "replay",
          .summary = "Simulate a recorded run: as it was, on other hardware, or changed",
          .options = replay_options(*options),
          .examples = {{"dfsim replay trace.json.gz --scale kernel=0.5",
                        "the recorded run with kernels twice as fast"},
                       {"dfsim replay trace.json.gz --hw h100", "the recorded run on another GPU"}},
          .run = [options](const GlobalOptions& global) {
            return run_replay_command(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
