#include <memory>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "cli/terminal_text.h"
#include "report/html/html_page.h"
#include "report/recordings/diff_views.h"
#include "study/recorded/analyze.h"

namespace dfsim::cli {
namespace {

struct DiffCommand : DiffOptions {
  bool json = false;
  size_t top = 15;
  std::string html;
  std::string output = "-";
};

StatusOr<TraceDiff> diff_with_progress(const DiffCommand& command, bool quiet) {
  ProgressLine line(quiet);
  return diff(command, line.callbacks());
}

Status run_diff(const DiffCommand& command, bool quiet) {
  DFSIM_ASSIGN_OR_RETURN(const TraceDiff found, diff_with_progress(command, quiet));
  if (!command.html.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const std::string page, html_page(command.html, diff_json(found)));
    DFSIM_RETURN_IF_ERROR(write_file(command.html, page));
  }
  return write_result(command.output,
                      command.json ? diff_json(found) : fit_lines(diff_text(found, command.top)));
}

OptionTable diff_options(DiffCommand& o) {
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
       .target = &o.by_node,
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
  const auto options = std::make_shared<DiffCommand>();
  return {
      .name = "diff",
      .summary = "Compare two traces: what got slower, and what only one of them has",
      .options = diff_options(*options),
      .examples = {{"dfsim diff before.json.gz after.json.gz",
                    "which operators got slower between two recordings"}},
      .run = [options](const GlobalOptions& global) { return run_diff(*options, global.quiet); }};
}

}  // namespace dfsim::cli
