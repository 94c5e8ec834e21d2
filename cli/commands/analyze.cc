#include <memory>

#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/kept_memory.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "datasets/traces/trace_reader.h"
#include "report/html/html_page.h"
#include "report/recordings/analysis_views.h"
#include "study/recorded/analyze.h"

namespace dfsim::cli {
namespace {

struct AnalyzeCommand : AnalyzeOptions {
  bool json = false;
  bool timeline = false;
  bool no_advice = false;
  size_t top = 10;
  std::string html;
  std::string output = "-";
};

StatusOr<AnalyzedTraces> analyze_with_progress(const AnalyzeCommand& command, bool quiet) {
  AnalyzeOptions options = command;
  options.advice = !command.no_advice;
  keep_freed_memory();
  ProgressLine line(quiet);
  return analyze(options, line.callbacks());
}

Status run_analyze(const AnalyzeCommand& command, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const AnalyzedTraces analyzed, analyze_with_progress(command, quiet));
  const auto& [traces, analyses, ranks] = analyzed;
  if (!command.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(command.html, analyses_json(analyses, traces, true)));
    DFSIM_RETURN_IF_ERROR(write_file(command.html, page));
  }
  if (command.json) {
    return write_result(command.output, analyses_json(analyses, traces, command.timeline));
  }
  std::string text;
  for (size_t i = 0; i < analyses.size(); ++i) {
    text += i > 0 ? "\n" : "";
    text += fit_lines(analysis_text(analyses[i], traces[i], command.top));
  }
  const std::string rows = ranks_text(ranks);
  return write_result(command.output, rows.empty() ? text : text + "\n" + rows);
}

std::string formats_line() {
  std::vector<std::string> names;
  for (const TraceFormat& format : trace_formats()) {
    names.push_back(std::string(format.description));
  }
  return join(names, "; ");
}

OptionTable analyze_options(AnalyzeCommand& o) {
  return {
      {.names = "TRACE",
       .target = &o.traces,
       .help = "Traces, plain or gzip, of one run or several; dfsim detects the format from the "
               "content: " +
               formats_line(),
       .value = "FILE...",
       .required = true},
      json_option(&o.json),
      {.names = "--timeline",
       .target = &o.timeline,
       .help = "With --json: the spans as well, for dfsim report",
       .needs = "--json"},
      {.names = "--no-advice",
       .target = &o.no_advice,
       .help = "Give no advice; this skips its simulations and saves time on large traces"},
      {.names = "--critical-path",
       .target = &o.critical_path,
       .help = "Definition of the critical path: through all that the run waited for, so that its "
               "parts add up to the run; or HolisticTraceAnalysis's",
       .show_default = true,
       .choices = "replay,hta"},
      {.names = "--window",
       .target = &o.window,
       .help =
           "Only what begins in these seconds of the trace: 10,20 or 10, to its end; of CTF, the "
           "rest needs no memory",
       .value = "FROM,TO"},
      {.names = "--counters",
       .target = &o.counters,
       .help = "Performance counters of the trace's operators or kernels: CSV of LIKWID's marker "
               "API, Nsight Compute or nvprof",
       .value = "FILE..."},
      html_option(&o.html),
      {.names = "--top",
       .target = &o.top,
       .help = "Rows of each table",
       .value = "N",
       .show_default = true},
      output_option(&o.output),
  };
}

}  // namespace

CommandSpec analyze_command() {
  const auto options = std::make_shared<AnalyzeCommand>();
  return {.name = "analyze",
          .summary = "Show where the time and memory of a recorded run went",
          .options = analyze_options(*options),
          .examples = {{"dfsim analyze trace.json.gz",
                        "where the time and memory of a PyTorch profiler's trace went"},
                       {"dfsim analyze rank*.json.gz --html report.html",
                        "several ranks of one run, with an HTML report"}},
          .run = [options](const GlobalOptions& global) {
            return run_analyze(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
