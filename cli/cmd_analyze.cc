#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/progress.h"
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

Status run(const AnalyzeOptions& options, bool quiet) {
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

}  // namespace

void register_analyze(Registrar& registrar) {
  CLI::App* command =
      registrar.app().add_subcommand("analyze", "Where the time and memory of a recorded run went");
  auto options = std::make_shared<AnalyzeOptions>();
  command
      ->add_option("TRACE", options->traces,
                   "Traces, plain or gzip, of one run or several; the format is told from the "
                   "content: " +
                       formats_line())
      ->required()
      ->option_text("FILE...");
  CLI::Option* json = command->add_flag("--json", options->json, "Everything as JSON");
  command
      ->add_flag("--timeline", options->timeline,
                 "With --json: the spans as well, for dfsim report")
      ->needs(json);
  command->add_flag("--no-advice", options->no_advice,
                    "No advice: nothing is simulated, which saves time on large traces");
  command->add_option("--html", options->html, "Also write a report to look at, one offline file")
      ->option_text("OUT.html");
  command->add_option("--top", options->top, "Rows of each table")
      ->option_text("N")
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command,
                   [options, &global = registrar.global()] { return run(*options, global.quiet); });
}

}  // namespace dfsim::cli
