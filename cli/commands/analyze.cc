#include <memory>

#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "datasets/traces/trace_reader.h"
#include "report/analysis/analysis_views.h"
#include "report/html/html_page.h"
#include "report/replay/advice.h"

namespace dfsim::cli {
namespace {

struct AnalyzeOptions {
  std::vector<std::string> traces;
  bool json = false;
  bool timeline = false;
  bool no_advice = false;
  size_t top = 10;
  std::string html;
  std::string output = "-";
};

StatusOr<std::string> analyze(const AnalyzeOptions& options, Progress& progress) {
  std::vector<Trace> traces;
  std::vector<TraceAnalysis> analyses;
  for (const std::string& path : options.traces) {
    progress.stage("reading " + path);
    DFSIM_ASSIGN_OR_RETURN(Trace trace, read_trace(path));
    progress.stage("analyzing " + std::to_string(trace.spans.size()) + " spans");
    analyses.push_back(analyze_trace(trace));
    if (!options.no_advice) {
      progress.stage("simulating what changes would bring");
      DFSIM_RETURN_IF_ERROR(advise(trace, &analyses.back()));
    }
    traces.push_back(std::move(trace));
  }
  if (!options.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page,
                           html_page(options.html, analyses_json(analyses, traces, true)));
    DFSIM_RETURN_IF_ERROR(write_file(options.html, page));
  }
  if (options.json) {
    return analyses_json(analyses, traces, options.timeline);
  }
  std::string text;
  for (size_t i = 0; i < analyses.size(); ++i) {
    text += i > 0 ? "\n" : "";
    text += fit_lines(analysis_text(analyses[i], traces[i], options.top));
  }
  const std::string ranks = ranks_text(compare_ranks(analyses));
  return ranks.empty() ? text : text + "\n" + ranks;
}

Status run_analyze(const AnalyzeOptions& options, bool quiet) {
  StatusOr<std::string> text = failed("nothing was analyzed");
  {
    Progress progress(quiet);
    text = analyze(options, progress);
  }
  if (!text.ok()) {
    return text.status();
  }
  return write_file(options.output, *text);
}

std::string formats_line() {
  std::vector<std::string> names;
  for (const TraceFormat& format : trace_formats()) {
    names.push_back(std::string(format.description));
  }
  return join(names, "; ");
}

OptionTable analyze_options(AnalyzeOptions& o) {
  return {
      {.names = "TRACE",
       .target = &o.traces,
       .help = "Traces, plain or gzip, of one run or several; the format is told from the "
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
       .help = "No advice: nothing is simulated, which saves time on large traces"},
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
  const auto options = std::make_shared<AnalyzeOptions>();
  return {.name = "analyze",
          .summary = "Where the time and memory of a recorded run went",
          .options = analyze_options(*options),
          .run = [options](const GlobalOptions& global) {
            return run_analyze(*options, global.quiet);
          }};
}

}  // namespace dfsim::cli
