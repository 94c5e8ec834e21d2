// dfsim ops: the operators that dfsim knows, and how it counts their work.
#include <memory>

#include "cli/commands/commands.h"
#include "cli/terminal_text.h"
#include "report/predictions/known_ops_views.h"
#include "study/inspection/known_ops.h"

namespace dfsim::cli {
namespace {

struct OpsOptions {
  std::vector<std::string> names;
  std::string output = "-";
  bool json = false;
};

Status run_ops(const OpsOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<KnownOp> ops, known_ops(options.names));
  return write_result(options.output,
                      options.json ? known_ops_json(ops).text() : known_ops_text(ops));
}

OptionTable ops_options(OpsOptions& o) {
  return {
      {.names = "NAME",
       .target = &o.names,
       .help = "Only operators of these names, in any domain",
       .value = "..."},
      {.names = "--json", .target = &o.json, .help = "JSON instead of text"},
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Write to this file; - is stdout",
       .show_default = true},
  };
}

}  // namespace

CommandSpec ops_command() {
  const auto options = std::make_shared<OpsOptions>();
  return {.name = "ops",
          .summary = "List the operators that dfsim knows, with their opsets, class and work",
          .options = ops_options(*options),
          .examples = {{"dfsim ops Conv Gemm", "how the work of two operators is counted"}},
          .run = [options](const GlobalOptions&) { return run_ops(*options); }};
}

}  // namespace dfsim::cli
