#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/terminal_text.h"

namespace dfsim::cli {
namespace {

// cmake/BuildFacts.cmake defines the facts.

std::string version_text() {
  std::string text = fmt::format("dfsim {}\n", DFSIM_VERSION);
  constexpr std::string_view kCommit = DFSIM_BUILD_COMMIT;
  if (!kCommit.empty()) {
    text += fmt::format("  commit     {}\n", kCommit);
  }
  text +=
      fmt::format("  build      {}\n  libraries  {}\n", DFSIM_BUILD_KIND, DFSIM_BUILD_LIBRARIES);
  return fit_lines(text);
}

}  // namespace

CommandSpec version_command() {
  return {.name = "version",
          .summary = "Print the version and facts about the build, and exit",
          .examples = {{"dfsim version", "the same as dfsim --version"}},
          .run = [](const GlobalOptions&) { return write_result("-", version_text()); }};
}

}  // namespace dfsim::cli
