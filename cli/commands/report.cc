#include <memory>

#include "base/io/file.h"
#include "base/io/text_file.h"
#include "cli/commands/commands.h"
#include "cli/verdicts.h"
#include "report/html/html_page.h"

namespace dfsim::cli {
namespace {

// A page with more data than this would open in no browser.
constexpr int64_t kMaxBytes = int64_t{1} << 30;

struct ReportOptions {
  std::string input;
  std::string output;
  bool allow_incomplete = false;
};

Status run_report(const ReportOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const std::string json, read_text_file(options.input, kMaxBytes));
  DFSIM_ASSIGN_OR_RETURN(const std::string page, html_page(options.input, json));
  DFSIM_RETURN_IF_ERROR(write_file(options.output, page));
  const std::string reason = incomplete_reason(json);
  return reason.empty() || options.allow_incomplete ? ok_status()
                                                    : incomplete_error(options.input, reason);
}

OptionTable report_options(ReportOptions& o) {
  return {
      {.names = "RESULT",
       .target = &o.input,
       .help = "JSON that predict, compare, partition, analyze, diff, replay, roofline or sweep "
               "printed with --json, plain or gzip",
       .value = "FILE.json",
       .required = true},
      allow_incomplete_option(&o.allow_incomplete),
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Where the page goes; - is stdout",
       .value = "FILE.html",
       .required = true},
  };
}

}  // namespace

CommandSpec report_command() {
  const auto options = std::make_shared<ReportOptions>();
  return {.name = "report",
          .summary = "Write one offline HTML page from a saved --json result",
          .options = report_options(*options),
          .examples = {{"dfsim report result.json -o report.html",
                        "a page from the saved output of another command"}},
          .run = [options](const GlobalOptions&) { return run_report(*options); }};
}

}  // namespace dfsim::cli
