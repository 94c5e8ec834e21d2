// dfsim sweep: many predictions at once, as a table and a report.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/io/file.h"
#include "base/io/output_file.h"
#include "base/io/text_file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/study_commands.h"
#include "cli/sweep_processes.h"
#include "cli/terminal_text.h"
#include "cli/verdicts.h"
#include "report/html/html_page.h"
#include "report/predictions/sweep_views.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_parts.h"
#include "study/sweep/sweep_plan.h"
#include "study/sweep/sweep_report.h"

namespace dfsim::cli {
namespace {

constexpr size_t kMostThreads = 1024;

struct SweepCommand {
  std::string file;
  SweepOptions sweep;
  SweepConstraints constraints;
  std::string prices;
  std::string output;
  std::string html;
  bool json = false;
  bool csv = false;
  bool lines = false;
  bool allow_incomplete = false;
  std::string part;  // I/N
  bool mpi = false;  // the part of the environment
  size_t merge = 0;  // parts to merge
  size_t slurm = 0;  // parts of a script
};

OptionTable sweep_table(SweepCommand& o);

// "a,b" and "c", given by two options, are three values (but for names of files with commas).
Status split_values(std::string_view option, std::vector<std::string>* values) {
  std::vector<std::string> all;
  for (const std::string& text : *values) {
    for (std::string& value : listed_values(text)) {
      if (value.empty()) {
        return invalid_input(fmt::format(
            "{}: found an empty value in '{}', expected values between commas; leave the option "
            "out where its default is meant",
            option, printable(text)));
      }
      all.push_back(std::move(value));
    }
  }
  *values = std::move(all);
  return ok_status();
}

StatusOr<SweepOptions> sweep_options_of(const SweepCommand& command) {
  SweepOptions options = command.sweep;
  SweepAxes& axes = options.axes;
  const std::pair<std::string_view, std::vector<std::string>*> lists[] = {
      {"--models", &axes.models},        {"--hw", &axes.hardware}, {"--runtime", &axes.runtimes},
      {"--precision", &axes.precisions}, {"--mode", &axes.modes},  {"--policy", &axes.policies},
      {"--batch", &axes.batches}};
  for (const auto& [option, values] : lists) {
    DFSIM_RETURN_IF_ERROR(split_values(option, values));
  }
  if (!command.file.empty()) {
    DFSIM_RETURN_IF_ERROR(read_sweep_file(command.file, &options));
  }
  options.program = std::string("dfsim ") + DFSIM_VERSION;
  if (!command.output.empty() && command.output != "-") {
    options.journal = command.output + ".partial";
  }
  return options;
}

// By the name of the file; gzip where it ends in .gz.
StatusOr<bool> is_csv(const std::string& output) {
  const std::string name = output.ends_with(".gz") ? output.substr(0, output.size() - 3) : output;
  if (!name.ends_with(".csv") && !name.ends_with(".jsonl")) {
    return invalid_input(fmt::format(
        "-o {}: found another ending, expected .csv or .jsonl, with or without .gz; name it so",
        printable(output)));
  }
  return name.ends_with(".csv");
}

Status write_table(const SweepCommand& command, const SweepResult& result) {
  DFSIM_ASSIGN_OR_RETURN(const bool csv, is_csv(command.output));
  DFSIM_ASSIGN_OR_RETURN(TextWriter writer, TextWriter::open(command.output));
  DFSIM_RETURN_IF_ERROR(
      write_sweep_table(result, command.constraints.prices, csv,
                        [&](std::string_view text) { return writer.append(text); }));
  return writer.close();
}

StatusOr<SweepResult> sweep_with_progress(const SweepOptions& options, bool quiet) {
  ProgressLine line(quiet);
  return sweep(options, line.callbacks());
}

// Writes the files that the results of a whole sweep go to.
Status write_files(const SweepCommand& command, const SweepResult& result,
                   const SweepReport& report) {
  if (!command.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(command.html, sweep_json(result, report)));
    DFSIM_RETURN_IF_ERROR(write_file(command.html, page));
  }
  if (!command.output.empty()) {
    DFSIM_RETURN_IF_ERROR(write_table(command, result));
  }
  return ok_status();
}

// Prints and writes the results of a whole sweep.
Status write_results(const SweepCommand& command, const SweepResult& result) {
  DFSIM_ASSIGN_OR_RETURN(const SweepReport report, make_sweep_report(result, command.constraints));
  DFSIM_RETURN_IF_ERROR(write_files(command, result, report));
  if (!command.csv && !command.json) {
    return write_result("-", sweep_text(result, report, command.lines));
  }
  // A piece at a time, as these grow with the sweep.
  DFSIM_ASSIGN_OR_RETURN(OutputFile output, OutputFile::open("-"));
  const auto write = [&](std::string_view piece) { return output.write(piece); };
  DFSIM_RETURN_IF_ERROR(command.csv
                            ? write_sweep_table(result, command.constraints.prices, true, write)
                            : write_sweep_json(result, report, write));
  return output.commit();
}

// Error (kFailed): nothing came out, or a latency is that of a part of a model.
Status verdict(const SweepCommand& command, const SweepResult& result) {
  if (!result.rows.empty() && result.failed() == result.rows.size()) {
    return failed("all points failed; the first: " + result.rows.front().error);
  }
  const size_t incomplete = result.incomplete();
  if (incomplete == 0 || command.allow_incomplete) {
    return ok_status();
  }
  return incomplete_error("sweep", fmt::format("the work of some operators is not known in {} of "
                                               "{} points",
                                               incomplete, result.rows.size()));
}

// "3 points of part 2 of 8".
std::string missing_points(const MergedSweep& merged, size_t parts) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(kMostNamed, merged.incomplete.size()); ++i) {
    names.push_back(std::to_string(merged.incomplete[i] + 1));
  }
  if (merged.incomplete.size() > kMostNamed) {
    names.push_back(fmt::format("{} others", merged.incomplete.size() - kMostNamed));
  }
  return fmt::format(
      "{} missing, of {} {} of {}",
      merged.missing == 1 ? "1 point is" : fmt::format("{} points are", merged.missing),
      merged.incomplete.size() == 1 ? "part" : "parts", join(names, ", "), parts);
}

// Writes the table when no point is missing, which is an error if it `must` be so. One process at a
// time merges, and the first to find all parts removes their files.
Status merge_parts(const SweepCommand& command, SweepOptions options, size_t parts, bool must) {
  const std::vector<std::string> files = sweep_part_files(command.output, parts);
  options.part = SweepPart();
  DFSIM_ASSIGN_OR_RETURN(SweepLock lock, SweepLock::wait(command.output + ".merging"));
  // Parts that have not begun, or another process has merged them: no need to read the others.
  if (!must && !std::all_of(files.begin(), files.end(), [](const std::string& file) {
        std::error_code error;
        return std::filesystem::exists(file, error);
      })) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const MergedSweep merged, merge_sweep(options, files));
  if (merged.missing > 0 && !must) {
    return ok_status();
  }
  if (merged.missing > 0) {
    lock.remove();
    return failed(fmt::format("{}: {}; run {} again, with the same options and --part",
                              command.output, missing_points(merged, parts),
                              merged.incomplete.size() == 1 ? "this part" : "these parts"));
  }
  DFSIM_RETURN_IF_ERROR(write_results(command, merged.result));
  for (const std::string& file : files) {
    options.journal = file;
    DFSIM_RETURN_IF_ERROR(remove_journal(options));
  }
  lock.remove();
  return verdict(command, merged.result);
}

Status run_part(const SweepCommand& command, SweepOptions options, bool quiet) {
  options.journal = sweep_part_file(command.output, options.part);
  DFSIM_ASSIGN_OR_RETURN(const SweepResult result, sweep_with_progress(options, quiet));
  // Workers of a fleet are functions of a program, whose stderr belongs to its user.
  if (!quiet && ForwardedProgress::current() == nullptr) {
    fmt::print(stderr, "part {} of {}: {} points, {} failed, {} of an earlier run\n",
               options.part.index + 1, options.part.count, result.rows.size(), result.failed(),
               result.kept);
  }
  return merge_parts(command, options, options.part.count, false);
}

Status check_processes(const SweepCommand& command) {
  const int given = (command.part.empty() ? 0 : 1) + (command.mpi ? 1 : 0) +
                    (command.merge > 0 ? 1 : 0) + (command.slurm > 0 ? 1 : 0);
  if (given > 1) {
    return invalid_input(
        "--part, --mpi, --merge and --slurm: found several of them, expected one; leave out the "
        "others");
  }
  if (given > 0 && (command.output.empty() || command.output == "-")) {
    return invalid_input(
        "--part, --mpi, --merge and --slurm: found no -o, expected the name of the table, in a "
        "directory that all processes share; give -o FILE.csv");
  }
  return command.output.empty() ? ok_status() : is_csv(command.output).status();
}

// The results go to `hooks` instead of stdout; a table of failures alone is one, too.
Status give_results(const SweepCommand& command, const SweepHooks& hooks, SweepResult result) {
  DFSIM_ASSIGN_OR_RETURN(SweepReport report, make_sweep_report(result, command.constraints));
  DFSIM_RETURN_IF_ERROR(write_files(command, result, report));
  hooks.take(std::move(result), std::move(report));
  return ok_status();
}

Status run_sweep(SweepCommand command, const SweepHooks& hooks, bool quiet) {
  DFSIM_RETURN_IF_ERROR(check_processes(command));
  const SweepCommand given = command;
  if (!command.prices.empty()) {
    DFSIM_ASSIGN_OR_RETURN(command.constraints.prices, read_prices(command.prices));
  }
  DFSIM_ASSIGN_OR_RETURN(SweepOptions options, sweep_options_of(command));
  if (command.slurm > 0) {
    DFSIM_RETURN_IF_ERROR(plan_sweep(options).status());
    SweepCommand asked = given;
    SweepCommand usual;
    return write_result("-", slurm_script(given_options(sweep_table(asked), sweep_table(usual),
                                                        "--slurm,--threads"),
                                          command.slurm));
  }
  if (command.merge > 0) {
    return merge_parts(command, options, command.merge, true);
  }
  if (command.mpi) {
    DFSIM_ASSIGN_OR_RETURN(options.part, sweep_part_of_process());
    return run_part(command, options, quiet);
  }
  if (!command.part.empty()) {
    DFSIM_ASSIGN_OR_RETURN(options.part, parse_sweep_part(command.part, "--part"));
    return run_part(command, options, quiet);
  }
  if (!hooks.journal.empty()) {
    options.journal = hooks.journal;
  }
  DFSIM_ASSIGN_OR_RETURN(SweepResult result, sweep_with_progress(options, quiet));
  if (hooks.take) {
    const Status judged = verdict(command, result);
    DFSIM_RETURN_IF_ERROR(give_results(command, hooks, std::move(result)));
    DFSIM_RETURN_IF_ERROR(remove_journal(options));
    return judged;
  }
  DFSIM_RETURN_IF_ERROR(write_results(command, result));
  DFSIM_RETURN_IF_ERROR(remove_journal(options));
  return verdict(command, result);
}

OptionTable sweep_axes(SweepCommand& o) {
  return {
      {.names = "SWEEP",
       .target = &o.file,
       .help = "A sweep as YAML (docs/commands/sweep.md); options add to its lists",
       .value = "FILE.yaml"},
      {.names = "--models",
       .target = &o.sweep.axes.models,
       .help = "Models, or patterns in quotes such as 'models/*.onnx'; commas; repeatable",
       .value = "FILE,..."},
      {.names = "--hw",
       .target = &o.sweep.axes.hardware,
       .help = "Hardware files, or names of built-in ones; commas; repeatable",
       .value = "FILE|NAME,...",
       .suggest = hardware_names},
      {.names = "--runtime",
       .target = &o.sweep.axes.runtimes,
       .help = "Runtime files or names; default: what each hardware file names",
       .value = "FILE|NAME,...",
       .suggest = runtime_names},
      {.names = "--batch",
       .target = &o.sweep.axes.batches,
       .help = "Batch sizes: numbers and series, 1:8 (1 to 8), 8:64:8 (steps of 8), 1:256:x2 "
               "(doubling)",
       .value = "SERIES,..."},
      {.names = "--param",
       .target = &o.sweep.axes.params,
       .help = "Extents of a dynamic dimension: sequence=128:2048:x2; repeatable",
       .value = "NAME=SERIES,...",
       .one_at_a_time = true},
      {.names = "--precision",
       .target = &o.sweep.axes.precisions,
       .help = "Precisions to rewrite the models to (docs/reference/precision.md); default: as the "
               "model has it",
       .value = "NAME|FILE,...",
       .suggest = precision_option_names},
      {.names = "--mode",
       .target = &o.sweep.axes.modes,
       .help = "infer, train or both; default: infer",
       .value = "MODE,..."},
      {.names = "--policy",
       .target = &o.sweep.axes.policies,
       .help = "Scheduling policies that place operators on devices; default: first-device",
       .value = "NAME,...",
       .suggest = policy_names},
      {.names = "--combine",
       .target = &o.sweep.combine,
       .help = "product: every value with every other; zip: the first of each list, the second of "
               "each, ...; default: product",
       .value = "HOW"},
  };
}

OptionTable sweep_settings(SweepCommand& o) {
  return {
      cost_model_option(&o.sweep.cost_model),
      {.names = "--optimizer",
       .target = &o.sweep.training.optimizer,
       .help = "Optimizer of points that train: sgd, momentum or adam; default: adam",
       .value = "NAME"},
      {.names = "--recompute",
       .target = &o.sweep.training.recompute,
       .help = "Activations computed again by points that train: none, selective or full; "
               "default: none",
       .value = "WHAT"},
      {.names = "--threads",
       .target = &o.sweep.threads,
       .help = "Predict this number of points at a time; default: one per core",
       .value = "N",
       .range = {1, kMostThreads}},
      {.names = "--seed",
       .target = &o.sweep.seed,
       .help = "Seed of randomised policies; default: 0",
       .value = "N"},
  };
}

OptionTable sweep_results(SweepCommand& o) {
  return {
      {.names = "--max-latency-ms",
       .target = &o.constraints.max_latency_ms,
       .help = "Rank only configurations up to that latency",
       .value = "MS",
       .positive = true},
      {.names = "--max-memory-gb",
       .target = &o.constraints.max_memory_gb,
       .help = "Rank only configurations up to that peak of memory",
       .value = "GB",
       .positive = true},
      {.names = "--prices",
       .target = &o.prices,
       .help = "Prices of machines per hour, as YAML lines 'a100: 2.5': adds costs",
       .value = "FILE.yaml"},
      {.names = "--max-price",
       .target = &o.constraints.max_price_per_hour,
       .help = "Rank only machines up to that price per hour",
       .value = "X",
       .positive = true,
       .needs = "--prices"},
      {.names = "--lines",
       .target = &o.lines,
       .help = "Also the latency of each model over the batch",
       .excludes = "--json,--csv"},
      allow_incomplete_option(&o.allow_incomplete),
      json_option(&o.json),
      {.names = "--csv",
       .target = &o.csv,
       .help = "The table, one row per point, as CSV",
       .excludes = "--json"},
      html_option(&o.html),
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Also write the table there: .csv or .jsonl, with .gz compressed. A sweep that was "
               "stopped resumes",
       .value = "FILE"},
  };
}

OptionTable sweep_processes(SweepCommand& o) {
  return {
      {.names = "--part",
       .target = &o.part,
       .help = "Predict part I of N, with -o in a directory that the processes of all parts share; "
               "the process that ends last writes the table",
       .value = "I/N"},
      {.names = "--mpi",
       .target = &o.mpi,
       .help = "The same under mpirun or srun, which tell each process its part"},
      {.names = "--merge",
       .target = &o.merge,
       .help = "Write the table of N finished parts, or say which points are missing",
       .value = "N",
       .range = {1, kMostSweepParts}},
      {.names = "--slurm",
       .target = &o.slurm,
       .help = "Print a script for sbatch instead, which runs the sweep in N parts",
       .value = "N",
       .range = {1, kMostSweepParts}},
  };
}

OptionTable sweep_table(SweepCommand& o) {
  return joined({sweep_axes(o), sweep_settings(o), sweep_results(o), sweep_processes(o)});
}

}  // namespace

CommandSpec sweep_command() { return sweep_command_with({}); }

CommandSpec sweep_command_with(SweepHooks hooks) {
  const auto options = std::make_shared<SweepCommand>();
  return {.name = "sweep",
          .summary = "Predict many models, machines and batches at once; find the best",
          .options = sweep_table(*options),
          .examples = {{"dfsim sweep --models 'models/*.onnx' --hw a100,l4 --batch 1:256:x2 -o "
                        "points.csv",
                        "a table with a row per point, and the best configurations"},
                       {"dfsim sweep --models m.onnx --hw a100,h100,l4 --batch 1:64:x2 --prices "
                        "prices.yaml --max-latency-ms 20",
                        "the cheapest machine that meets a latency"}},
          .run = [options, hooks = std::move(hooks)](const GlobalOptions& global) {
            return run_sweep(*options, hooks, global.quiet);
          }};
}

}  // namespace dfsim::cli
