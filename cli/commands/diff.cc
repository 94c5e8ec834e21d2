#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/shared_options.h"
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

Status run_diff(const DiffOptions& options) {
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

OptionTable diff_options(DiffOptions& o) {
  return {
      {.names = "A",
       .target = &o.a,
       .help = "A trace as dfsim analyze reads it; that of dfsim predict --trace too",
       .value = "FILE",
       .required = true},
      {.names = "B",
       .target = &o.b,
       .help = "The one to compare with it",
       .value = "FILE",
       .required = true},
      {.names = "--nodes",
       .target = &o.nodes,
       .help = "Align by node or shapes too, not by the operator's name alone"},
      json_option(&o.json),
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

CommandSpec diff_command() {
  const auto options = std::make_shared<DiffOptions>();
  return {.name = "diff",
          .summary = "Two traces: what got slower, and what only one of them has",
          .options = diff_options(*options),
          .run = [options](const GlobalOptions&) { return run_diff(*options); }};
}

}  // namespace dfsim::cli
