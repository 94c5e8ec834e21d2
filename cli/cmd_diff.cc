#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "datasets/traces/trace_reader.h"
#include "report/analysis/trace_diff.h"
#include "report/html/html_page.h"

namespace dfsim::cli {
namespace {

struct DiffOptions {
  std::string a;
  std::string b;
  bool nodes = false;
  bool json = false;
  size_t top = 15;
  std::string html;
  std::string output = "-";
};

Status run(const DiffOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const Trace a, read_trace(options.a));
  DFSIM_ASSIGN_OR_RETURN(const Trace b, read_trace(options.b));
  const TraceDiff diff = diff_traces(analyze_trace(a), analyze_trace(b), options.nodes);
  if (!options.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page, html_page(options.html, diff_json(diff)));
    DFSIM_RETURN_IF_ERROR(write_file(options.html, page));
  }
  return write_file(options.output,
                    options.json ? diff_json(diff) : fit_lines(diff_text(diff, options.top)));
}

}  // namespace

void register_diff(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "diff", "Two traces: what got slower, and what only one of them has");
  auto options = std::make_shared<DiffOptions>();
  command
      ->add_option("A", options->a,
                   "A trace as dfsim analyze reads it; that of dfsim predict --trace too")
      ->required()
      ->option_text("FILE");
  command->add_option("B", options->b, "The one to compare with it")
      ->required()
      ->option_text("FILE");
  command->add_flag("--nodes", options->nodes,
                    "Align by node or shapes too, not by the operator's name alone");
  command->add_flag("--json", options->json, "Everything as JSON");
  command->add_option("--html", options->html, "Also write a report to look at, one offline file")
      ->option_text("OUT.html");
  command->add_option("--top", options->top, "Rows of each table")
      ->option_text("N")
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command, [options] { return run(*options); });
}

}  // namespace dfsim::cli
