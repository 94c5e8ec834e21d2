#include "base/io/file.h"
#include "base/io/text_file.h"
#include "cli/commands.h"
#include "report/html/html_page.h"

namespace dfsim::cli {
namespace {

// A page with more data than this would open in no browser.
constexpr int64_t kMaxBytes = int64_t{1} << 30;

struct ReportOptions {
  std::string input;
  std::string output;
};

Status run(const ReportOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const std::string json, read_text_file(options.input, kMaxBytes));
  DFSIM_ASSIGN_OR_RETURN(const std::string page, html_page(options.input, json));
  return write_file(options.output, page);
}

}  // namespace

void register_report(Registrar& registrar) {
  CLI::App* command =
      registrar.app().add_subcommand("report", "One offline HTML page from a saved --json result");
  auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("RESULT", options->input,
                   "What predict, compare, partition, analyze, diff, replay or roofline printed "
                   "with --json, plain or gzip")
      ->required()
      ->option_text("FILE.json");
  command->add_option("-o,--output", options->output, "Where the page goes; - is stdout")
      ->required()
      ->option_text("FILE.html");
  registrar.on_run(command, [options] { return run(*options); });
}

}  // namespace dfsim::cli
